"""Arrays: read-only views, conversion without silent loss, and the search for NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = "biuf"
"""The kinds of dtype that hold real numbers."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Returns a new view of `array` with its write flag off."""
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # by position, it takes a third of the time
    return view


def first_nan(values: NDArray[Any]) -> tuple[int, ...] | None:
    """Returns the index of the first NaN, or None."""
    if not values.size or values.dtype.kind != "f":
        return None
    place = values.argmax()  # for argmax, NaN is the largest number
    if not math.isnan(values.item(place)):
        return None
    return tuple(int(index) for index in np.unravel_index(place, values.shape))


def cast(name: str, values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns `values`, which `name` returned, as an array of `dtype`; floats may be rounded.

    Raises:
        TypeError: the values are not real numbers.
        ValueError: `dtype` cannot hold one of them.
    """
    array = np.asarray(values)
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} returned {array.dtype}; expected real numbers")
    if np.can_cast(array.dtype, dtype):
        return array.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(dtype)
    if dtype.kind == "f":
        if math.isfinite(np.vdot(converted, converted)):
            return converted
        lost = np.isinf(converted) & np.isfinite(array)
    else:
        lost = np.asarray(converted != array)
    if lost.any():
        raise ValueError(f"{name} returned {array[lost][0]}, which {dtype} cannot hold")
    return converted


def check_result(
    owner: str, hook: str, values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Returns what a hook returned as an array of `dtype` and `shape`, rows first.

    Raises:
        TypeError: the values are not real numbers.
        ValueError: they have another shape, one is NaN, or `dtype` cannot hold one.
    """
    array = values
    if type(values) is not np.ndarray or values.dtype != dtype:
        array = cast(f"{owner}.{hook}", values, dtype)
    if array.shape != shape:
        raise ValueError(f"{owner}.{hook} returned shape {array.shape}; expected {shape}")
    nan = first_nan(array)
    if nan is not None:
        raise ValueError(f"{owner}.{hook} returned NaN for row {nan[0]}")
    return array  # type: ignore[no-any-return]
