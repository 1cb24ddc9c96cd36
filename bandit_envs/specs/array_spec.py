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

from bandit_envs.base.arrays import as_numbers

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
    def from_array(cls, array: Any, name: str | None = None) -> ArraySpec:
        """Returns the spec of `array`, an array or a number."""
        if isinstance(array, np.ndarray):
            return ArraySpec(array.shape, array.dtype, name)
        if isinstance(array, numbers.Number):
            return ArraySpec((), type(array), name)
        raise ValueError(f"array is {array!r}; expected a NumPy array or a number")

    @classmethod
    def from_spec(cls, spec: ArraySpec) -> ArraySpec:
        """Returns the unbounded spec with the shape, dtype and name of `spec`."""
        return ArraySpec(spec.shape, spec.dtype, spec.name)

    def check_array(self, array: Any) -> bool:
        """Whether `array`, an array or a number, has exactly this shape and dtype."""
        if isinstance(array, np.ndarray):
            return bool(self.shape == array.shape and self.dtype == array.dtype)
        if isinstance(array, numbers.Number):
            return self.shape == () and self.dtype == np.dtype(type(array))
        return False

    def replace(
        self,
        shape: Iterable[int] | None = None,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> ArraySpec:
        """Returns a copy that differs in the arguments that are not None."""
        return _replaced(self, shape=shape, dtype=dtype, name=name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArraySpec):
            return False
        return self.shape == other.shape and self.dtype == other.dtype


@dataclasses.dataclass(frozen=True, eq=False, init=False, repr=False)
class BoundedArraySpec(ArraySpec):
    """An `ArraySpec` with inclusive bounds.

    Args:
        shape: the dimensions, without the batch dimension.
        dtype: an integer, floating or boolean dtype.
        minimum: smallest value allowed, broadcast to `shape`; None or -inf for the dtype's.
        maximum: largest value allowed, broadcast to `shape`; None or inf for the dtype's.
        name: what the array holds, for error messages.

    Source: TF-Agents' `BoundedArraySpec`.

    >>> spec = BoundedArraySpec((), np.int32, minimum=0, maximum=4, name="action")
    >>> spec.check_array(np.array(4, np.int32)), spec.check_array(np.array(5, np.int32))
    (True, False)
    >>> int(spec.num_values)
    5
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
            checked = self._bound(bound, default if value is None else value, low, high)
            object.__setattr__(self, bound, checked)
        if np.any(self.minimum > self.maximum):
            raise ValueError(f"minimum is {self.minimum}; expected at most {self.maximum}")

    def _bound(self, name: str, value: ArrayLike, low: Any, high: Any) -> NDArray[Any]:
        bound = as_numbers(f"{name} is", value)
        try:
            np.broadcast_to(bound, self.shape)
        except ValueError as error:
            raise ValueError(f"{name} does not fit shape {self.shape}: {error}") from error
        if is_continuous(self):
            bound = np.where(np.isinf(bound), np.where(bound > 0, high, low), bound)
        # Not in NumPy, which rounds integers to compare them with floats.
        if not all(low <= number <= high for number in bound.ravel().tolist()):
            raise ValueError(
                f"{name} is {bound}; expected values of {self.dtype}, from {low} to {high}"
            )
        bound = bound.astype(self.dtype)
        bound.setflags(write=False)
        return bound.view()  # whose write flag cannot be set

    @property
    def num_values(self) -> NDArray[Any] | None:
        """How many values an integer spec allows: int64, of `shape`; None for other dtypes."""
        if not is_discrete(self):
            return None
        width = self.maximum.astype(np.int64) - self.minimum.astype(np.int64)
        return np.broadcast_to(width + 1, self.shape)

    @classmethod
    def from_array(cls, array: Any, name: str | None = None) -> BoundedArraySpec:
        """Returns the spec of `array` with its dtype's whole range as bounds."""
        return cls.from_spec(ArraySpec.from_array(array, name))

    @classmethod
    def from_spec(cls, spec: ArraySpec, name: str | None = None) -> BoundedArraySpec:
        """Returns `spec` with its bounds, or with its dtype's whole range if it has none."""
        return BoundedArraySpec(
            spec.shape,
            spec.dtype,
            getattr(spec, "minimum", None),
            getattr(spec, "maximum", None),
            spec.name if name is None else name,
        )

    def check_array(self, array: Any) -> bool:
        """Whether `array` has exactly this shape and dtype, and all its values are in bounds."""
        if not super().check_array(array):
            return False
        return bool(np.all((array >= self.minimum) & (array <= self.maximum)))

    def replace(  # type: ignore[override]  # TF-Agents' positional order
        self,
        shape: Iterable[int] | None = None,
        dtype: DTypeLike | None = None,
        minimum: ArrayLike | None = None,
        maximum: ArrayLike | None = None,
        name: str | None = None,
    ) -> BoundedArraySpec:
        bounds = {"minimum": minimum, "maximum": maximum}
        return _replaced(self, shape=shape, dtype=dtype, **bounds, name=name)

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


def _replaced(spec: SpecType, **changes: Any) -> SpecType:
    kept = {key: getattr(spec, key) for key, value in changes.items() if value is None}
    return type(spec)(**{**changes, **kept})


def _dtype_range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    if dtype.kind not in "iuf":
        raise TypeError(f"dtype is {dtype}; expected an integer, floating or boolean dtype")
    limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return np.asarray(limits.min, dtype).item(), np.asarray(limits.max, dtype).item()


def is_bounded(spec: ArraySpec) -> bool:
    """Whether `spec` has bounds."""
    return isinstance(spec, BoundedArraySpec)


def is_discrete(spec: ArraySpec) -> bool:
    """Whether `spec` holds integers."""
    return np.issubdtype(spec.dtype, np.integer)


def is_continuous(spec: ArraySpec) -> bool:
    """Whether `spec` holds floating-point numbers."""
    return np.issubdtype(spec.dtype, np.floating)


def value_range(spec: ArraySpec) -> tuple[float, float]:
    """Returns the smallest and the largest value that `spec` allows; infinity for no bound."""
    if not isinstance(spec, BoundedArraySpec):
        return -math.inf, math.inf
    low, high = float(spec.minimum.min()), float(spec.maximum.max())
    if is_continuous(spec):
        largest = float(np.finfo(spec.dtype).max)
        low, high = low if low > -largest else -math.inf, high if high < largest else math.inf
    return low, high
