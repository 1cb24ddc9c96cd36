"""Checks of arguments.

Each returns its value, or raises TypeError for a wrong type and ValueError for a wrong value; the
message names the argument, what was expected and what came.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import NUMBERS
from bandit_envs.specs import ArraySpec, BoundedArraySpec

MAX_PARAMETER = 1e37
"""The largest parameter of a float32 draw, so that no draw overflows."""

MIN_STD = 1e-37
"""The smallest standard deviation of a policy's model, so that no precision overflows."""

MAX_REWARD = 1e100
"""The largest reward that a policy or metric accepts, so that no square or sum overflows."""

INTP = np.dtype(np.intp)


def shown(value: Any, width: int = 160) -> str:
    """Returns the `repr` of a value for a message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 3]}..."


def check_integer(name: str, value: Any, minimum: int | None = None) -> int:
    """Returns `value` as an int of at most 64 bits, and at least `minimum`."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; expected an integer") from None
    if minimum is not None and integer < minimum:
        raise ValueError(f"{name} is {integer}; expected at least {minimum}")
    if abs(integer) >= 2**63:
        raise ValueError(f"{name} is {shown(integer)}; expected less than 2**63")
    return integer


def check_number(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """Returns `value` as a finite float from `minimum` to `maximum`."""
    try:
        if np.ndim(value) or np.asarray(value).dtype.kind not in "iufO":
            raise TypeError  # float() would take "1", True and numbers with an imaginary part
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(value)}; expected a number") from None
    except OverflowError:
        raise ValueError(f"{name} is beyond all floats; expected a finite number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    if not minimum <= number <= maximum:
        expected = f"at least {minimum:g}" if number < minimum else f"at most {maximum:g}"
        if math.isfinite(minimum) and maximum < MAX_PARAMETER:
            expected = f"a number from {minimum:g} to {maximum:g}"
        raise ValueError(f"{name} is {number:g}; expected {expected}")
    return number


def check_positive(name: str, value: Any, minimum: float = 0.0, maximum: float = math.inf) -> float:
    """Returns `value` as a finite float above 0, from `minimum` to `maximum`."""
    number = check_number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name} is {number:g}; expected more than 0")
    return check_number(name, number, minimum, maximum)


def check_numbers(name: str, value: Any, ndim: int) -> NDArray[Any]:
    """Returns a copy of `value` as an array of real numbers with `ndim` dimensions, 1 or 2."""
    form = "a vector" if ndim == 1 else "a table"
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(f"{name} is {shown(value)}; expected {form}") from error
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} is {array.dtype}: {shown(value)}; expected real numbers")
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {form}")
    return array


def check_float_dtype(dtype: Any) -> np.dtype[Any]:
    """Returns `dtype` as NumPy's float32 or float64."""
    try:
        found: np.dtype[Any] = np.dtype(object if dtype is None else dtype)
    except TypeError:
        raise TypeError(f"dtype is {shown(dtype)}; expected float32 or float64") from None
    if found not in (np.float32, np.float64):
        raise ValueError(f"dtype is {found}; expected float32 or float64")
    return found


def check_action(action: Any, spec: ArraySpec, batch_size: int) -> NDArray[Any]:
    """Returns an action as an array [batch_size, ...] that shares no memory with it.

    Integer specs take any integer dtype, and lists; the result is intp. Floating specs take finite
    numbers. With a batch of one, the batch dimension may be left out.
    """
    array = _array_of_actions(action, "iu" if spec.dtype.kind in "iu" else f"{spec.dtype.kind}iu")
    shape = (batch_size, *spec.shape)
    if array.shape != shape:
        if batch_size != 1 or array.shape != spec.shape:
            raise ValueError(f"action has shape {array.shape}; expected {shape}")
        array = array.reshape(shape)
    low, high = (
        (spec.minimum, spec.maximum) if isinstance(spec, BoundedArraySpec) else (-np.inf, np.inf)
    )
    bad = ~((array >= low) & (array <= high) & np.isfinite(array))
    if bad.any():
        index = tuple(map(int, np.argwhere(bad)[0]))
        place = ", ".join(map(str, index))
        raise ValueError(
            f"action[{place}] is {array[index]}; expected {np.min(low)} <= action <= {np.max(high)}"
        )
    return array.astype(INTP if spec.dtype.kind in "iu" else spec.dtype)


def check_indices(action: Any, batch_size: int, num_actions: int) -> NDArray[np.intp]:
    """Returns actions from 0 to `num_actions` - 1 as intp [batch_size], without shared memory.

    This is `check_action` for one integer a row, which every step of most bandits calls.
    """
    array = _array_of_actions(action, "iu")
    if array.shape != (batch_size,):
        if array.shape != () or batch_size != 1:
            raise ValueError(
                f"action has shape {array.shape}; expected {(batch_size,)}, one action a row"
            )
        array = array.reshape(1)
    checked = array.astype(INTP)
    if batch_size == 1:
        inside = 0 <= checked.item() < num_actions
    else:  # as unsigned numbers, negative ones are huge: one comparison finds both ends
        unsigned = checked.view(np.uintp)
        inside = unsigned.item(unsigned.argmax()) < num_actions
    if not inside:
        row = int(np.flatnonzero((checked < 0) | (checked >= num_actions))[0])
        raise ValueError(f"action[{row}] is {array[row]}; expected 0 <= action < {num_actions}")
    return checked


def _array_of_actions(action: Any, kinds: str) -> NDArray[Any]:
    try:
        array = np.asarray(action)
    except ValueError as error:
        raise ValueError(f"action is {shown(action)}; expected an array of numbers") from error
    if array.dtype.kind not in kinds:
        expected = "integers" if kinds == "iu" else "numbers"
        raise TypeError(f"action is {array.dtype}: {shown(action)}; expected {expected}")
    return array


def check_rewards(reward: Any, batch_size: int) -> NDArray[Any]:
    """Returns `reward` as an array [batch_size] of numbers of a size of at most 1e100."""
    array = np.asarray(reward)
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"reward is {array.dtype}: {shown(reward)}; expected real numbers")
    if array.shape != (batch_size,):
        raise ValueError(f"reward has shape {array.shape}; expected {(batch_size,)}")
    # A sum of squares within bounds proves all of them good.
    if array.dtype.kind != "f" or not float(np.vdot(array, array)) < MAX_REWARD:
        bad = ~(np.abs(array.astype(np.float64)) <= MAX_REWARD)
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"reward[{row}] is {array[row]}; expected a number of size {MAX_REWARD:g} or less"
            )
    return array
