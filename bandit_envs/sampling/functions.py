"""Functions as context samplers: of whole batches, and of TF-Agents' kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.base.arrays import NUMBERS, cast
from bandit_envs.base.checks import shown
from bandit_envs.sampling.context_sampler import ContextSampler


class BatchFunction(ContextSampler):
    """A function that draws a whole batch.

    Args:
        function: takes a `numpy.random.Generator` and `size`, and returns an array `[*size, dim]`.
            The array is copied, so the function may return the same one again, or a view.
        dim: features in a context.
        dtype: what to convert them to.

    >>> signs = BatchFunction(lambda rng, size: rng.choice([-1, 1], (*size, 3)), dim=3)
    >>> signs(np.random.default_rng(0), (2, 5)).dtype
    dtype('float32')
    """

    def __init__(
        self,
        function: Callable[[np.random.Generator, tuple[int, ...]], ArrayLike],
        dim: int,
        dtype: DTypeLike = np.float32,
    ) -> None:
        if not callable(function):
            raise TypeError(f"function is {function!r}; expected a function (rng, size)")
        super().__init__(dim, dtype)
        self._function = function

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        return _converted(
            "function", np.array(self._function(rng, size), order="C"), self._spec.dtype
        )


class RowFunction(ContextSampler):
    """A function of TF-Agents' kind: without arguments, it returns one context.

    It is called once when it is wrapped, to learn its dimension and dtype, and then once a context,
    row by row. The function has its own source of randomness, so seeds and saved states do not
    reproduce it.

    Args:
        function: returns a vector: an array, list or tuple; or a number, a vector of one.
        name: what to call it in messages.

    Source: TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    >>> RowFunction(lambda: [1, 2])(np.random.default_rng(0), (3,)).shape
    (3, 2)
    """

    def __init__(self, function: Callable[[], ArrayLike], name: str = "function") -> None:
        try:
            context = function()
        except TypeError as error:
            raise TypeError(
                f"{name} was called without arguments and raised {error!r}; "
                f"wrap a function (rng, size) as BatchFunction(function, dim)"
            ) from error
        first = _stacked(name, context)
        if first.ndim > 1:
            raise ValueError(f"{name} returned shape {first.shape}; expected a vector or a number")
        super().__init__(first.size, first.dtype)
        self._function = function
        self._name = name
        self._shape = first.shape

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        function = self._function
        values = _stacked(self._name, [function() for _ in range(math.prod(size))])
        if values.shape[1:] != self._shape:
            raise ValueError(
                f"{self._name} returned shape {values.shape[1:]}; "
                f"expected {self._shape}, as at first"
            )
        return _converted(self._name, values, self._spec.dtype).reshape(*size, self._dim)


SamplingFunction: TypeAlias = ContextSampler | Callable[[], ArrayLike]
"""A sampler, or a function without arguments that returns one context."""


def as_sampler(name: str, function: SamplingFunction, size: tuple[int, ...]) -> ContextSampler:
    """Returns `function` as a sampler. A function without arguments becomes a `RowFunction`.

    A sampler is tried on the batch shape `size`. `name` is the argument's name, for messages.

    Raises:
        TypeError: it is neither, or what it draws has a wrong dtype.
        ValueError: what it draws has a wrong shape, or is NaN.
    """
    if isinstance(function, ContextSampler):
        function.sample(np.random.default_rng(0), size, name)
        return function
    if not callable(function):
        raise TypeError(f"{name} is {shown(function)}; expected a ContextSampler or a function")
    return RowFunction(function, name)


def _stacked(name: str, contexts: Any) -> NDArray[Any]:
    try:
        values = np.array(contexts)
    except ValueError as error:
        raise ValueError(f"{name} returned contexts of different shapes: {error}") from error
    if values.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} returned {values.dtype}; expected real numbers")
    return values


def _converted(name: str, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    both_integers = values.dtype.kind in "iu" and dtype.kind in "iu"
    if not both_integers and not np.can_cast(values.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} returned {values.dtype}; expected {dtype}")
    return cast(name, values, dtype)
