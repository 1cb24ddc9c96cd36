"""What every context sampler is, and how its draws are checked."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bandit_envs.checks import NUMBERS, checked_integer, first_nan
from bandit_envs.specs import ArraySpec


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


class CheckedSampler(ContextSampler):
    """A sampler whose contexts are looked at before anyone else sees them.

    Args:
        sampler: what draws.
        name: what to call it in messages.

    Raises:
        TypeError: when it is called, the contexts are of another dtype than the sampler's spec.
        ValueError: when it is called, they are of another shape, or one is NaN; the message names
            its row.

    >>> from bandit_envs.sampling import Normal
    >>> CheckedSampler(Normal(3), "arm_context_sampling_fn")(np.random.default_rng(0), (2,)).shape
    (2, 3)
    """

    def __init__(self, sampler: ContextSampler, name: str) -> None:
        super().__init__(sampler.spec.shape[0], sampler.spec.dtype)
        self._sampler = sampler
        self._name = name

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        contexts = np.asarray(self._sampler(rng, size))
        name, dtype, shape = self._name, self._spec.dtype, (*size, self._dim)
        if contexts.dtype != dtype:
            raise TypeError(f"{name} returned {contexts.dtype}; expected {dtype}")
        if contexts.shape != shape:
            raise ValueError(f"{name} returned shape {contexts.shape}; expected {shape}")
        index = first_nan(contexts)
        if index is not None:
            place = f"row {index[0]}" + (f", arm {index[1]}" if len(size) > 1 else "")
            raise ValueError(f"{name} returned NaN for {place}")
        return contexts
