"""The examples of a data set that the rows of a bandit see, step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Indices, Rng

NO_EXAMPLES: Indices = np.empty(0, np.intp)


class Examples(NamedTuple):
    """The examples [B] that the rows see now, and the rest of the epoch in its order."""

    now: Indices
    rest: Indices


class ExampleSampler:
    """Draws examples for all rows, without replacement in epochs, or with replacement.

    Args:
        count: the number of examples, n.
        batch_size: B.
        replace: whether to draw with replacement.
    """

    def __init__(self, count: int, batch_size: int, replace: bool) -> None:
        self._count = count
        self._batch_size = batch_size
        self._replace = bool(replace)

    def draw(self, rng: Rng, rest: Indices = NO_EXAMPLES) -> Examples:
        """Draws the examples of the next step; `rest` is what the epoch has left."""
        size = self._batch_size
        if self._replace:
            return Examples(rng.integers(self._count, size=size), rest)
        if len(rest) < size:
            missing = size - len(rest)
            epochs = [self._draw_epoch(rng) for _ in range(-(-missing // self._count))]
            rest = np.concatenate([rest, *epochs])
        return Examples(rest[:size], rest[size:])

    def _draw_epoch(self, rng: Rng) -> Indices:
        """Draws the order of all examples: [n]."""
        return rng.permutation(self._count)


class OrderedExamples(ExampleSampler):
    """Shows the examples in their order, again and again.

    Args:
        count: the number of examples, n.
        batch_size: B.
    """

    def __init__(self, count: int, batch_size: int) -> None:
        super().__init__(count, batch_size, replace=False)

    def _draw_epoch(self, rng: Rng) -> Indices:
        return np.arange(self._count)
