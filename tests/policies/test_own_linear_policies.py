"""A linear policy of one's own is a model and a rule of choice, in a few lines."""

import numpy as np
import pytest

from bandit_envs import StepDriver
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import DisjointLinearPolicy, LinearPolicy
from bandit_envs.policies.draws import softmax
from bandit_envs.testing import PolicyContract


class MostlyGreedy(DisjointLinearPolicy):
    """Chooses an action in proportion to the square of its prediction, from 0 upwards."""

    def __init__(self, smallest=0.01, **options):
        self._smallest = smallest
        super().__init__(**options)

    def _probabilities(self, learned, time_step):
        weights = np.maximum(self._means(learned, time_step), self._smallest) ** 2
        return weights / weights.sum(axis=1, keepdims=True)


class LinearBoltzmann(LinearPolicy):
    """Draws actions in proportion to exp(prediction / 0.2)."""

    def _probabilities(self, learned, time_step):
        return softmax(self._means(learned, time_step), scale=5.0)


class TestMostlyGreedy(PolicyContract):
    def make_environment(self, batch_size, seed):
        make = ENVIRONMENTS["logistic_context"].make
        return make(num_actions=4, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        return MostlyGreedy(**MostlyGreedy.arguments_for(env), seed=seed)


class TestLinearBoltzmann(PolicyContract):
    def make_environment(self, batch_size, seed):
        make = ENVIRONMENTS["per_arm"].make
        return make(global_dim=2, arm_dim=3, max_num_actions=4, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        return LinearBoltzmann(**LinearBoltzmann.arguments_for(env), seed=seed)


@pytest.mark.parametrize("contract", [TestMostlyGreedy, TestLinearBoltzmann])
def test_a_linear_policy_of_ones_own_earns_more_than_chance(contract):
    env = contract().make_environment(100, 0)
    policy = contract().make_policy(env, 0)
    StepDriver(env, policy, [policy], 100).run()
    means = env.expected_rewards()
    table = policy.probabilities(env.current_time_step())
    assert np.sum(table * means, axis=1).mean() > means.mean() + 0.05
