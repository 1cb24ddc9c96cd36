"""Checks of single arguments, so that every refusal names the argument and reads the same."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


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


def checked_number(name: str, value: Any, minimum: float = -np.inf) -> float:
    """Returns `value` as a float.

    Raises:
        TypeError: it is not a number.
        ValueError: it is not finite, or less than `minimum`.
    """
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is {value!r}; expected a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; expected a number") from None
    if not np.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    if number < minimum:
        raise ValueError(f"{name} is {number}; expected at least {minimum:g}")
    return number
