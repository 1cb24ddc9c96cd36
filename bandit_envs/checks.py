"""Checks of single arguments, so that every refusal names the argument and reads the same."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNSIGNED = {
    np.dtype(f"{order}{kind}{size}"): np.dtype(f"{order}u{size}")
    for order in "<>"
    for kind in "iu"
    for size in (1, 2, 4, 8)
}
"""Of every dtype of integers, the unsigned one of the same size and byte order."""


def checked_integer(name: str, value: Any, minimum: int) -> int:
    """Returns `value` as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is less than `minimum`.
    """
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; expected an integer") from None
    if integer < minimum:
        raise ValueError(f"{name} is {integer}; expected at least {minimum}")
    return integer


def checked_number(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """Returns `value` as a float.

    Raises:
        TypeError: it is not a number.
        ValueError: it is not finite, or not from `minimum` to `maximum`.
    """
    number = _number(name, value)
    if not minimum <= number <= maximum:
        expected = f"at least {minimum:g}" if maximum == math.inf else f"at most {maximum:g}"
        if math.isfinite(minimum) and math.isfinite(maximum):
            expected = f"a number from {minimum:g} to {maximum:g}"
        raise ValueError(f"{name} is {number:g}; expected {expected}")
    return number


def checked_positive(name: str, value: Any) -> float:
    """Returns `value` as a float.

    Raises:
        TypeError: it is not a number.
        ValueError: it is not finite, or not above 0.
    """
    number = _number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name} is {number:g}; expected more than 0")
    return number


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes, bool, np.bool_)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; expected a number") from None
    except OverflowError:
        raise ValueError(f"{name} is beyond all floats; expected a finite number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    return number


def checked_mask(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Returns `value` as an array.

    Raises:
        TypeError: it is not boolean.
        ValueError: it is not of `shape`.
    """
    mask = np.asarray(value)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} is {mask.dtype}: {value!r}; expected booleans")
    if mask.shape != shape:
        raise ValueError(f"{name} has shape {mask.shape}; expected {shape}")
    return mask


def checked_actions(action: Any, batch_size: int, num_actions: int) -> NDArray[np.intp]:
    """Returns `action` as an array [batch_size] that shares no memory with it.

    Raises:
        TypeError: it is not of integers.
        ValueError: it is not one integer for each row, or one is not from 0 to num_actions - 1.
    """
    try:
        array = np.asarray(action)
    except ValueError as error:
        raise ValueError(f"action is {action!r}; expected one integer for each row") from error
    if array.dtype.kind not in "iu":
        raise TypeError(f"action is {array.dtype}: {action!r}; expected integers")
    if array.shape != (batch_size,):
        if array.shape != () or batch_size != 1:
            raise ValueError(
                f"action has shape {array.shape}; expected {(batch_size,)}, one action for each row"
            )
        array = array.reshape(1)
    checked = array.astype(np.intp)
    if batch_size == 1:
        inside = 0 <= checked.item() < num_actions
    else:
        # As unsigned numbers, negative ones are huge: one comparison finds both ends.
        unsigned = array.view(UNSIGNED[array.dtype])
        inside = unsigned.item(unsigned.argmax()) < num_actions
    if not inside:
        row = int(np.flatnonzero((checked < 0) | (checked >= num_actions))[0])
        raise ValueError(f"action[{row}] is {array[row]}; expected 0 <= action < {num_actions}")
    return checked
