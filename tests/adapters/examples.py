"""Environments to adapt."""

import numpy as np

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    KArmedTestbed,
    PyEnvironment,
    StationaryStochasticPerArmPyEnvironment,
    TimeStep,
)
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from bandit_envs.trajectories import StepType
from bandit_envs.wrappers import AffineReward, TransformObservation

B, K = 2, 5
THETA = np.arange(-3.0, 4.0)
ACTION = {"push": np.array([0.5, -0.25], np.float32), "choice": 2}


def k_armed(**keywords):
    return KArmedTestbed(K, **{"batch_size": B, "seed": 0, **keywords})


def per_arm(num_actions=None, reward=None, **keywords):
    reward = LinearReward(THETA, noise_std=0.0) if reward is None else reward
    keywords = {"batch_size": B, "seed": 0, **keywords}
    return StationaryStochasticPerArmPyEnvironment(
        Normal(3), Normal(4), K, reward, num_actions, **keywords
    )


def twice_wrapped(env):
    return AffineReward(
        TransformObservation(env, lambda seen: seen, env.observation_spec()), scale=2.0
    )


class Slates(BanditPyEnvironment):
    """Slates of two of K items, each of which pays its number."""

    def __init__(self, **keywords):
        spec = BoundedArraySpec((2,), np.int32, 0, K - 1)
        super().__init__(action_spec=spec, **keywords)

    def _initial_state(self, rng):
        return np.zeros(self.batch_size, np.float32)

    def _draw_rewards(self, rng, state, action):
        return action.sum(axis=1).astype(np.float32)


class TwoRewards(BanditPyEnvironment):
    """Pays two numbers for an action."""

    def __init__(self, **keywords):
        super().__init__(num_actions=K, reward_spec=ArraySpec((2,), np.float32), **keywords)

    def _initial_state(self, rng):
        return np.zeros(self.batch_size)

    def _draw_rewards(self, rng, state, action):
        return np.stack([action, -action], axis=1)


class Mine(BanditPyEnvironment):
    """A Bernoulli bandit as a user writes it."""

    def __init__(self, means, **keywords):
        super().__init__(num_actions=len(means), **keywords)
        self._p = np.array(means)

    def _initial_state(self, rng):
        return np.tile(self._p, (self.batch_size, 1))

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return rng.random(self.batch_size) < self._p[action]


class Countdown(PyEnvironment):
    """No bandit: row i counts from `starts[i]` to 0. It draws nothing.

    Its specs have a leaf of each kind. Rows that start from an even number end with discount 0,
    the others with discount 1.
    """

    def __init__(self, starts):
        super().__init__(batch_size=len(starts))
        self._starts = np.array(starts)

    def action_spec(self):
        return {
            "push": BoundedArraySpec((2,), np.float32, -1.0, 1.0),
            "choice": BoundedArraySpec((), np.int32, 1, 3),
        }

    def observation_spec(self):
        return {
            "count": BoundedArraySpec((), np.int32, 0, 100),
            "details": (ArraySpec((2,), np.float32), BoundedArraySpec((3,), np.int64, -9, 100)),
        }

    def render(self, mode="rgb_array", row=0):
        return mode, row

    def _time_step(self, counts, reward):
        first, last = counts == self._starts, counts <= 0
        observation = {
            "count": counts.clip(0).astype(np.int32),
            "details": (
                np.stack([counts, counts / 2], axis=1).astype(np.float32),
                np.stack([counts] * 3, axis=1).astype(np.int64),
            ),
        }
        return TimeStep(
            np.select([first, last], [StepType.FIRST, StepType.LAST], StepType.MID),
            np.where(first, 0.0, reward).astype(np.float32),
            np.where(last & (self._starts % 2 == 0), 0.0, 1.0).astype(np.float32),
            observation,
        )

    def _reset(self):
        return self._starts, self._time_step(self._starts, 0.0)

    def _step(self, action):
        counts = self._state.latent - 1
        return counts, self._time_step(counts, action["choice"] + action["push"].sum(axis=1))


class Listed(Countdown):
    """Its actions are lists of dicts and tuples of lists; the first of them counts."""

    def action_spec(self):
        spec = super().action_spec()
        return [spec, ([spec["choice"]], spec["push"])]

    def _step(self, action):
        return super()._step(action[0])


def leaves(nest):
    """Returns the leaves of a nest, of dicts in the order of their keys."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in leaves(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest]


def assert_first_row(element, batch):
    """Checks that an element of a space is the first row of a nest of arrays."""
    for one, many in zip(leaves(element), leaves(batch), strict=True):
        np.testing.assert_array_equal(one, many[0])
