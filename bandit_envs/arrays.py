"""Arrays: read-only views, and checks of what functions and hooks return.

`what` is the beginning of a message, such as "action is" or "reward_fn returned".
"""

from __future__ import annotations

import functools
import math
import reprlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Rng: TypeAlias = "np.random.Generator"

NUMBERS = "biuf"
"""The kinds of dtype that hold real numbers."""


def read_only(array: Array) -> Array:
    """Returns a new view of `array`, which becomes read-only itself.

    So does the array that owns its numbers: NumPy then refuses to set the write flag of any view.
    """
    array.setflags(False)  # type: ignore[call-arg]  # by position, it takes a third of the time
    if array.base is not None:
        view = array.view()
        view.base.setflags(False)  # type: ignore[union-attr, call-arg]
        return view
    return array.view()


def take_actions(values: Array, action: Indices) -> Array:
    """Returns the entries of `values` [B, K, ...] at each row's `action` [B] or [B, S]."""
    size, width, *rest = values.shape
    offsets = _row_offsets(size, width)
    places = action + (offsets if action.ndim == 1 else offsets[:, np.newaxis])
    if rest:
        return values.reshape(size * width, *rest).take(places, axis=0)
    return values.take(places, mode="wrap")


@functools.lru_cache(maxsize=32)
def _row_offsets(size: int, width: int) -> Indices:
    return read_only(np.arange(size) * width)


def sigmoid(scores: Array) -> Floats:
    """Returns 1 / (1 + exp(-scores)), without overflow or loss of the smallest values."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -scores)))


def as_numbers(what: str, value: Any, kinds: str = NUMBERS) -> NDArray[Any]:
    """Returns `value` as an array; TypeError if its dtype is not of one of the `kinds`."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{what} {reprlib.repr(value)}; expected an array of numbers") from error
    if array.dtype.kind not in kinds:
        expected = "integers" if kinds == "iu" else "real numbers"
        raise TypeError(f"{what} {array.dtype}: {reprlib.repr(value)}; expected {expected}")
    return array


def check_array(what: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Returns `array`; ValueError if it has another shape, or holds NaN."""
    if array.shape != shape:
        raise ValueError(f"{what} shape {array.shape}; expected {shape}")
    if array.dtype.kind == "f" and array.size:
        place = array.argmax() if array.size > 1 else 0  # for argmax, NaN is the largest number
        if math.isnan(array.item(place)):
            row, *entry = map(int, np.unravel_index(place, shape))
            raise ValueError(f"{what} NaN for row {row}" + (f", entry {entry}" if entry else ""))
    return array


def cast(what: str, values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns numbers as an array of `dtype`, rounding floats; ValueError if it cannot hold one."""
    array = as_numbers(what, values)
    if np.can_cast(array.dtype, dtype):
        return array.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(dtype)
    if dtype.kind != "f":
        lost = np.asarray(converted != array)
    elif math.isfinite(np.vdot(converted, converted)):
        return converted
    else:
        lost = np.isinf(converted) & np.isfinite(array)
    if lost.any():
        raise ValueError(f"{what} {array[lost][0]}, which {dtype} cannot hold")
    return converted


def check_result(what: str, values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Returns what a hook returned as an array of `dtype` and `shape` without NaN."""
    if type(values) is not np.ndarray or values.dtype is not dtype:
        if type(values) is np.ndarray and values.dtype == np.bool_ and values.shape == shape:
            return values.astype(dtype)  # rewards of 0 or 1 cannot be NaN
        values = cast(what, values, dtype)
    return check_array(what, values, shape)
