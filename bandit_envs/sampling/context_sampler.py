"""What every context sampler is, and how its draws are checked."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bandit_envs.base.arrays import NUMBERS, first_nan
from bandit_envs.base.checks import check_integer
from bandit_envs.specs import ArraySpec


class ContextSampler(abc.ABC):
    """Draws contexts, which are vectors of `dim` features.

    A subclass implements `__call__`. Environments call `sample`, which checks what it draws.

    Shapes:
        B: rows of a batch.
        n: contexts a row, where there are several.

    Args:
        dim: features in a context; 0 for none.
        dtype: their dtype.

    """

    trusted: ClassVar[bool] = False
    """Whether this very class cannot draw anything but what its spec says: `sample` trusts it."""

    def __init__(self, dim: int, dtype: DTypeLike = np.float32) -> None:
        self._dim = check_integer("dim", dim, minimum=0)
        self._spec = ArraySpec((self._dim,), dtype)
        self._is_checked = not vars(type(self)).get("trusted", False)
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
            A new array `[*size, dim]` of the spec's dtype.
        """

    def sample(
        self, rng: np.random.Generator, size: tuple[int, ...], name: str = "sampler"
    ) -> NDArray[Any]:
        """Draws contexts, as `__call__` does, and checks them; `name` is for messages.

        Raises:
            TypeError: they have another dtype than the spec.
            ValueError: they have another shape, or one is NaN; the message names its row.
        """
        contexts = self(rng, size)
        if not self._is_checked:
            return contexts
        dtype, shape = self._spec.dtype, (*size, self._dim)
        contexts = np.asarray(contexts)
        if contexts.dtype != dtype:
            raise TypeError(f"{name} returned {contexts.dtype}; expected {dtype}")
        if contexts.shape != shape:
            raise ValueError(f"{name} returned shape {contexts.shape}; expected {shape}")
        index = first_nan(contexts)
        if index is not None:
            place = f"row {index[0]}" + (f", arm {index[1]}" if len(size) > 1 else "")
            raise ValueError(f"{name} returned NaN for {place}")
        return contexts
