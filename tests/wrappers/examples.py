"""Environments and wrappers that the tests of wrappers use."""

from __future__ import annotations

import numpy as np

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    PyEnvironment,
    rewards,
    sampling,
)
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.trajectories import restart, transition
from bandit_envs.wrappers import Wrapper


class Payer(PyEnvironment):
    """No bandit: an endless episode in which row b is always paid `rewards[b]`."""

    def __init__(self, rewards, low=-np.inf, high=np.inf, dtype=np.float64):
        super().__init__(batch_size=len(rewards))
        self._rewards = np.array(rewards, dtype)
        self._spec = BoundedArraySpec((), dtype, low, high, "reward")

    def action_spec(self):
        return BoundedArraySpec((), np.int32, 0, 1, "action")

    def observation_spec(self):
        return ArraySpec((), np.int32, "steps")

    def reward_spec(self):
        return self._spec

    def _reset(self):
        return 0, restart(np.zeros(self.batch_size, np.int32), self.batch_size, self._spec)

    def _step(self, action):
        steps = self._state.latent + 1
        observation = np.full(self.batch_size, steps, np.int32)
        return steps, transition(observation, self._rewards, reward_dtype=self._spec.dtype)


class Unchanged(Wrapper):
    """Changes nothing."""


class RewardSoFar(Wrapper):
    """Remembers something: what it pays is the sum of all rewards since the reset."""

    def reward_spec(self):
        return ArraySpec.from_spec(self._env.reward_spec())

    def _reset(self):
        return np.zeros(self.batch_size, np.float32), self._env.reset()

    def _step(self, action):
        time_step = self._env.step(action)
        total = self._state.latent + time_step.reward
        return total, time_step._replace(reward=total)

    def _map_means(self, means):
        raise NotImplementedError(f"{self.name} does not know its expected rewards")


def per_arm_bandit(seed=0, batch_size=3, num_actions=4, horizon=None):
    """Returns a contextual bandit in which some rows have fewer actions than others."""
    return StationaryStochasticPerArmPyEnvironment(
        sampling.Normal(2),
        sampling.Normal(3),
        num_actions,
        rewards.LinearReward(np.linspace(-1.0, 1.0, 5), noise_std=0.5),
        sampling.Integers(1, 1, num_actions + 1),
        batch_size,
        seed=seed,
        horizon=horizon,
    )


class Coins(BanditPyEnvironment):
    """Coins that pay 0 or 1: the rewards' range is bounded, and their means are known."""

    independent_rows = True

    def __init__(self, batch_size=3, seed=None, horizon=None):
        spec = BoundedArraySpec((), np.float32, 0.0, 1.0, "reward")
        super().__init__(
            ArraySpec((1,), np.float32), 3, spec, batch_size=batch_size, seed=seed, horizon=horizon
        )

    def _initial_state(self, rng):
        return rng.random((self.batch_size, 3), np.float32)

    def _observe(self, state):
        return np.ones((self.batch_size, 1), np.float32)

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        chances = state[np.arange(self.batch_size), action]
        return (rng.random(self.batch_size) < chances).astype(np.float32)


CONCATENATED = ArraySpec((4, 5), np.float32, "concatenated")


def concatenated(observation):
    """Joins the features of user and item, for every item."""
    users = np.repeat(observation["global"][:, np.newaxis], 4, axis=1)
    return np.concatenate([users, observation["per_arm"]], axis=2)


def rounded(observation):
    """Rounds everything but the number of actions."""
    if isinstance(observation, np.ndarray):
        return np.round(observation)
    return {
        key: array if key == "num_actions" else np.round(array)
        for key, array in observation.items()
    }


class Vectors(BanditPyEnvironment):
    """Contexts are the means of three actions' two rewards; the noise may be left out."""

    def __init__(self, batch_size=3, noise_std=1.0, seed=None, horizon=None):
        self._noise_std = noise_std
        super().__init__(
            ArraySpec((3, 2), np.float64),
            3,
            ArraySpec((2,), np.float32, "reward"),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
        )

    def _initial_state(self, rng):
        return rng.standard_normal((self.batch_size, 3, 2))

    def _observe(self, state):
        return state

    def _state_of(self, observation):
        return observation

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        noise = self._noise_std * rng.standard_normal((self.batch_size, 2))
        return state[np.arange(self.batch_size), action] + noise

    def _next_state(self, rng, state, action):
        return self._initial_state(rng)
