"""Durations: how many steps the pieces of a piecewise stationary bandit last."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.base.memo import Cache
from bandit_envs.sampling.context_sampler import ContextSampler

FOREVER = 2**63 - 1
MAX_SKIPPED = 1000
"""How many durations of 0 in a row are taken for a mistake."""


class Returned(list[int], Cache):
    """The durations that an iterator has returned. They grow, so they are no constants."""


class Durations:
    """The durations d_0, d_1, ... of pieces, in steps. After the last one, its piece stays.

    A duration of 0 skips a piece. A sampler draws a duration when a piece starts. What an iterator
    returns is kept, so that earlier pieces can be returned to.

    Args:
        name: what messages call them.
        durations: an iterator, a sequence, an integer, or a `ContextSampler` of one integer.

    >>> durations, start = Durations("durations", [2, 0, 5]), np.zeros(1, np.int64)
    >>> durations.ends(np.random.default_rng(0), 3, start).tolist()
    [0, 2, 2, 7]
    """

    def __init__(self, name: str, durations: Any) -> None:
        self._name = name
        self._durations = durations
        self._returned: list[int] | None = None
        if isinstance(durations, Iterator):
            self._returned = Returned()
        elif isinstance(durations, (Sequence, np.ndarray)):
            self._durations = iter(())
            self._returned = [self._check(duration) for duration in durations]
        elif isinstance(durations, ContextSampler):
            self._duration(np.random.default_rng(0), 0)
        else:
            self._durations = self._check(durations)

    def ends(self, rng: Rng, time: int, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns `ends` with pieces added until one lasts beyond `time`, in steps.

        `ends` [n + 1] are 0 and the times at which pieces 0 to n - 1 end. More than 1000 durations
        of 0 in a row raise ValueError.
        """
        while time >= ends.item(-1):
            index = len(ends) - 1
            duration = self._duration(rng, index)
            if duration is None:
                return np.append(ends[: max(index, 1)], FOREVER)
            ends = np.append(ends, min(ends.item(-1) + duration, FOREVER))
            if index >= MAX_SKIPPED and ends[-1] == ends[-1 - MAX_SKIPPED]:
                raise ValueError(f"{self._name} has {MAX_SKIPPED} durations of 0 in a row")
        return ends

    def _duration(self, rng: Rng, index: int) -> int | None:
        """Returns duration number `index`, or None if there are no more."""
        if isinstance(self._durations, ContextSampler):
            drawn = self._durations.sample(rng, (1,), self._name)
            return self._check(drawn.squeeze()[()])
        if self._returned is None:
            return self._durations  # type: ignore[no-any-return]
        missing = max(0, index + 1 - len(self._returned))
        for duration in itertools.islice(self._durations, missing):
            self._returned.append(self._check(duration))
        return self._returned[index] if index < len(self._returned) else None

    def _check(self, duration: Any) -> int:
        steps = check_integer(self._name, duration)
        if steps < 0:
            raise ValueError(f"{self._name}: Generated duration must be non-negative. Got {steps}.")
        return steps
