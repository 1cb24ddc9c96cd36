"""Small bandits that use all of the base: slates, vector rewards, sleeping arms, a clock."""

import functools
from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import (
    AffineReward,
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    RandomPolicy,
    RegretMetric,
    StepDriver,
    Trajectory,
    UCBPolicy,
    load_state,
    save_state,
)
from bandit_envs.testing import EnvironmentContract, assert_identical
from tests.contracts import one_test


class Slates(BanditPyEnvironment):
    """A slate of distinct items is shown, and each is clicked on by itself: R = sum of clicks."""

    def __init__(self, num_items=5, length=2, *, batch_size=3, seed=None, horizon=None):
        super().__init__(
            action_spec=BoundedArraySpec((length,), np.int32, 0, num_items - 1, "slate"),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
        )
        self._length = length

    def _initial_state(self, rng):
        return rng.random((self.batch_size, self.num_actions))

    def _draw_rewards(self, rng, state, action):
        return (rng.random(action.shape) < np.take_along_axis(state, action, 1)).sum(axis=1)

    def _expected_reward(self, state, action):
        return np.take_along_axis(state, action, 1).sum(axis=1)

    def _optimal_action(self, state):
        return state.argsort(axis=1)[:, -self._length :]

    def _check_action(self, action):
        checked = super()._check_action(action)
        if (np.diff(np.sort(checked)) == 0).any():
            raise ValueError("action shows an item twice; expected distinct items")
        return checked


class TwoObjectives(BanditPyEnvironment):
    """Every action has two means. Rewards are vectors."""

    independent_rows = True

    def __init__(self, *, batch_size=3, seed=None):
        reward = ArraySpec((2,), np.float64, "reward")
        super().__init__(None, 4, reward, batch_size=batch_size, seed=seed)

    def _initial_state(self, rng):
        return rng.normal(size=(self.batch_size, 4, 2))

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return rng.normal(state[np.arange(self.batch_size), action])


