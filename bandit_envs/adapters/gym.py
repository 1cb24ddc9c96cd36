"""Environments in the interface of OpenAI's gym, 0.21 to 0.25: four values a step, `seed`."""

# gym has no types that hold over these versions: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import abc
from typing import Any

import gym
import numpy as np

from bandit_envs.adapters.adapter import Options, RowAdapter
from bandit_envs.adapters.spaces import DistinctItems
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed, generator

__all__ = [
    "GymEnv",
    "RandomizedEnv",
]


class SlateSpace(DistinctItems, gym.spaces.MultiDiscrete):
    """The space of slates, which are distinct items."""


class GymEnv(RowAdapter, gym.Env):
    """An environment with a batch of one, in gym's interface; see `Adapter`.

    `done` is terminated or truncated; `info` has `TimeLimit.truncated` if it is truncated.

    Args:
        env, expected_rewards: as for `RowAdapter`.

    Source: gym's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymEnv(KArmedTestbed(k=3, horizon=100))
    >>> observation = env.reset(seed=0)
    >>> env.step(1)[2:]
    (False, {})
    """

    _spaces = gym.spaces
    _slates = SlateSpace

    def __init__(self, env: PyEnvironment, expected_rewards: bool = False) -> None:
        super().__init__(env, None, expected_rewards)

    def seed(self, seed: Seed = None) -> list[Any]:
        """Starts a new run with the generator of a seed; the next `step` resets."""
        return self._start_anew(seed)

    def reset(
        self, *, seed: Seed = None, return_info: bool = False, options: Options = None
    ) -> Any:
        """Starts a new episode; returns its observation or, with `return_info`, also its info."""
        observation, info = super().reset(seed=seed)
        return (observation, info) if return_info else observation

    def step(self, action: Nest) -> Any:
        """Returns the observation, the reward, `done` and the info."""
        observation, reward, terminated, truncated, info = super().step(action)
        if truncated:
            info["TimeLimit.truncated"] = True
        return observation, reward, terminated or truncated, info

    def render(self, mode: str = "human") -> Any:
        return self._env.render(mode)


class RandomizedEnv(gym.Env):
    """Base of gym environments that draw from a generator of their own, `np_random`.

    A subclass overrides the properties `action_space` and `observation_space`, or sets them, and
    implements `step` and `reset`. Seeding changes the generator in place: environments that were
    given one share it.

    Args:
        np_random: a RandomState or Generator; None for a new RandomState.
        seed: the seed of the new RandomState; None for fresh entropy.

    Source: Concepts' `RandomizedEnv`.

    >>> class Coin(RandomizedEnv):
    ...     def step(self, action):
    ...         return None, float(self.np_random.randint(2) == action), True, {}
    >>> Coin().seed(7)
    [7]
    """

    _action_space: gym.Space | None = None
    _observation_space: gym.Space | None = None

    def __init__(
        self,
        np_random: np.random.RandomState | np.random.Generator | None = None,
        seed: Seed = None,
    ) -> None:
        if np_random is not None and seed is not None:
            raise ValueError("np_random and seed are both given; expected at most one of them")
        self._rng = np.random.RandomState() if np_random is None else np_random
        if not isinstance(self._rng, (np.random.RandomState, np.random.Generator)):
            raise TypeError(f"np_random is {np_random!r}; expected a RandomState or a Generator")
        if seed is not None:
            self.seed(seed)

    @property
    def action_space(self) -> gym.Space:
        """The space of actions; NotImplementedError if a subclass has none."""
        if self._action_space is None:
            raise NotImplementedError(f"{type(self).__name__} has no action_space")
        return self._action_space

    @action_space.setter
    def action_space(self, space: gym.Space) -> None:
        self._action_space = space

    @property
    def observation_space(self) -> gym.Space:
        """The space of observations; NotImplementedError if a subclass has none."""
        if self._observation_space is None:
            raise NotImplementedError(f"{type(self).__name__} has no observation_space")
        return self._observation_space

    @observation_space.setter
    def observation_space(self, space: gym.Space) -> None:
        self._observation_space = space

    @property
    def np_random(self) -> np.random.RandomState | np.random.Generator:
        """The generator of every draw."""
        return self._rng

    def seed(self, seed: Seed = None) -> list[Any]:
        """Seeds the generator and returns the list of seeds used; None is fresh entropy."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        generator(seed)  # refuses a bad seed before anything changes
        if isinstance(self._rng, np.random.RandomState):
            self._rng.seed(seed)
        else:
            bits = self._rng.bit_generator
            bits.state = type(bits)(seed).state
        return [seed]

    @abc.abstractmethod
    def reset(
        self, *, seed: Seed = None, return_info: bool = False, options: Options = None
    ) -> Any:
        """Seeds the generator, if there is a `seed`. An override calls it first."""
        if seed is not None:
            self.seed(seed)
