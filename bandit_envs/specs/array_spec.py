"""Array specs: the shape, dtype and bounds of one array, without its batch dimension."""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.base.arrays import cast

SpecType = TypeVar("SpecType", bound="ArraySpec")


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class ArraySpec:
    """Shape and dtype of an array.

    Two specs are equal if their shapes and dtypes are equal; the name does not count.

    Args:
        shape: the dimensions, without the batch dimension.
        dtype: anything `numpy.dtype` takes.
        name: what the array holds, for error messages.

    Source: TF-Agents' `ArraySpec`.

    >>> spec = ArraySpec((2,), np.float32, name="context")
    >>> spec.check_array(np.zeros(2, np.float32)), spec.check_array(np.zeros(2))
    (True, False)
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str | None

    def __init__(self, shape: Iterable[int], dtype: DTypeLike, name: str | None = None) -> None:
        try:
            object.__setattr__(self, "shape", tuple(map(operator.index, shape)))
            object.__setattr__(self, "dtype", np.dtype(dtype))
        except TypeError as error:
            expected = "expected an iterable of integers and a NumPy dtype"
            raise TypeError(f"shape is {shape!r}, dtype is {dtype!r}; {expected}") from error
        object.__setattr__(self, "name", name)

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
        return bool(self.shape == found.shape and self.dtype == found.dtype)

    def replace(self: SpecType, **changes: Any) -> SpecType:
        """Returns a copy with other values of some of the constructor's arguments."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return type(self)(**{**fields, **changes})

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

    Source: TF-Agents' `BoundedArraySpec`.

    >>> spec = BoundedArraySpec((), np.int32, minimum=0, maximum=4, name="action")
    >>> spec.check_array(np.array(4, np.int32)), spec.check_array(np.array(5, np.int32))
    (True, False)
    """

    minimum: NDArray[Any]
    maximum: NDArray[Any]

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
            # Infinity stands for the largest finite number. The view's write flag cannot be set.
            array = np.array(np.clip(array, low, high), self.dtype)
            array.setflags(write=False)
            object.__setattr__(self, bound, array.view())
        if not np.all(self.minimum <= self.maximum):
            raise ValueError(f"minimum is {self.minimum}; expected at most {self.maximum}")

    @classmethod
    def from_spec(cls, spec: ArraySpec) -> BoundedArraySpec:
        """Returns `spec`, or a spec with its dtype's whole range as bounds if it has none."""
        if isinstance(spec, BoundedArraySpec):
            return spec
        return BoundedArraySpec(spec.shape, spec.dtype, name=spec.name)

    def check_array(self, array: Any) -> bool:
        """Whether `array` has exactly this shape and dtype, and all its values are in bounds."""
        if not super().check_array(array):
            return False
        return bool(np.all((array >= self.minimum) & (array <= self.maximum)))

    def __reduce__(self) -> tuple[Any, ...]:  # so that the bounds of copies are read-only too
        return type(self), (self.shape, self.dtype, self.minimum, self.maximum, self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundedArraySpec) or not super().__eq__(other):
            return False
        same = (self.minimum == other.minimum) & (self.maximum == other.maximum)
        return bool(np.all(same))

    def __repr__(self) -> str:
        return (
            f"BoundedArraySpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self.minimum}, maximum={self.maximum})"
        )


class SlateSpec(BoundedArraySpec):
    """A `BoundedArraySpec` of integers [..., S], of which no two along the last axis are equal.

    >>> slate = SlateSpec((2,), np.int32, 0, 9)
    >>> slate.check_array(np.array([3, 7], np.int32)), slate.check_array(np.array([3, 3], np.int32))
    (True, False)
    """

    def check_array(self, array: Any) -> bool:
        """Whether `array` fits the `BoundedArraySpec`, and its items are distinct."""
        return super().check_array(array) and bool(np.all(np.diff(np.sort(array))))


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
