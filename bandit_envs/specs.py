"""Specs: the shapes, dtypes and bounds of the arrays that environments take and return.

Source: TF-Agents' `tf_agents.specs.array_spec`, whose names and meaning are kept.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import reprlib
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import cast, read_only
from bandit_envs.nests import Nest, map_structure

__all__ = [
    "ArraySpec",
    "BoundedArraySpec",
    "SlateSpec",
    "is_continuous",
]

SpecType = TypeVar("SpecType", bound="ArraySpec")


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class ArraySpec:
    """Shape and dtype of an array.

    Two specs are equal if their shapes and dtypes are equal; the name does not count.

    Args:
        shape: the dimensions, without the batch dimension.
        dtype: anything `numpy.dtype` takes.
        name: what the array holds, for error messages.

    >>> spec = ArraySpec((2,), np.float32, name="context")
    >>> spec.check_array(np.zeros(2, np.float32)), spec.check_array(np.zeros(2))
    (True, False)
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str | None

    def __init__(self, shape: Iterable[int], dtype: DTypeLike, name: str | None = None) -> None:
        dimensions = tuple(map(operator.index, shape))
        vars(self).update(shape=dimensions, dtype=_as_dtype(dtype), name=name)

    @classmethod
    def from_array(cls: type[SpecType], array: Any, name: str | None = None) -> SpecType:
        """Returns the spec of `array`, an array or a number."""
        if not isinstance(array, (np.ndarray, numbers.Number)):
            raise ValueError(f"array is {array!r}; expected a NumPy array or a number")
        found = np.asarray(array)
        return cls(found.shape, found.dtype, name=name)

    @classmethod
    def from_spec(cls, spec: ArraySpec) -> ArraySpec:
        """Returns the unbounded spec with the shape, dtype and name of `spec`."""
        return ArraySpec(spec.shape, spec.dtype, spec.name)

    def check_array(self, array: Any) -> bool:
        """Whether `array`, an array or a number, has exactly this shape and dtype."""
        if not isinstance(array, (np.ndarray, numbers.Number)):
            return False
        found = np.asarray(array)
        return self.shape == found.shape and self.dtype == found.dtype

    def replace(self: SpecType, **changes: Any) -> SpecType:
        """Returns a copy with other values of some of the constructor's arguments."""
        return type(self)(**{**vars(self), **changes})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArraySpec):
            return False
        return self.shape == other.shape and self.dtype == other.dtype


