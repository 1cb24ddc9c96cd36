"""Environments in the interface of OpenAI's gym, 0.21 to 0.25: four values a step, `seed`."""

# gym has no types that hold over these versions: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import abc
from typing import Any

import gym
import numpy as np

from bandit_envs.adapters.batch_of_one import (
    RENDER_MODES,
    batch_of_one,
    checked_batch_of_one,
    info,
    outcome,
    space_from_spec,
)
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed

Rng = np.random.RandomState | np.random.Generator


class RandomizedEnv(gym.Env, abc.ABC):
    """Base of gym environments that draw from a generator of their own.

    A subclass implements `reset` and `step`, draws from `np_random`, and sets `action_space` and
    `observation_space` in its constructor or as class attributes.

    The generator is a RandomState unless another one is given, and stays the same object for good:
    seeding sets it back. So environments that were given one generator go on sharing it.

    Args:
        np_random: the generator to draw from.
        seed: the seed of a new RandomState, if there is no `np_random`: an integer from 0 to
            2**32 - 1, a sequence of them, or None for fresh entropy.

    Raises:
        TypeError: `np_random` is neither a RandomState nor a Generator, or `seed` is not made of
            integers.
        ValueError: both are given, or `seed` is out of range.

    Source: Concepts' `RandomizedEnv`.

    >>> class Coin(RandomizedEnv):
    ...     def reset(self, *, seed=None, return_info=False, options=None):
    ...         super().reset(seed=seed)
    ...     def step(self, action):
    ...         return None, float(self.np_random.randint(2) == action), True, {}
    >>> Coin().seed(7)
    [7]
    """

    _action_space: gym.Space | None = None
    _observation_space: gym.Space | None = None

    def __init__(self, np_random: Rng | None = None, seed: Any = None) -> None:
        if np_random is not None and seed is not None:
            raise ValueError("np_random and seed are both given; expected at most one of them")
        if np_random is None:
            np_random = np.random.RandomState()
            if seed is not None:
                _set_seed(np_random, seed)
        elif not isinstance(np_random, (np.random.RandomState, np.random.Generator)):
            raise TypeError(f"np_random is {np_random!r}; expected a RandomState or a Generator")
        self._np_random = np_random

    @property
    def np_random(self) -> Rng:
        """The generator of every draw."""
        return self._np_random

    @property
    def action_space(self) -> gym.Space:
        """The space of actions.

        Raises:
            NotImplementedError: it has not been set.
        """
        return self._known("action_space", self._action_space)

    @action_space.setter
    def action_space(self, space: gym.Space) -> None:
        self._action_space = space

    @property
    def observation_space(self) -> gym.Space:
        """The space of observations.

        Raises:
            NotImplementedError: it has not been set.
        """
        return self._known("observation_space", self._observation_space)

    @observation_space.setter
    def observation_space(self, space: gym.Space) -> None:
        self._observation_space = space

    def seed(self, seed: Any = None) -> list[Any]:
        """Sets the generator back to the beginning of a stream.

        Args:
            seed: as in the constructor; for a Generator, whatever its bit generator takes.

        Returns:
            The list of seeds used: `[seed]`, or the entropy drawn if `seed` is None.

        Raises:
            TypeError: `seed` is not made of integers. Nothing has changed.
            ValueError: it is out of range. Nothing has changed.
        """
        if seed is None:
            entropy = np.random.SeedSequence()
            legacy = isinstance(self._np_random, np.random.RandomState)
            seed = int(entropy.generate_state(1)[0]) if legacy else entropy.entropy
        _set_seed(self._np_random, seed)
        return [seed]

    @abc.abstractmethod
    def reset(
        self,
        *,
        seed: Any = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Starts a new episode and returns its observation.

        A subclass calls `super().reset(seed=seed)`, which does the seeding.

        Args:
            seed: as in `seed`; None to go on with the stream.
            return_info: whether to return a pair of the observation and a dict.
            options: what else there is to say about the episode.
        """
        if seed is not None:
            self.seed(seed)

    @abc.abstractmethod
    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Takes one action and returns the observation, the reward, whether it is over, a dict."""

    def render(self, mode: str = "human") -> Any:
        """Shows the environment.

        Raises:
            NotImplementedError: it cannot be shown, or not in this mode.
        """
        raise NotImplementedError(f"{type(self).__name__} has no render({mode!r})")

    def _known(self, name: str, space: gym.Space | None) -> gym.Space:
        if space is None:
            raise NotImplementedError(f"{type(self).__name__} has no {name}")
        return space


class GymEnv(gym.Env):
    """An environment with a batch of one, in gym's interface.

    `done` is LAST; where an episode was cut off, `info` says so as `TimeLimit.truncated`. So in a
    bandit stream each pull is an episode. A stream need not be reset in between, and a testbed
    should not, for `reset` draws its arms anew: give it a horizon where something else, such as
    TF-Agents, resets after every `done`.

    The `info` of a bandit whose expected rewards are known has the `best_arm` and, [K] float64, the
    `expected_rewards`, of the state that the observation was made in: the next action meets them.

    Args:
        env: what to adapt; its batch size is 1.

    Attributes:
        env: the environment adapted.
        reward_range: the smallest and the largest reward.

    Raises:
        TypeError: `env` is not a `PyEnvironment`.
        ValueError: its batch size is not 1.

    Source: gym's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymEnv(KArmedTestbed(k=3, horizon=100))
    >>> observation, info = env.reset(seed=0, return_info=True)
    >>> observation, reward, done, info = env.step(info["best_arm"])
    >>> done, env.action_space
    (False, Discrete(3))
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(self, env: PyEnvironment) -> None:
        self.env = checked_batch_of_one(env)
        self.action_space = space_from_spec(gym.spaces, env.action_spec())
        self.observation_space = space_from_spec(gym.spaces, env.observation_spec())
        self.reward_range = env.reward_range

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of every draw."""
        return self.env.np_random

    _np_random = np_random  # where the checker of gym 0.25 looks for it

    def seed(self, seed: Seed = None) -> list[Any]:
        """Exchanges the generator; what has been drawn stays until the next `reset` or `step`.

        Args:
            seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh
                entropy.

        Returns:
            The list of seeds used: `[seed]`, or the entropy drawn if `seed` is None.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        return self.env.seed(seed)

    def reset(
        self,
        *,
        seed: Seed = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Starts a new episode and returns its observation.

        Args:
            seed: as in `seed`; None to go on with the generator.
            return_info: whether to return a pair of the observation and the info.
            options: not used.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        if seed is not None:
            self.env.seed(seed)
        observation = outcome(self.env, self.env.reset()).observation
        return (observation, info(self.env)) if return_info else observation

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Takes one action; before the first `reset`, ignores it and resets.

        Args:
            action: an element of `action_space`.

        Returns:
            The observation, the reward, whether the episode is over, and the info.

        Raises:
            TypeError: `action` is of a wrong type. Nothing has changed.
            ValueError: `action` is no element of `action_space`. Nothing has changed.
        """
        time_step = self.env.step(batch_of_one(self.env.action_spec(), action))
        observation, reward, terminated, truncated = outcome(self.env, time_step)
        known = info(self.env)
        if truncated:
            known["TimeLimit.truncated"] = True
        return observation, reward, terminated or truncated, known

    def render(self, mode: str = "human") -> Any:
        """Returns an image ("rgb_array") or a text ("ansi"), or shows a window ("human").

        Raises:
            NotImplementedError: the environment cannot be shown, or not in this mode.
        """
        return self.env.render(mode)

    def close(self) -> None:
        self.env.close()


def _set_seed(np_random: Rng, seed: Any) -> None:
    try:
        if isinstance(seed, (bool, np.bool_)):
            raise TypeError("expected an integer")
        if isinstance(np_random, np.random.RandomState):
            np_random.seed(seed)
        else:
            bit_generator = np_random.bit_generator
            bit_generator.state = type(bit_generator)(seed).state
    except (TypeError, ValueError) as error:
        raise type(error)(f"seed is {seed!r}: {error}") from error
