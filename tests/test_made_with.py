"""Objects say in one line how they were made."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import (
    AffineReward,
    BernoulliPyEnvironment,
    ContextualPolicy,
    KArmedTestbed,
    UCBPolicy,
)
from bandit_envs.environments import ContinuousBandit
from bandit_envs.policies import SplitTestPolicy
from bandit_envs.policies.models import LinearScores, Ridge
from bandit_envs.policies.rules import Mixed, Rule, SquareCB


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


@pytest.mark.parametrize("shape", [(2, 10), (100, 10)])
def test_long_arrays_are_not_written_out_and_told_apart(shape):
    weights = np.random.default_rng(0).normal(size=shape)
    text = repr(LinearScores(weights))
    assert f"array of shape {shape}, digest " in text
    assert text == repr(LinearScores(weights.copy()))
    weights[-1, -1] += 1e-9
    assert text != repr(LinearScores(weights))


NUMPY = {
    "a number": (0.5, np.float64(0.5)),
    "of single precision": (0.5, np.float32(0.5)),
    "an integer": (1, np.int64(1)),
    "without dimensions": (0.5, np.array(0.5)),
    "a text": ("mean", np.str_("mean")),
}
"""Python's values, and NumPy's."""


@pytest.mark.parametrize(("value", "same"), NUMPY.values(), ids=NUMPY)
def test_a_model_keeps_scalars_of_numpy_as_values_of_python(value, same):
    model = Ridge(initial_value=same, intercept=np.True_)
    assert repr(model) == repr(Ridge(initial_value=value, intercept=True))
    assert type(model.initial_value) is type(value)
    env = KArmedTestbed(k=3)
    policies = [
        ContextualPolicy(each, Mixed(SquareCB(), epsilon), **ContextualPolicy.arguments_for(env))
        for each, epsilon in [(model, np.float64(0.1)), (dataclasses.replace(model), 0.1)]
    ]
    assert repr(policies[0]) == repr(policies[1])
    policies[0].set_state(policies[1].get_state())


@dataclasses.dataclass(frozen=True)
class Layered(Rule):
    """A rule of a user, without a check of its parameters."""

    sizes: tuple[int, ...]


def test_a_part_of_a_user_keeps_scalars_of_numpy_as_values_of_python():
    assert repr(Layered((np.int64(3), np.array(2)))) == "Layered(sizes=(3, 2))"


@pytest.mark.parametrize("delta", [np.float64(0.1), np.array(0.1)])
def test_states_of_policies_with_equal_numbers_of_numpy_fit(delta):
    policy = SplitTestPolicy(delta, num_actions=np.int64(2), seed=0)
    assert repr(policy) == "SplitTestPolicy(delta=0.1, num_actions=2, batch_size=1)"
    policy.set_state(SplitTestPolicy(0.1, num_actions=2, seed=0).get_state())


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
