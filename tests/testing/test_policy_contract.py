"""Policies with which nothing is wrong pass the contract, of whatever kind they are."""

import unittest

import numpy as np

from bandit_envs import CascadeBandit, Policy, RandomSlatePolicy
from bandit_envs.environments import logistic_context
from bandit_envs.policies import IndexPolicy
from bandit_envs.testing import PolicyContract
from bandit_envs.wrappers import RandomActionMask
from tests.contracts import one_test
from tests.testing.faulty_policies import Fixed, Means


class Regression(IndexPolicy):
    """Rows share what they learn: the weights of a linear model of each action."""

    learns_by_row = False

    def __init__(self, num_features, **options):
        self._num_features = num_features
        super().__init__(**options)

    def _initial(self):
        return {"weights": np.zeros((self.num_actions, self._num_features)), "steps": 0}

    def _scores(self, learned, time_step):
        return time_step.observation @ learned["weights"].T

    def _learn(self, learned, trajectory):
        x = trajectory.observation
        chosen = learned["weights"][trajectory.action]
        errors = trajectory.reward - (x * chosen).sum(axis=1)
        np.add.at(learned["weights"], trajectory.action, 0.1 * errors[:, np.newaxis] * x)
        return {**learned, "steps": learned["steps"] + 1}


class Sampler(Policy):
    """Its probabilities are not known."""

    def _select(self, rng, learned, time_step):
        available = self._available(time_step.observation)
        keys = rng.random((self.batch_size, self.num_actions))
        return np.where(True if available is None else available, keys, -1.0).argmax(axis=1)


class TestRegression(PolicyContract):
    """Pytest collects its tests one by one, as those of users."""

    def make_environment(self, batch_size, seed):
        return logistic_context(num_actions=3, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        if isinstance(env.observation_spec(), dict):
            raise ValueError("observation_spec is a dict; expected an array")
        num_features = env.observation_spec().shape[0]
        return Regression(num_features, **Regression.arguments_for(env), seed=seed)


@one_test
class TestSampler(PolicyContract):
    def make_policy(self, env, seed):
        return Sampler(**Sampler.arguments_for(env), seed=seed)


@one_test
class TestInAnEnvironmentWithMasks(PolicyContract):
    num_rows = 7

    def make_environment(self, batch_size, seed):
        return RandomActionMask(super().make_environment(batch_size, seed), 0.5)

    def make_policy(self, env, seed):
        return Means(**Means.arguments_for(env), seed=seed)


@one_test
class TestSlates(PolicyContract):
    def make_environment(self, batch_size, seed):
        return CascadeBandit(num_slots=2, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        return RandomSlatePolicy(**RandomSlatePolicy.arguments_for(env), seed=seed)


class UnderUnittest(PolicyContract, unittest.TestCase):
    __test__ = False  # pytest would run it a second time
    num_choices = 0

    def make_policy(self, env, seed):
        return Fixed(**Fixed.arguments_for(env), seed=seed)


def test_under_unittest_what_does_not_apply_passes():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(UnderUnittest)
    result = unittest.TestResult()
    suite.run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    assert result.testsRun > 15
    assert result.skipped == []


def test_policies_of_two_classes_do_not_share_a_run():
    assert TestRegression()._run() is TestRegression()._run()
    assert TestRegression()._run() is not TestSampler.contract()._run()
