"""A base for gym environments that draw from a generator of their own."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import abc
from typing import Any

import gym
import numpy as np

Rng = np.random.RandomState | np.random.Generator


def _space(name: str) -> Any:
    """Returns a property that raises NotImplementedError until it is set."""

    def get(self: Any) -> Any:
        if name not in self.__dict__:
            raise NotImplementedError(f"{type(self).__name__} has no {name}")
        return self.__dict__[name]

    return property(get, lambda self, space: self.__dict__.update({name: space}))


class RandomizedEnv(gym.Env, abc.ABC):
    """Base of gym environments that draw from a generator of their own.

    A subclass implements `reset` and `step`, draws from `np_random`, and sets `action_space` and
    `observation_space`. Seeding resets the generator in place, so environments that were given one
    generator go on sharing it.

    Args:
        np_random: the generator to draw from; None for a new RandomState.
        seed: the seed of the new RandomState; None for fresh entropy.

    Raises:
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

    action_space = _space("action_space")
    observation_space = _space("observation_space")

    def __init__(self, np_random: Rng | None = None, seed: Any = None) -> None:
        if np_random is not None and seed is not None:
            raise ValueError("np_random and seed are both given; expected at most one of them")
        rng = np.random.RandomState() if np_random is None else np_random
        if not isinstance(rng, (np.random.RandomState, np.random.Generator)):
            raise TypeError(f"np_random is {rng!r}; expected a RandomState or a Generator")
        self._np_random = rng
        if seed is not None:
            self.seed(seed)

    @property
    def np_random(self) -> Rng:
        """The generator of every draw."""
        return self._np_random

    def seed(self, seed: Any = None) -> list[Any]:
        """Seeds the generator; returns the list of seeds used.

        Args:
            seed: what the generator's class takes; None for fresh entropy.

        Raises:
            TypeError, ValueError: `seed` is not a valid seed. Nothing has changed.
        """
        rng = self._np_random
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        try:
            if isinstance(seed, (bool, np.bool_)):
                raise TypeError("expected an integer")
            if isinstance(rng, np.random.RandomState):
                rng.seed(seed)
            else:
                rng.bit_generator.state = type(rng.bit_generator)(seed).state
        except (TypeError, ValueError) as error:
            raise type(error)(f"seed is {seed!r}: {error}") from error
        return [seed]

    @abc.abstractmethod
    def reset(
        self,
        *,
        seed: Any = None,
        return_info: bool = False,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Starts a new episode. A subclass calls `super().reset(seed=seed)` first."""
        if seed is not None:
            self.seed(seed)

    @abc.abstractmethod
    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Returns the observation, the reward, whether the episode is over, and the info."""

    def render(self, mode: str = "human") -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no render({mode!r})")
