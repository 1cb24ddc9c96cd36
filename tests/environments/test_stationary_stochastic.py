"""The bandit without features of the actions: with models, and with functions."""

import numpy as np
import pytest

from bandit_envs import StationaryStochasticPyEnvironment
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import LinearActionReward, sliding_thetas
from bandit_envs.sampling import Integers, Normal
from tests.cases import for_each
from tests.statistical import is_near

B, K, D = 4, 3, 2
THETA = np.array([[1.0, 0.0], [0.0, -2.0], [0.5, 0.5]])
PAIRS = np.stack((THETA, THETA[::-1]), axis=2)


# What functions of TF-Agents' kind draw cannot be replayed, so these draw nothing.


def contexts():
    return np.tile([[1.0, 2.0], [3.0, 4.0]], (2, 1))


def first(context):
    return context[0]


def total(context):
    return context.sum()


def twice(context):
    return 2 * context[1]


def test_functions_pay_what_they_return():
    env = StationaryStochasticPyEnvironment(contexts, [first, total, twice], batch_size=B)
    assert env.reset().observation.tolist() == contexts().tolist()
    assert env.step([0, 1, 2, 1]).reward.tolist() == [1.0, 7.0, 4.0, 7.0]
    assert env.time_step_spec().reward.shape == ()
    with pytest.raises(NotImplementedError, match="means"):
        env.expected_rewards()


class Recorder:
    """Functions that note their calls, in order."""

    def __init__(self):
        self.calls = []

    def contexts(self):
        self.calls.append("contexts")
        return np.arange(2 * B).reshape(B, 2)

    def function(self, name):
        def reward(context):
            self.calls.append((name, *context.tolist()))
            context[:] = -1  # it may change what it gets
            return [1.0, 2.0]

        return reward


def test_functions_are_called_as_often_and_in_the_order_in_which_tf_agents_calls_them():
    note = Recorder()
    names = [note.function(name) for name in ("r0", "r1", "c0", "c1")]
    env = StationaryStochasticPyEnvironment(note.contexts, names[:2], names[2:], B)
    assert note.calls == ["contexts", ("r0", 0, 1), ("c0", 0, 1)]
    assert env.reward_spec()["constraint"].shape == env.reward_spec()["reward"].shape == (2,)
    note.calls.clear()
    env.reset()
    assert note.calls == ["contexts"]
    note.calls.clear()
    time_step = env.step([1, 0, 0, 1])
    expected = [("r1", 0, 1), ("r0", 2, 3), ("r0", 4, 5), ("r1", 6, 7)]
    constraints = [(f"c{name[1]}", *context) for name, *context in expected]
    assert note.calls == [*expected, *constraints, "contexts"]
    assert time_step.observation.tolist() == note.contexts().tolist()
    assert time_step.reward["constraint"].tolist() == [[1.0, 2.0]] * B


def test_a_model_of_rewards_knows_their_means_and_the_best_action():
    rewards = LinearActionReward(THETA, 0.0)
    env = StationaryStochasticPyEnvironment(Normal(D), rewards, batch_size=500, seed=0)
    context = env.reset().observation
    means = context.astype(np.float64) @ THETA.T
    np.testing.assert_allclose(env.expected_rewards(), means, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(env.optimal_action(), means.argmax(axis=1))
    np.testing.assert_array_equal(env.expected_rewards_for(context), env.expected_rewards())
    action = np.arange(500) % K
    expected = env.expected_rewards()[np.arange(500), action]
    np.testing.assert_array_equal(env.step(action).reward, expected)


def test_with_sliding_weights_the_sign_of_the_sum_decides():
    """TF-Agents' example: 15 integers from -10 to 9, five actions."""
    rewards = LinearActionReward(sliding_thetas(15, 5), 1.0)
    env = StationaryStochasticPyEnvironment(
        Integers(15, -10, 10), rewards, batch_size=100_000, seed=0
    )
    total = env.reset().observation.sum(axis=1)
    best = env.optimal_action()
    assert (best[total > 0] == 4).all()
    assert (best[total <= 0] == 0).all()
    assert is_near(total > 0, 0.3614)
    assert is_near(total == 0, 0.01675)


def test_several_rewards_have_means_but_no_optimum():
    env = StationaryStochasticPyEnvironment(Normal(D), LinearActionReward(PAIRS), batch_size=B)
    env.reset()
    assert env.expected_rewards().shape == (B, K, 2)
    assert env.step([0, 1, 2, 0]).reward.shape == (B, 2)
    with pytest.raises(NotImplementedError):
        env.optimal_action()


def test_with_constraints_the_means_are_those_of_the_reward():
    rewards, constraints = LinearActionReward(THETA, 0.0), LinearActionReward(-THETA, 0.0)
    env = StationaryStochasticPyEnvironment(Normal(D), rewards, constraints, B, seed=0)
    env.reset()
    expected = env.expected_rewards()[np.arange(B), [0, 1, 2, 0]]
    reward = env.step([0, 1, 2, 0]).reward
    np.testing.assert_array_equal(reward["reward"], expected)
    np.testing.assert_array_equal(reward["constraint"], -expected)


@for_each("bad", [np.nan, [1.0, 2.0], None, "1"])
def test_a_bad_reward_is_refused(bad):
    def fails(context):
        return bad if context[0] == 3.0 else 1.0

    env = StationaryStochasticPyEnvironment(contexts, [first, fails], batch_size=B)
    env.reset()
    with pytest.raises((TypeError, ValueError), match="reward_fns returned"):
        env.step([1, 0, 1, 1])


def test_contexts_of_another_shape_or_with_nan_are_refused():
    returned = iter(
        [np.ones((B, D)), np.ones((B, D)), np.ones((B, D + 1)), np.full((B, D), np.nan)]
    )
    env = StationaryStochasticPyEnvironment(lambda: next(returned), [first], batch_size=B)
    env.reset()
    for message in ("shape", "NaN for row 0"):
        with pytest.raises(ValueError, match=f"context_sampling_fn returned {message}"):
            env.step([0] * B)


def test_the_preset_draws_its_weights_from_the_seed():
    make = find_environment("stationary_stochastic").make
    one, same, other = make(seed=1), make(seed=1), make(seed=2)
    context = one.reset().observation
    np.testing.assert_array_equal(
        one.expected_rewards_for(context), same.expected_rewards_for(context)
    )
    assert (one.expected_rewards_for(context) != other.expected_rewards_for(context)).all()
    assert make(context_dim=100, batch_size=5000, seed=0).reset().observation.shape == (5000, 100)
