"""What every context sampler is, and how its draws are checked."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bandit_envs.checks import checked_integer
from bandit_envs.specs import ArraySpec

NUMBERS = "biuf"
"""The kinds of dtype that hold real numbers."""


class ContextSampler(abc.ABC):
    """Draws contexts, which are vectors of `dim` features.

    Shapes:
        B: rows of a batch.
        n: contexts a row, where there are several.

    Args:
        dim: features in a context; 0 for none.
        dtype: their dtype.

    Raises:
        TypeError: `dim` is not an integer, or `dtype` is not one of real numbers.
        ValueError: `dim` is negative.
    """

    def __init__(self, dim: int, dtype: DTypeLike = np.float32) -> None:
        self._dim = checked_integer("dim", dim, minimum=0)
        self._spec = ArraySpec((self._dim,), dtype)
        if self._spec.dtype.kind not in NUMBERS:
            raise TypeError(f"dtype is {self._spec.dtype}; expected real numbers")

    @property
    def spec(self) -> ArraySpec:
        """The spec of one context: [dim]."""
        return self._spec

    @abc.abstractmethod
    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        """Draws contexts.

        Args:
            rng: where all randomness comes from.
            size: `(B,)` for one context a row, `(B, n)` for n a row.

        Returns:
            An array `[*size, dim]` of the spec's dtype, which nobody else writes to.
        """


def draw_contexts(
    name: str, sampler: ContextSampler, rng: np.random.Generator, size: tuple[int, ...]
) -> NDArray[Any]:
    """Returns what `sampler` draws, [*size, dim], or refuses it.

    Args:
        name: of the sampler, for messages.
        sampler: what draws.
        rng: what it draws from.
        size: the batch shape.

    Raises:
        TypeError: the contexts are of another dtype than the sampler's spec.
        ValueError: they are of another shape, or one is NaN; the message names its row.
    """
    contexts = np.asarray(sampler(rng, size))
    spec = sampler.spec
    if contexts.dtype != spec.dtype:
        raise TypeError(f"{name} returned {contexts.dtype}; expected {spec.dtype}")
    if contexts.shape != size + spec.shape:
        raise ValueError(f"{name} returned shape {contexts.shape}; expected {size + spec.shape}")
    index = first_nan(contexts)
    if index is not None:
        place = f"row {index[0]}" + (f", arm {index[1]}" if len(size) > 1 else "")
        raise ValueError(f"{name} returned NaN for {place}")
    return contexts


def first_nan(values: NDArray[Any]) -> tuple[int, ...] | None:
    """Returns the index of the first NaN; None if there is none."""
    if values.dtype.kind != "f" or values.size == 0:
        return None
    # The sum of squares is NaN exactly if a value is, for squares of infinities do not cancel.
    if not math.isnan(np.vdot(values, values)):
        return None
    return tuple(int(index) for index in np.unravel_index(values.argmin(), values.shape))
