"""What a context sampler is, functions as samplers, and samplers of nests."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bandit_envs.arrays import NUMBERS, Array, Rng, as_numbers, cast, check_array
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.specs import ArraySpec


class ContextSampler(abc.ABC):
    """Draws contexts, which are vectors of `dim` features.

    A subclass implements `_sample`. What it draws is checked.

    Args:
        dim: features in a context; 0 for none.
        dtype: their dtype.
    """

    skips_nan_check: ClassVar[bool] = False
    """Whether `sample` trusts this class, but not its subclasses, to draw what the spec says."""

    def __init__(self, dim: int, dtype: DTypeLike = np.float32) -> None:
        self._dim = check_integer("dim", dim, minimum=0)
        self._spec = ArraySpec((self._dim,), dtype)
        self._is_checked = not vars(type(self)).get("skips_nan_check", False)
        if self._spec.dtype.kind not in NUMBERS:
            raise TypeError(f"dtype is {self._spec.dtype}; expected real numbers")

    @property
    def spec(self) -> ArraySpec:
        """The spec of one context: [dim]."""
        return self._spec

    def sample(self, rng: Rng, size: tuple[int, ...], name: str = "sampler") -> Array:
        """Draws contexts: a new array `[*size, dim]` of the spec's dtype.

        Args:
            rng: the source of randomness.
            size: `(B,)` for one context in each of B rows, or `(B, n)` for n in each row.
            name: what messages call the sampler.

        Raises:
            TypeError, ValueError: the subclass drew another dtype or shape, or NaN.
        """
        contexts = self._sample(rng, size)
        if not self._is_checked:
            return contexts
        contexts = np.asarray(contexts)
        if contexts.dtype != self._spec.dtype:
            raise TypeError(f"{name} returned {contexts.dtype}; expected {self._spec.dtype}")
        return check_array(f"{name} returned", contexts, (*size, self._dim))

    @abc.abstractmethod
    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        """Draws contexts: a new array `[*size, dim]` of the spec's dtype."""


class BatchFunction(ContextSampler):
    """A function that draws a whole batch.

    Args:
        function: takes a `numpy.random.Generator` and `size`, and returns an array `[*size, dim]`,
            which is copied and converted.
        dim: features in a context.
        dtype: their dtype.

    >>> signs = BatchFunction(lambda rng, size: rng.choice([-1, 1], (*size, 3)), dim=3)
    >>> signs.sample(np.random.default_rng(0), (2, 5)).dtype
    dtype('float32')
    """

    def __init__(
        self,
        function: Callable[[np.random.Generator, tuple[int, ...]], ArrayLike],
        dim: int,
        dtype: DTypeLike = np.float32,
    ) -> None:
        super().__init__(dim, dtype)
        self._function = function

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        contexts = np.array(self._function(rng, size), order="C")
        return cast("function returned", contexts, self._spec.dtype)


class RowFunction(ContextSampler):
    """A function of TF-Agents' kind: without arguments, it returns one context.

    It is called once when it is wrapped, to learn its dimension and dtype, and then once for each
    context, row by row. Seeds and saved states do not reproduce what it draws.

    Args:
        function: returns a vector: an array, list or tuple; or a number, a vector of one.
        name: what messages call it.

    >>> RowFunction(lambda: [1, 2]).sample(np.random.default_rng(0), (3,)).shape
    (3, 2)
    """

    def __init__(self, function: Callable[[], ArrayLike], name: str = "function") -> None:
        try:
            context = function()
        except TypeError as error:
            raise TypeError(
                f"{name} is {short_repr(function)}; expected a ContextSampler or a function "
                "without arguments; wrap a function (rng, size) as "
                f"BatchFunction(function, dim): {error}"
            ) from error
        self._returned = f"{name} returned"
        first = as_numbers(self._returned, context)
        if first.ndim > 1:
            raise ValueError(f"{name} returned shape {first.shape}; expected a vector or a number")
        super().__init__(first.size, first.dtype)
        self._function = function
        self._shape = first.shape

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        contexts = [self._function() for _ in range(math.prod(size))]
        values = cast(self._returned, contexts, self._spec.dtype)
        if values.shape[1:] != self._shape:
            raise ValueError(f"{self._returned} shape {values.shape[1:]}; expected {self._shape}")
        return values.reshape(*size, self._dim)


SamplingFunction: TypeAlias = ContextSampler | Callable[[], ArrayLike]
"""A sampler, or a function without arguments that returns one context."""


def as_sampler(name: str, function: SamplingFunction, size: tuple[int, ...]) -> ContextSampler:
    """Returns a sampler, after a trial with the shape `size`, or a function as a `RowFunction`."""
    if not isinstance(function, ContextSampler):
        return RowFunction(function, name)
    function.sample(np.random.default_rng(0), size, name)
    return function


class SamplerNest:
    """Draws a nest of batches by a nest of samplers.

    Args:
        name: what messages call it.
        samplers: a nest of `ContextSampler` objects.
    """

    def __init__(self, name: str, samplers: Nest) -> None:
        self._samplers = samplers
        for sampler in flatten(samplers):
            if not isinstance(sampler, ContextSampler):
                expected = "expected a nest of ContextSamplers, or a function without arguments"
                raise TypeError(f"{name} has {short_repr(sampler)}; {expected}")
        self.spec = map_structure(lambda sampler: sampler.spec, samplers)

    def sample(self, rng: Rng, size: tuple[int, ...], name: str) -> Nest:
        """Returns a nest of arrays `[*size, ...]`."""
        return map_structure(lambda sampler: sampler.sample(rng, size, name), self._samplers)


class FunctionNest:
    """Draws a nest of batches by a function without arguments.

    Args:
        function: returns the nest of one context, whose leaves are arrays of any dtype, strings
            too, and numbers. All else is as for `RowFunction`.
    """

    def __init__(self, function: Callable[[], Nest]) -> None:
        self._function = function
        self.spec = map_structure(ArraySpec.from_array, function())

    def sample(self, rng: Rng, size: tuple[int, ...], name: str) -> Nest:
        """Returns a nest of arrays `[*size, ...]`."""

        def stack(spec: ArraySpec, *leaves: Any) -> Array:
            values = np.array(leaves)
            if values.dtype != spec.dtype:
                raise TypeError(f"{name} returned {values.dtype}; expected {spec.dtype}")
            check_array(f"{name} returned", values, (len(leaves), *spec.shape))
            return values.reshape(*size, *spec.shape)

        contexts = [self._function() for _ in range(math.prod(size))]
        return map_structure(stack, self.spec, *contexts)


def as_nest_sampler(
    name: str, source: Nest, size: tuple[int, ...] = (1,)
) -> SamplerNest | FunctionNest:
    """Returns a nest of samplers, or a function without arguments, as an object that samples."""
    if callable(source):
        return FunctionNest(source)
    return SamplerNest(name, source)
