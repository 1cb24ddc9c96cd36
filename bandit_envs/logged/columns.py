"""Checks of the columns of logs. Errors name the column and the first bad row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import NUMBERS, Array, Floats, Mask, as_numbers
from bandit_envs.base.checks import MAX_REWARD

TOLERANCE = 1e-5  # of a sum of probabilities, which may be stored in single precision


class BadValueError(ValueError):
    """A value of a column that is not good.

    Args:
        name: of the column.
        value: which is not good.
        row: its number.
        expected: what good values are.
    """

    def __init__(self, name: str, value: object, row: int, expected: str) -> None:
        super().__init__(name, value, row, expected)
        self.name = name
        self.value = value
        self.row = row
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r} in row {self.row}; expected {self.expected}"


def as_column(
    name: str, value: ArrayLike, kinds: str = NUMBERS, dtype: DTypeLike = np.float64, ndim: int = 2
) -> NDArray[Any]:
    """Returns a read-only copy of a column whose dtype is of one of the `kinds`."""
    numbers = as_numbers(f"{name} is", value, kinds)
    array: NDArray[Any] = np.array(numbers, dtype)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    array.setflags(write=False)
    return array


def check_each(name: str, values: Array, is_good: Mask, expected: str, start: int = 0) -> Array:
    """Returns `values` [n, ...]; BadValueError for the first that is not good.

    Args:
        name: of the values, in the message.
        values: what is checked.
        is_good: which values are good, of the same shape.
        expected: what good values are, in the message.
        start: the number of the first row, in the message.
    """
    if not is_good.all():
        place = tuple(np.argwhere(~is_good)[0].tolist())
        raise BadValueError(name, values.item(place), start + place[0], expected)
    return values


def check_reward_range(name: str, values: Floats, start: int = 0) -> Floats:
    """Returns rewards [n, ...]; ValueError if a square or sum of them could overflow."""
    is_small = np.abs(values) <= MAX_REWARD
    return check_each(name, values, is_small, f"finite numbers of at most {MAX_REWARD:g}", start)


def check_distributions(name: str, table: Floats, start: int = 0) -> Floats:
    """Returns `table` [n, K]; ValueError for the first row that is not a distribution."""
    check_each(name, table, table >= 0.0, "at least 0", start)
    sums = table @ np.ones(table.shape[1])  # much faster than sum(axis=1)
    check_each(f"the sum of {name}", sums, np.abs(sums - 1.0) <= TOLERANCE, "1", start)
    return table
