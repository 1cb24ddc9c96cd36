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


NUMBERS = "biuf"
"""The kinds of dtype that hold real numbers."""

LARGEST = 1e37
"""The largest parameter of a float32 draw, so that no draw overflows."""

SMALLEST = 1e-37
"""The smallest standard deviation of a policy's model, so that no precision overflows."""


def checked_integer(name: str, value: Any, minimum: int) -> int:
    """Returns `value` as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is less than `minimum`.
    """
    integer = checked_index(name, value)
    if integer < minimum:
        raise ValueError(f"{name} is {integer}; expected at least {minimum}")
    return integer


def checked_index(name: str, value: Any) -> int:
    """Returns `value` as an int, of any size.

    Raises:
        TypeError: it is not an integer.
    """
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; expected an integer") from None


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
        expected = f"at least {minimum:g}" if number < minimum else f"at most {maximum:g}"
        if math.isfinite(minimum) and maximum < LARGEST:
            expected = f"a number from {minimum:g} to {maximum:g}"
        raise ValueError(f"{name} is {number:g}; expected {expected}")
    return number


def checked_positive(
    name: str, value: Any, minimum: float = 0.0, maximum: float = math.inf
) -> float:
    """Returns `value` as a float.

    Raises:
        TypeError: it is not a number.
        ValueError: it is not finite, not above 0, or not from `minimum` to `maximum`.
    """
    number = _number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name} is {number:g}; expected more than 0")
    return checked_number(name, number, minimum, maximum)


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


def checked_rewards(reward: Any, batch_size: int) -> NDArray[Any]:
    """Returns `reward` as an array [batch_size].

    Raises:
        TypeError: it is not of numbers.
        ValueError: it is not one number for each row, or one is not finite.
    """
    array = np.asarray(reward)
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"reward is {array.dtype}: {reward!r}; expected real numbers")
    if array.shape != (batch_size,):
        raise ValueError(f"reward has shape {array.shape}; expected {(batch_size,)}")
    finite = np.isfinite(array)
    if not finite.all():
        row = int(finite.argmin())
        raise ValueError(f"reward[{row}] is {array[row]}; expected a finite number")
    return array


def checked_numbers(name: str, value: Any, ndim: int) -> NDArray[Any]:
    """Returns a copy of `value` as an array of `ndim` dimensions, 1 or 2.

    Raises:
        TypeError: it does not consist of real numbers.
        ValueError: it has another number of dimensions, or rows of different lengths.
    """
    form = "a vector" if ndim == 1 else "a table"
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(f"{name} is {value!r}; expected {form}") from error
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} is {array.dtype}: {value!r}; expected real numbers")
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {form}")
    return array


def first_nan(values: NDArray[Any]) -> tuple[int, ...] | None:
    """Returns the index of the first NaN; None if there is none."""
    if values.dtype.kind != "f" or values.size == 0:
        return None
    # The sum of squares is NaN exactly if a value is, for squares of infinities do not cancel.
    if not math.isnan(np.vdot(values, values)):
        return None
    return tuple(int(index) for index in np.unravel_index(values.argmin(), values.shape))


def converted(
    name: str, values: NDArray[Any], dtype: np.dtype[Any], copy: bool = False
) -> NDArray[Any]:
    """Returns `values` in `dtype`, which may round them if it is a floating one.

    Args:
        name: of what returned them, for the message.
        values: of any shape.
        dtype: what to convert them to.
        copy: whether the result may not share memory with them.

    Raises:
        TypeError: they are not real numbers.
        ValueError: `dtype` does not hold one of them.
    """
    if values.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} returned {values.dtype}; expected real numbers")
    if np.can_cast(values.dtype, dtype):
        return values.astype(dtype, order="C", copy=copy)
    with np.errstate(over="ignore", invalid="ignore"):
        array = values.astype(dtype, order="C")
    lost = np.isinf(array) & np.isfinite(values) if dtype.kind == "f" else array != values
    if lost.any():
        raise ValueError(f"{name} returned {values[lost][0]}, which {dtype} does not hold")
    return array
