"""What a bandit says of its rewards, and what it does with some of its rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.testing import assert_identical
from tests.testing.sound_environments import FewerActions, Preferences, Table

MEANS = [[1, 3, 3], [-1, -2, -np.inf]]


def test_the_first_of_the_best_actions_is_the_optimal_one():
    env = Table(MEANS)
    env.reset()
    assert_identical(env.expected_rewards(), np.array(MEANS))
    assert_identical(env.optimal_action(), np.array([1, 0], np.int32))
    assert_identical(env.optimal_reward(), np.array([3.0, -1.0]))


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_info_is_of_the_state_that_the_action_met(seed, batch_size, num_actions):
    env = Preferences(num_actions, batch_size=batch_size, seed=seed)
    assert env.get_info() is None
    env.reset()
    assert env.get_info() is None
    rows, action = np.arange(batch_size), np.arange(batch_size) % num_actions
    expected, optimal = env.expected_rewards(), env.optimal_action()
    env.step(action)
    info = env.get_info()
    assert list(info) == ["expected_reward", "optimal_reward", "optimal_action"]
    assert_identical(info["expected_reward"], expected[rows, action])
    assert_identical(info["optimal_reward"], expected.max(axis=1))
    assert_identical(info["optimal_action"], optimal)
    env.reset()
    assert env.get_info() is None


@pytest.mark.parametrize("ask", ["expected_rewards", "optimal_action", "optimal_reward"])
def test_there_are_no_expected_rewards_before_a_reset(ask):
    with pytest.raises(ValueError) as error:
        getattr(Table(MEANS), ask)()
    assert str(error.value) == "table has no state yet; call reset() first"


@pytest.mark.parametrize(
    "ask", ["expected_rewards", "optimal_action", "optimal_reward", "get_info"]
)
def test_a_bandit_that_does_not_know_its_means_says_so(ask):
    env = FewerActions(seed=0)
    env.reset()
    env.step([0, 0, 0])
    with pytest.raises(NotImplementedError) as error:
        getattr(env, ask)()
    assert str(error.value) == "FewerActions does not know its expected rewards"


def test_a_token_of_another_horizon_is_refused():
    with pytest.raises(ValueError, match=r"'horizon': 2}; expected .*'horizon': None}$"):
        Table(MEANS).set_state(Table(MEANS, horizon=2).get_state())