@dataclasses.dataclass(frozen=True, eq=False, init=False, repr=False)
class BoundedArraySpec(ArraySpec):
    """An `ArraySpec` with inclusive bounds.

    Args:
        shape, dtype, name: as for `ArraySpec`; the dtype is integer, floating or boolean.
        minimum: smallest value allowed, broadcast to `shape`; None or -inf for the dtype's.
        maximum: largest value allowed, broadcast to `shape`; None or inf for the dtype's.

    >>> spec = BoundedArraySpec((), np.int32, minimum=0, maximum=4, name="action")
    >>> spec.check_array(np.array(4, np.int32)), spec.check_array(np.array(5, np.int32))
    (True, False)
    """

    def __init__(
        self,
        shape: Iterable[int],
        dtype: DTypeLike,
        minimum: ArrayLike | None = None,
        maximum: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(shape, dtype, name)
        low, high = _dtype_range(self.dtype)
        for bound, value, default in (("minimum", minimum, low), ("maximum", maximum, high)):
            array = cast(f"{bound} is", default if value is None else value, self.dtype)
            try:
                np.broadcast_to(array, self.shape)
            except ValueError as error:
                raise ValueError(f"{bound} does not fit shape {self.shape}: {error}") from error
            vars(self)[bound] = np.array(array.clip(low, high), self.dtype)  # all are finite
        if not np.all(self.minimum <= self.maximum):
            raise ValueError(f"minimum is {self.minimum}; expected at most {self.maximum}")

    @property
    def minimum(self) -> NDArray[Any]:
        """The smallest values allowed, in a new read-only view."""
        return read_only(vars(self)["minimum"])

    @property
    def maximum(self) -> NDArray[Any]:
        """The largest values allowed, in a new read-only view."""
        return read_only(vars(self)["maximum"])

    @classmethod
    def from_spec(cls, spec: ArraySpec) -> BoundedArraySpec:
        """Returns `spec`, or a spec with its dtype's whole range as bounds if it has none."""
        if isinstance(spec, BoundedArraySpec):
            return spec
        return BoundedArraySpec(spec.shape, spec.dtype, name=spec.name)

    def check_array(self, array: Any) -> bool:
        """Whether `array` has exactly this shape and dtype, and all its values are in bounds."""
        fits = super().check_array(array)
        return fits and bool(np.all((array >= self.minimum) & (array <= self.maximum)))

    def __reduce__(self) -> tuple[Any, ...]:  # so that the bounds of copies are read-only too
        return type(self), (self.shape, self.dtype, self.minimum, self.maximum, self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundedArraySpec) or not super().__eq__(other):
            return False
        same = (self.minimum == other.minimum) & (self.maximum == other.maximum)
        return bool(np.all(same))

    def __repr__(self) -> str:
        unbounded = repr(ArraySpec.from_spec(self))[:-1]
        return f"Bounded{unbounded}, minimum={self.minimum}, maximum={self.maximum})"


class SlateSpec(BoundedArraySpec):
    """A `BoundedArraySpec` of integers [..., S], of which no two along the last axis are equal.

    >>> slate = SlateSpec.of(num_slots=2, num_items=10)
    >>> slate.check_array(np.array([3, 7], np.int32)), slate.check_array(np.array([3, 3], np.int32))
    (True, False)
    """

    @classmethod
    def of(cls, num_slots: int, num_items: int) -> SlateSpec:
        """Returns the spec of an action: S slots, and items from 0 to `num_items` - 1."""
        return cls((num_slots,), np.int32, 0, num_items - 1, "action")

    def check_array(self, array: Any) -> bool:
        """Whether `array` fits the `BoundedArraySpec`, and its items are distinct."""
        return super().check_array(array) and bool(np.all(np.diff(np.sort(array))))


def _as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype is {dtype!r}; expected a dtype of NumPy") from error


def _dtype_range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    if dtype.kind not in "iuf":
        raise TypeError(f"dtype is {dtype}; expected an integer, floating or boolean dtype")
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return dtype.type(limits.min), dtype.type(limits.max)


def is_discrete(spec: ArraySpec) -> bool:
    """Whether `spec` holds integers."""
    return spec.dtype.kind in "iu"


def is_continuous(spec: ArraySpec) -> bool:
    """Whether `spec` holds floating-point numbers."""
    return spec.dtype.kind == "f"


def value_range(spec: ArraySpec) -> tuple[float, float]:
    """Returns the smallest and the largest value that `spec` allows; infinity for no bound."""
    if not isinstance(spec, BoundedArraySpec):
        return -math.inf, math.inf
    low, high = float(spec.minimum.min()), float(spec.maximum.max())
    largest = float(np.finfo(spec.dtype).max) if is_continuous(spec) else math.inf
    return low if low > -largest else -math.inf, high if high < largest else math.inf


def assert_arrays_nest(arrays: Nest, spec: Nest, what: str = "") -> None:
    """Raises TypeError or ValueError, starting with `what`, if arrays do not fit their specs."""

    def check(leaf: Any, array: Any) -> None:
        if not _spec(leaf).check_array(array):
            found = reprlib.repr(array)
            if isinstance(array, np.ndarray):
                found = f"{array.dtype} array of shape {array.shape}: {str(array)[:160]}"
            raise ValueError(f"found {found}; expected {leaf}")

    try:
        map_structure(check, spec, arrays)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}{error}") from error


def check_arrays_nest(arrays: Nest, spec: Nest) -> bool:
    """Whether a nest of arrays fits a nest of specs: structure, shapes, dtypes and bounds."""
    try:
        assert_arrays_nest(arrays, spec)
    except (TypeError, ValueError):
        return False
    return True


def add_outer_dims_nest(spec: Nest, outer_dims: Iterable[int]) -> Nest:
    """Returns the nest of specs with `outer_dims`, such as `(batch_size,)`, before each shape."""
    outer = tuple(outer_dims)
    return map_structure(lambda leaf: _spec(leaf).replace(shape=outer + leaf.shape), spec)


def sample_spec_nest(rng: np.random.Generator, spec: Nest, outer_dims: Iterable[int] = ()) -> Nest:
    """Draws a nest of arrays `[*outer_dims, *spec.shape]` uniformly within the bounds of specs.

    An unbounded spec is drawn from its dtype's whole range.
    """
    outer = tuple(outer_dims)

    def sample(leaf: Any) -> NDArray[Any]:
        bounded = BoundedArraySpec.from_spec(_spec(leaf))
        low, high, shape = bounded.minimum, bounded.maximum, outer + bounded.shape
        if isinstance(bounded, SlateSpec):
            keys = rng.random((*shape[:-1], int(high.max()) + 1))
            return keys.argsort(axis=-1)[..., : shape[-1]].astype(leaf.dtype)
        if not is_continuous(bounded):
            return rng.integers(low, high, shape, leaf.dtype.type, endpoint=True).astype(leaf.dtype)
        share = rng.random(shape)  # so weighted, the widest interval does not overflow
        return np.asarray(np.clip((1.0 - share) * low + share * high, low, high), leaf.dtype)

    return map_structure(sample, spec)


def _spec(leaf: Any) -> ArraySpec:
    if not isinstance(leaf, ArraySpec):
        raise TypeError(f"spec is {leaf!r}; expected an ArraySpec")
    return leaf
