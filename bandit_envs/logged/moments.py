"""Means and moments of columns of numbers, which merge: over parts of a log, in any order."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from bandit_envs.arrays import Floats

Key = TypeVar("Key")
AnySums = TypeVar("AnySums")
ROWS_IN_CACHE = 16_384  # of the products of pairs of some columns


def merge_known(left: AnySums, right: AnySums) -> AnySums:
    """Returns the sums of the rows of both; None if one of them is None, or their types differ."""
    known: Any = left
    merged: Any = None
    if known is not None and type(left) is type(right):
        merged = known.merge(right)
    found: AnySums = merged
    return found


@dataclasses.dataclass(frozen=True)
class Moments:
    """The total weight of some rows of d columns, the means, and the products of deviations.

    Args:
        weight: the sum of the weights of the rows; their number, if all weigh 1.
        means: [d], the weighted means.
        products: [d, d], the weighted sums of products of two columns' deviations from their means.

    Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance (1983).

    >>> whole = Moments.from_columns(np.array([[1.0, 2.0, 6.0]]))
    >>> parts = [Moments.from_columns(np.array([values])) for values in ([1.0, 2.0], [6.0])]
    >>> parts[0].merge(parts[1]) == whole, float(whole.products[0, 0])
    (True, 14.0)
    """

    weight: float
    means: Floats
    products: Floats

    @classmethod
    def from_columns(cls, columns: Floats, weights: Floats | None = None) -> Moments:
        """Returns the moments of columns [d, n] whose rows have weights [n], by default 1."""
        if weights is None:
            weight = float(columns.shape[1])
            means = columns.sum(axis=1) / max(weight, 1.0)
            deviations = columns - means[:, np.newaxis]
            return cls(weight, means, deviations @ deviations.T)
        weight = float(weights.sum())
        means = columns @ weights / (weight or 1.0)
        deviations = columns - means[:, np.newaxis]
        return cls(weight, means, (deviations * weights) @ deviations.T)

    def merge(self, other: Moments) -> Moments:
        """Returns the moments of the rows of both."""
        if not self.weight or not other.weight:
            return self if self.weight else other
        weight = self.weight + other.weight
        difference = other.means - self.means
        means = self.means + difference * (other.weight / weight)
        between = np.outer(difference, difference) * (self.weight * other.weight / weight)
        return Moments(weight, means, self.products + other.products + between)

    def transform(self, matrix: Floats) -> Moments:
        """Returns the moments of `matrix` [e, d] times the columns."""
        products = matrix @ self.products @ matrix.T
        squares = np.maximum(products.diagonal(), 0.0)  # of nothing, rounding makes less than 0
        np.fill_diagonal(products, squares)
        return Moments(self.weight, matrix @ self.means, products)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments) or self.weight != other.weight:
            return False
        is_equal = np.array_equal(self.means, other.means)
        return is_equal and np.array_equal(self.products, other.products)


@dataclasses.dataclass(frozen=True, eq=False)
class HigherMoments:
    """The moments of d columns up to the fourth, about their means. All rows weigh 1.

    Values beyond 1e77 have fourth powers that are too large for floats; they become infinite.

    Args:
        moments: the number of rows, the means, and the products of pairs of deviations.
        thirds: [d, d, d], the sums of products of three columns' deviations from their means.
        fourths: [d, d, d, d], those of four.

    Source: Pebay, Formulas for robust, one-pass parallel computation of covariances and
    arbitrary-order statistical moments (2008).
    """

    moments: Moments
    thirds: Floats
    fourths: Floats

    @classmethod
    def from_columns(cls, columns: Floats) -> HigherMoments:
        """Returns the moments of columns [d, n]."""
        number, size = columns.shape
        means = columns.sum(axis=1) / max(size, 1)
        left, right = np.triu_indices(number)
        products = np.zeros((number, number))
        thirds = np.zeros((len(left), number))
        fourths = np.zeros((len(left), len(left)))
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, size, ROWS_IN_CACHE):
                rows = slice(start, start + ROWS_IN_CACHE)
                deviations = columns[:, rows] - means[:, np.newaxis]
                pairs = deviations[left] * deviations[right]
                products += deviations @ deviations.T
                thirds += pairs @ deviations.T
                fourths += pairs @ pairs.T
        places = np.empty((number, number), np.intp)  # of the products of two columns
        places[left, right] = np.arange(len(left))
        places[right, left] = np.arange(len(left))
        moments = Moments(float(size), means, products)
        return cls(moments, thirds[places], fourths[places][:, :, places])

    def merge(self, other: HigherMoments) -> HigherMoments:
        """Returns the moments of the rows of both."""
        if not self.moments.weight or not other.moments.weight:
            return self if self.moments.weight else other
        moments = self.moments.merge(other.moments)
        parts = (self._about(moments.means), other._about(moments.means))
        with np.errstate(over="ignore", invalid="ignore"):
            thirds = parts[0][0] + parts[1][0]
            fourths = parts[0][1] + parts[1][1]
        return HigherMoments(moments, thirds, fourths)

    def transform(self, matrix: Floats) -> HigherMoments:
        """Returns the moments of `matrix` [e, d] times the columns."""
        thirds = self.thirds
        fourths = self.fourths
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(3):  # the first axis is summed over, and the new one is the last
                thirds = np.tensordot(thirds, matrix, axes=(0, 1))
            for _ in range(4):
                fourths = np.tensordot(fourths, matrix, axes=(0, 1))
        return HigherMoments(self.moments.transform(matrix), thirds, fourths)

    def _about(self, point: Floats) -> tuple[Floats, Floats]:
        """Returns the third and fourth moments about a point [d] instead of the means."""
        shift = self.moments.means - point
        count = self.moments.weight
        pair = np.multiply.outer(shift, shift)
        products = self.moments.products
        with np.errstate(over="ignore", invalid="ignore"):
            thirds = self.thirds + count * np.multiply.outer(pair, shift)
            one = np.multiply.outer(shift, products)
            thirds = thirds + sum(one.transpose(axes) for axes in _orders_of_axes(3, 1))
            fourths = self.fourths + count * np.multiply.outer(pair, pair)
            one = np.multiply.outer(shift, self.thirds)
            fourths = fourths + sum(one.transpose(axes) for axes in _orders_of_axes(4, 1))
            two = np.multiply.outer(pair, products)
            fourths = fourths + sum(two.transpose(axes) for axes in _orders_of_axes(4, 2))
        return thirds, fourths


@functools.cache
def _orders_of_axes(number: int, moved: int) -> list[list[int]]:
    """Returns the orders of axes that put the first ones, in their order, at all places.

    Args:
        number: of all axes.
        moved: how many are the first ones.

    >>> _orders_of_axes(3, 1)
    [[0, 1, 2], [1, 0, 2], [1, 2, 0]]
    """
    orders = []
    for places in itertools.combinations(range(number), moved):
        others = iter(range(moved, number))
        first = iter(range(moved))
        axes = [next(first) if place in places else next(others) for place in range(number)]
        orders.append(axes)
    return orders


def add_sums(table: dict[Key, AnySums], key: Key, part: AnySums) -> None:
    """Adds the sums of more rows to those of a key in a table."""
    table[key] = merge_known(table[key], part) if key in table else part


def merge_tables(left: Mapping[Key, AnySums], right: Mapping[Key, AnySums]) -> dict[Key, AnySums]:
    """Returns the sums of the rows of both tables, for each key of either."""
    merged = dict(left)
    for key, part in right.items():
        add_sums(merged, key, part)
    return merged
