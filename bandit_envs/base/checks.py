"""Checks of arguments.

Each returns its value, or raises TypeError for a wrong type and ValueError for a wrong value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import as_numbers
from bandit_envs.specs import ArraySpec, BoundedArraySpec

MAX_PARAMETER = 1e37
"""The largest parameter of a float32 draw, so that no draw overflows."""

MIN_STD = 1e-37
"""The smallest standard deviation of a policy's model, so that no precision overflows."""

MAX_REWARD = 1e100
"""The largest reward that a policy or metric accepts, so that no square or sum overflows."""

INTP, UINTP = np.dtype(np.intp), np.dtype(np.uintp)


def short_repr(value: Any) -> str:
    """Returns the `repr` of a value for a message: one line, cut to a readable length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 160 else f"{text[:157]}..."


def as_list(names: str | Sequence[str]) -> list[str]:
    """Returns one name, or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def check_bool(name: str, value: Any) -> bool:
    """Returns `value` as a bool; TypeError if it is something else."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {short_repr(value)}; expected a bool")
    return bool(value)


def check_integer(name: str, value: Any, minimum: int = -(2**63), maximum: int = 2**63 - 1) -> int:
    """Returns `value` as an int from `minimum` to `maximum`."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {short_repr(value)}; expected an integer") from None
    if not minimum <= integer <= maximum:
        expected = f"at least {minimum}" if integer < minimum else f"at most {maximum}"
        raise ValueError(f"{name} is {short_repr(integer)}; expected {expected}")
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
        raise TypeError(f"{name} is {short_repr(value)}; expected a number") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    if not minimum <= number <= maximum:
        expected = f"at least {minimum:g}" if number < minimum else f"at most {maximum:g}"
        raise ValueError(f"{name} is {number:g}; expected {expected}")
    return number


def check_positive(name: str, value: Any, minimum: float = 0.0, maximum: float = math.inf) -> float:
    """Returns `value` as a finite float above 0, from `minimum` to `maximum`."""
    number = check_number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name} is {number:g}; expected more than 0")
    return check_number(name, number, minimum, maximum)


def check_confidence(confidence: Any) -> float:
    """Returns a confidence above 0 and below 1."""
    level = check_number("confidence", confidence, 0.0, 1.0)
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence is {level:g}; expected a number above 0 and below 1")
    return level


def check_numbers(name: str, value: Any, ndim: int) -> NDArray[Any]:
    """Returns a copy of `value` as an array of real numbers with `ndim` dimensions."""
    array = np.array(as_numbers(f"{name} is", value))
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    return array


def check_parameters(**parameters: tuple[ArrayLike, float, float]) -> list[NDArray[Any]]:
    """Returns parameters, each given with its smallest and its largest value, as float64."""
    arrays: list[NDArray[Any]] = []
    for name, (value, low, high) in parameters.items():
        array = as_numbers(f"{name} is", value).astype(np.float64)
        if not ((array >= low) & (array <= high)).all():
            expected = f"All parameters should be floats in [{low:g}, {high:g}]."
            raise ValueError(f"{name} is {short_repr(value)}. {expected}")
        arrays.append(array)
        try:
            np.broadcast_shapes(*(a.shape for a in arrays))
        except ValueError:
            shapes = f"{array.shape}; expected one that fits {arrays[0].shape}"
            raise ValueError(f"{name} has shape {shapes}, of {next(iter(parameters))}") from None
    return arrays


def check_table(
    name: str, value: Any, ndim: int, low: float = -MAX_PARAMETER, high: float = MAX_PARAMETER
) -> NDArray[np.float64]:
    """Returns a float64 copy of an array of `ndim` dimensions, of numbers from `low` to `high`."""
    return check_parameters(**{name: (check_numbers(name, value, ndim), low, high)})[0]


