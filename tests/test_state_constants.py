"""A state belongs to an environment with the same constants."""

import numpy as np
import pytest

from bandit_envs import AffineReward, BanditPyEnvironment, load_state, save_state
from bandit_envs.environments.registry import ENVIRONMENTS

DRAWN = ("stationary_stochastic", "structured", "per_arm", "neural_context", "ratings", "ranking")
"""Their weights are drawn from their seeds."""


def make(name, seed):
    env = ENVIRONMENTS[name].make(batch_size=2, seed=seed)
    env.reset()
    return env


@pytest.mark.parametrize("name", DRAWN)
def test_a_state_is_refused_where_weights_were_drawn_from_another_seed(name):
    other = make(name, seed=2)
    before = other.current_time_step()
    with pytest.raises(ValueError, match="such as weights that were drawn from its seed"):
        other.set_state(make(name, seed=1).get_state())
    assert other.current_time_step().observation is not None
    np.testing.assert_array_equal(other.current_time_step().reward, before.reward)


@pytest.mark.parametrize("name", DRAWN)
def test_a_state_from_a_file_is_accepted_by_one_made_in_the_same_way(name, tmp_path):
    env = make(name, seed=1)
    save_state(tmp_path / "state.npz", env.get_state())
    again = make(name, seed=1)
    again.set_state(load_state(tmp_path / "state.npz"))


def test_a_wrapped_environment_is_told_apart_too():
    states = [AffineReward(make("structured", seed), 2.0).get_state() for seed in (1, 2)]
    env = AffineReward(make("structured", 1), 2.0)
    env.set_state(states[0])
    with pytest.raises(ValueError, match="drawn from its seed"):
        env.set_state(states[1])


class Mine(BanditPyEnvironment):
    """A user's environment, which draws its means when it is made."""

    def __init__(self, seed):
        self._means = np.random.default_rng(seed).random(3)
        super().__init__(observation_spec=None, num_actions=3, seed=seed)

    def _initial_state(self, rng):
        return ()

    def _draw_rewards(self, rng, state, action):
        return self._means[action]


def test_a_users_environment_is_told_apart_too():
    env = Mine(seed=1)
    env.set_state(Mine(seed=1).get_state())
    with pytest.raises(ValueError, match="another Mine"):
        env.set_state(Mine(seed=2).get_state())


def test_sizes_that_differ_are_named_as_before():
    with pytest.raises(ValueError, match="'batch_size': 2"):
        ENVIRONMENTS["structured"].make(batch_size=3, seed=1).set_state(
            make("structured", 1).get_state()
        )


class Equal(Mine):
    """All are equal, so Python cannot hash them."""

    def __eq__(self, other):
        return isinstance(other, Equal)


def test_constants_are_those_of_an_object_whatever_it_equals():
    env = Equal(seed=1)
    state = env.get_state()
    env.set_state(state)
    with pytest.raises(ValueError, match="drawn from its seed"):
        Equal(seed=2).set_state(state)
