"""What is a difference, and what is rounding: where a spread is compared with zero.

The standard deviation of 300 numbers that are all 0.1 is 1.4e-17. Sums of the same numbers in
another order differ as little. Neither is a scale, or a difference between policies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Mask

ROUNDING = 1e-12
"""Numbers that differ by less than this share of their size differ by rounding alone."""


def is_rounding(spread: ArrayLike, size: ArrayLike) -> Mask:
    """Returns whether standard deviations or differences of numbers of some size are rounding.

    >>> bool(is_rounding(1.4e-17, 0.1)), bool(is_rounding(1e-9, 0.1))
    (True, False)
    """
    spreads = np.abs(spread)
    return np.asarray((spreads == 0.0) | (spreads < ROUNDING * np.abs(size)))


def is_constant(values: Array, axis: int | None = 0) -> Mask:
    """Returns whether the values along an axis, or all, are equal but for rounding."""
    numbers = np.asarray(values, np.float64)  # the mean of constants in float32 is far off
    is_same = np.ptp(numbers, axis=axis) == 0.0
    return np.asarray(is_same | is_rounding(numbers.std(axis), np.abs(numbers).max(axis)))


def spread_of(values: Array, axis: int | None = 0) -> Array:
    """Returns the standard deviations along an axis, or that of all; those of constants are 0.

    >>> constant = np.full(300, 0.1)
    >>> bool(constant.std() > 0.0), float(spread_of(constant))
    (True, 0.0)
    """
    stds = np.asarray(values.std(axis))
    return np.where(is_constant(values, axis), np.zeros_like(stds), stds)


def subtract(first: ArrayLike, second: ArrayLike) -> Floats:
    """Returns first - second, which is 0 where they differ by rounding alone.

    >>> float(subtract(0.1 + 0.2, 0.3)), float(subtract(0.5, 0.25))
    (0.0, 0.25)
    """
    differences = np.subtract(first, second)
    sizes = np.maximum(np.abs(first), np.abs(second))
    return np.where(is_rounding(differences, sizes), 0.0, differences)


def merge_ties(values: Floats, sizes: Floats | None = None) -> Floats:
    """Returns values [n], of which those that differ by rounding alone are equal.

    Args:
        values: the numbers.
        sizes: of the numbers that they were computed from, [n]; by default, their own.

    >>> merge_ties(np.array([0.3, 1.0, 0.1 + 0.2])).tolist()
    [0.3, 1.0, 0.3]
    """
    order = values.argsort(kind="stable")
    ordered = values[order]
    known = np.abs(ordered) if sizes is None else sizes[order]
    with np.errstate(invalid="ignore"):  # infinite values
        is_tie = is_rounding(np.diff(ordered), np.minimum(known[1:], known[:-1]))
    places = np.arange(len(values))
    places[1:][is_tie] = 0
    merged = np.empty_like(values)
    merged[order] = ordered[np.maximum.accumulate(places)]
    return merged
