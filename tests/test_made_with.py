"""Objects say in one line how they were made."""

import numpy as np

from bandit_envs import (
    AffineReward,
    BernoulliPyEnvironment,
    ContextualPolicy,
    KArmedTestbed,
    UCBPolicy,
)
from bandit_envs.environments import ContinuousBandit
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import SquareCB


def test_a_policy_shows_its_parameters_and_its_sizes():
    policy = UCBPolicy(c=2.0, num_actions=10, batch_size=3, seed=0)
    assert repr(policy) == "UCBPolicy(c=2.0, num_actions=10, batch_size=3)"


def test_a_contextual_policy_shows_its_model_and_its_rule():
    env = KArmedTestbed(k=3)
    policy = ContextualPolicy(Ridge(0.9), SquareCB(), **ContextualPolicy.arguments_for(env))
    assert repr(policy) == f"ContextualPolicy({Ridge(0.9)!r}, {SquareCB()!r})"


def test_an_environment_shows_what_is_not_a_default():
    env = BernoulliPyEnvironment([0.25, 0.5], batch_size=2, horizon=9, seed=0)
    expected = "means=[[0.25, 0.5], [0.25, 0.5]], horizon=9, num_actions=2, batch_size=2"
    assert repr(env) == f"BernoulliPyEnvironment({expected})"


def test_a_wrapper_shows_what_it_wraps():
    text = repr(AffineReward(KArmedTestbed(k=3), 2.0))
    assert "KArmedTestbed(num_actions=3" in text


def test_an_environment_shows_no_number_of_actions_that_it_does_not_have():
    env = ContinuousBandit(low=-1.0, batch_size=2)
    assert repr(env) == "ContinuousBandit(low=-1.0, batch_size=2)"
    assert repr(AffineReward(env, 2.0)).endswith(", batch_size=2)")


def test_long_arrays_are_not_written_out():
    env = BernoulliPyEnvironment(np.full((100, 10), 0.5), batch_size=100)
    assert "array of shape (100, 10)" in repr(env)


ONES = np.ones(2)


class Weighted(UCBPolicy):
    """A policy of a user, whose arguments have defaults of all kinds."""

    def __init__(self, c, scale=2, weights=(0.5,), table=ONES, **options):
        super().__init__(c, **options)
        self.scale = scale
        self.weights = weights
        self.table = table


def test_defaults_may_be_arrays_and_values_numbers_of_numpy():
    policy = Weighted(1.0, scale=np.int64(2), num_actions=3)
    assert repr(policy) == "Weighted(c=1.0, num_actions=3, batch_size=1)"
    policy = Weighted(1.0, weights=(np.ones(2),), table=np.ones(2), num_actions=3)
    assert "table=[1.0, 1.0], num_actions=3" in repr(policy)
