"""A base for environments in gym's interface that draw from a generator of their own."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

import gym
import numpy as np


class RandomizedEnv(gym.Env):
    """Base of gym environments that draw from a generator of their own.

    A subclass sets `action_space` and `observation_space`, implements `step`, overrides `reset` and
    draws from `np_random`. Seeding changes this generator in place, so that environments that were
    given one generator continue to share it.

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

    def __init__(self, np_random: Any = None, seed: Any = None) -> None:
        if np_random is not None and seed is not None:
            raise ValueError("np_random and seed are both given; expected at most one of them")
        self._rng = np.random.RandomState() if np_random is None else np_random
        if not isinstance(self._rng, (np.random.RandomState, np.random.Generator)):
            raise TypeError(f"np_random is {np_random!r}; expected a RandomState or a Generator")
        if seed is not None:
            self.seed(seed)

    @property
    def np_random(self) -> Any:
        """The generator of every draw."""
        return self._rng

    def seed(self, seed: Any = None) -> list[Any]:
        """Seeds the generator and returns the list of seeds used; None is fresh entropy.

        Raises:
            TypeError, ValueError: `seed` is not a seed of the generator. Nothing has changed.
        """
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        try:
            if isinstance(seed, (bool, np.bool_)):
                raise TypeError("expected an integer")
            if isinstance(self._rng, np.random.RandomState):
                self._rng.seed(seed)
            else:
                bits = self._rng.bit_generator
                bits.state = type(bits)(seed).state
        except (TypeError, ValueError) as error:
            raise type(error)(f"seed is {seed!r}: {error}") from error
        return [seed]

    def reset(
        self, *, seed: Any = None, return_info: bool = False, options: dict[str, Any] | None = None
    ) -> Any:
        """Seeds the generator, if there is a `seed`. An override calls it first."""
        if seed is not None:
            self.seed(seed)