def check_action(action: Any, spec: ArraySpec, batch_size: int) -> NDArray[Any]:
    """Returns an action as a new array [batch_size, ...].

    Integer specs take any integer dtype, and lists; the result is intp. Floating specs take finite
    numbers. With a batch of one, the batch dimension may be left out.
    """
    integers = spec.dtype.kind in "iu"
    array = as_numbers("action is", action, "iu" if integers else f"{spec.dtype.kind}iu")
    array = _with_rows(array, (batch_size, *spec.shape))
    bounded = spec if isinstance(spec, BoundedArraySpec) else BoundedArraySpec.from_spec(spec)
    low, high = bounded.minimum, bounded.maximum
    good = (array >= low) & (array <= high)
    _require("action", array, good, f"expected {low.min()} <= action <= {high.max()}")
    return array.astype(INTP if integers else spec.dtype)


def check_indices(
    action: Any, batch_size: int, num_actions: int, shape: tuple[int, ...] = ()
) -> NDArray[np.intp]:
    """Returns actions from 0 to `num_actions` - 1 as a new array [batch_size, *shape] of intp.

    This is `check_action` for what every step of most bandits calls. Slates are stored slot by
    slot, because operations on whole slots are fast.
    """
    array = as_numbers("action is", action, "iu")
    if array.shape != (batch_size, *shape):
        array = _with_rows(array, (batch_size, *shape))
    checked = array.astype(INTP, "F")
    if checked.size == 1:
        inside = 0 <= checked.item() < num_actions
    else:  # as unsigned numbers, negative ones are huge: one comparison finds both ends
        unsigned = checked.T.view(UINTP)
        inside = unsigned.item(unsigned.argmax()) < num_actions
    if not inside:
        good = (checked >= 0) & (checked < num_actions)
        _require("action", array, good, f"expected 0 <= action < {num_actions}")
    return checked


def check_available(action: NDArray[np.intp], available: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Returns `action` [B, ...]; ValueError if its row of `available` [B, K] does not allow it."""
    rows = np.arange(len(action)).reshape(-1, *(1,) * (action.ndim - 1))
    _require("action", action, available[rows, action], "expected one that is available in its row")
    return action


def check_rewards(
    reward: Any, batch_size: int, low: float = -MAX_REWARD, high: float = MAX_REWARD
) -> NDArray[Any]:
    """Returns `reward` as an array [batch_size] of numbers from `low` to `high`."""
    array = as_numbers("reward is", reward)
    if array.shape != (batch_size,):
        raise ValueError(f"reward has shape {array.shape}; expected {(batch_size,)}")
    # A sum of squares within the widest bounds proves all of them good. Where it overflows, `dot`
    # would warn, and `vdot` does not.
    proves = -low == high == MAX_REWARD and array.dtype.kind == "f"
    if not proves or not float(np.vdot(array, array)) < MAX_REWARD:
        floats = array.astype(np.float64, copy=False)
        good = (floats >= low) & (floats <= high)
        expected = f"expected a number from {low:g} to {high:g}"
        _require("reward", array, ~np.isnan(floats), expected)
        hint = "rescale rewards before a policy learns them; RescaleReward does so in environments"
        _require("reward", array, good, f"{expected}; {hint}")
    return array


def check_fields(state: Any, kind: type[Any], **types: type[Any]) -> Any:
    """Returns `state`; TypeError if it is not a `kind`, or a field is not of its type."""
    if type(state) is not kind:
        raise TypeError(f"found a {type(state).__name__}; expected a {kind.__name__}")
    for name, expected in types.items():
        if not isinstance(getattr(state, name), expected):
            raise TypeError(f"{name} is {getattr(state, name)!r}; expected a {expected.__name__}")
    return state


def _with_rows(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Returns an action of a `shape`, whose first dimension a batch of one may leave out."""
    if array.shape != shape and (shape[0] != 1 or array.shape != shape[1:]):
        hint = "" if array.shape[:1] == shape[:1] else ". Number of actions must match batch size."
        raise ValueError(f"action has shape {array.shape}; expected {shape}{hint}")
    return array.reshape(shape)


def _require(name: str, array: NDArray[Any], good: NDArray[np.bool_], expected: str) -> None:
    """Raises ValueError for the first entry of `array` that is not `good`."""
    if not good.all():
        index = tuple(np.argwhere(~good)[0])
        raise ValueError(f"{name}[{', '.join(map(str, index))}] is {array[index]}; {expected}")