class Sleepers(BanditPyEnvironment):
    """Some arms sleep, others in each step; a mask in the observation says which are awake."""

    class State(NamedTuple):
        means: np.ndarray
        awake: np.ndarray

    def __init__(self, num_actions=4, *, batch_size=3, seed=None, horizon=None):
        super().__init__(None, num_actions, batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        means = rng.normal(size=(self.batch_size, self.num_actions))
        return self.State(means, self._wake(rng))

    def _available(self, state):
        return state.awake

    def _expected_rewards(self, state):
        return state.means

    def _draw_rewards(self, rng, state, action):
        return self._of_action(state.means, action) + rng.normal(size=self.batch_size)

    def _next_state(self, rng, state, action):
        return state._replace(awake=self._wake(rng))

    def _wake(self, rng):
        awake = rng.random((self.batch_size, self.num_actions)) < 0.5
        awake[:, 0] |= ~awake.any(axis=1)
        return awake


class Seasons(BanditPyEnvironment):
    """Means depend on a clock that all rows share; it goes on when an episode ends."""

    def __init__(self, *, batch_size=3, seed=None, horizon=None):
        super().__init__(None, 3, batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        return 0

    def _expected_rewards(self, state):
        season = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]][state // 5 % 2])
        return np.broadcast_to(season, (self.batch_size, 3))

    def _draw_rewards(self, rng, state, action):
        return rng.normal(self._expected_rewards(state)[0][action])

    def _next_state(self, rng, state, action):
        return state + 1

    def _next_episode(self, rng, state):
        return state


class Offers(BanditPyEnvironment):
    """An action is a nest: an arm, and a price between 0 and 1. Rewards are a nest, too."""

    def __init__(self, *, batch_size=3, seed=None):
        arm, price = (
            BoundedArraySpec((), np.int32, 0, 3, "arm"),
            BoundedArraySpec((), np.float32, 0.0, 1.0, "price"),
        )
        super().__init__(
            action_spec={"arm": arm, "price": price},
            reward_spec={"sold": ArraySpec((), np.bool_), "paid": price},
            batch_size=batch_size,
            seed=seed,
        )

    def _initial_state(self, rng):
        return rng.random((self.batch_size, 4))

    def _draw_rewards(self, rng, state, action):
        sold = rng.random(self.batch_size) < self._expected_reward(state, action)
        return {"sold": sold, "paid": sold * action["price"]}

    def _expected_reward(self, state, action):
        return state[np.arange(self.batch_size), action["arm"]] * (1.0 - action["price"])

    def _optimal_action(self, state):
        return {"arm": state.argmax(axis=1), "price": np.zeros(self.batch_size)}


def slate(rng, environment):
    ranks = rng.random((environment.batch_size, environment.num_actions)).argsort(axis=1)
    return ranks[:, : environment.action_spec().shape[0]].astype(np.int32)


@one_test
class TestSlates(EnvironmentContract):
    num_steps = 7
    num_rewards = 2000

    def make_environment(self, seed):
        return Slates(seed=seed, horizon=3)

    def draw_action(self, rng, environment):
        return slate(rng, environment)


@one_test
class TestTwoObjectives(EnvironmentContract):
    num_steps = 7
    num_rewards = 2000

    def make_environment(self, seed):
        return TwoObjectives(seed=seed)


@one_test
class TestOffers(EnvironmentContract):
    num_steps = 5
    num_rewards = 0  # the expected reward is of one of the two

    def make_environment(self, seed):
        return Offers(seed=seed)


@one_test
class TestSleepers(EnvironmentContract):
    num_steps = 7
    num_rewards = 2000

    def make_environment(self, seed):
        return Sleepers(seed=seed)


@one_test
class TestSeasons(EnvironmentContract):
    num_steps = 12
    num_rewards = 2000

    def make_environment(self, seed):
        return Seasons(seed=seed, horizon=4)


def test_a_slate_with_an_item_twice_is_refused_and_changes_nothing():
    env = Slates(seed=0)
    env.reset()
    before = env.get_state()
    with pytest.raises(ValueError, match="distinct"):
        env.step([[0, 1], [2, 3], [4, 4]])
    assert_identical(env.get_state(), before)


def test_the_optimal_slate_is_the_best_of_all():
    env = Slates(num_items=4, seed=0)
    env.reset()
    before, most = env.get_state(), env.optimal_reward()
    earned = []
    for first in range(4):
        for second in set(range(4)) - {first}:
            env.set_state(before)
            env.step([[first, second]] * 3)
            earned.append(env.get_info()["expected_reward"])
    assert np.max(earned, axis=0) == pytest.approx(most)


def test_the_regret_of_a_slate_is_what_its_items_lack():
    env = Slates(seed=0)
    metric, time_step = RegretMetric(env), env.reset()
    chances, shown = env.unwrapped._state.latent.state, np.array([[0, 1], [2, 3], [4, 0]])
    metric(Trajectory.from_transition(time_step, shown, env.step(shown)))
    lacking = np.sort(chances)[:, -2:].sum(axis=1) - np.take_along_axis(chances, shown, 1).sum(1)
    assert metric.result().per_step.mean[0] == pytest.approx(lacking.mean())


def test_a_wrapper_maps_the_expected_rewards_of_slates():
    env = Slates(seed=0)
    wrapped = AffineReward(Slates(seed=0), 2.0, 1.0)
    env.reset()
    wrapped.reset()
    assert wrapped.optimal_reward() == pytest.approx(2.0 * env.optimal_reward() + 1.0)
    assert_identical(wrapped.optimal_action(), env.optimal_action())


def test_vector_rewards_have_means_but_no_optimal_action():
    env = TwoObjectives(seed=0)
    env.reset()
    assert env.expected_rewards().shape == (3, 4, 2)
    env.step([0, 1, 2])
    for method in (env.optimal_action, env.optimal_reward, env.get_info):
        with pytest.raises(NotImplementedError):
            method()


def test_a_state_with_a_named_tuple_of_ones_own_can_be_kept_in_a_file(tmp_path):
    env, other = Sleepers(seed=0), Sleepers(seed=1)
    env.reset()
    save_state(tmp_path / "state.npz", env.get_state())
    other.set_state(load_state(tmp_path / "state.npz"))
    assert_identical(other.step(env.optimal_action()), env.step(env.optimal_action()))


def test_the_optimal_action_is_awake():
    env = Sleepers(batch_size=1000, seed=0)
    mask = env.reset().observation["mask"]
    assert not mask.all()
    assert mask[np.arange(1000), env.optimal_action()].all()
    assert np.array_equal(np.isneginf(env.expected_rewards()), ~mask)


@pytest.mark.parametrize(
    "policy",
    [
        RandomPolicy,
        functools.partial(EpsilonGreedyPolicy, 0.5),
        functools.partial(UCBPolicy, 2.0),
        functools.partial(GradientBanditPolicy, 0.1),
        GaussianThompsonSamplingPolicy,
    ],
)
def test_policies_choose_among_the_arms_that_are_awake(policy):
    env = Sleepers(batch_size=50, seed=0)
    policy = policy(num_actions=4, batch_size=50, seed=1)
    StepDriver(env, policy, [policy], num_steps=100).run()  # a sleeping arm would be refused


def test_a_clock_goes_on_through_resets():
    env = Seasons(seed=0, horizon=3)
    seen = [env.reset() and env.optimal_action()[0]]
    for _ in range(14):
        env.step([0, 0, 0])
        seen.append(env.optimal_action()[0])
    steps = [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11]
    assert seen == [2 if step // 5 % 2 == 0 else 0 for step in steps]
