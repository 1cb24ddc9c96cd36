"""Checks of the columns of logs. Errors name the column and the first bad row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import NUMBERS, Array, Floats, as_numbers
from bandit_envs.base.checks import MAX_REWARD

TOLERANCE = 1e-5  # of a sum of probabilities, which may be stored in single precision


def as_column(
    name: str, value: ArrayLike, kinds: str = NUMBERS, dtype: DTypeLike = np.float64, ndim: int = 2
) -> NDArray[Any]:
    """Returns a read-only copy of a column whose dtype is of one of the `kinds`."""
    array: NDArray[Any] = np.array(as_numbers(f"{name} is", value, kinds), dtype)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    array.setflags(write=False)
    return array


def check_each(name: str, values: Array, good: Any, expected: str, start: int = 0) -> Array:
    """Returns `values` [n, ...]; ValueError for the first that is not good; rows from `start`."""
    if not good.all():
        row, *rest = map(int, np.argwhere(~good)[0])
        found = f"{name} is {values.item(row, *rest)!r} in row {start + row}"
        raise ValueError(f"{found}; expected {expected}")
    return values


def check_reward_range(name: str, values: Floats, start: int = 0, unknown: Any = False) -> Floats:
    """Returns rewards [n, ...] whose squares and sums cannot overflow, but for `unknown` ones."""
    good = (np.abs(values) <= MAX_REWARD) | unknown
    return check_each(name, values, good, f"finite numbers of at most {MAX_REWARD:g}", start)


def check_distributions(name: str, table: Floats, start: int = 0) -> Floats:
    """Returns `table` [n, K]; ValueError for the first row that is no probability distribution."""
    check_each(name, table, table >= 0.0, "at least 0", start)
    sums = table @ np.ones(table.shape[1])  # much faster than sum(axis=1)
    check_each(f"the sum of {name}", sums, np.abs(sums - 1.0) <= TOLERANCE, "1", start)
    return table
