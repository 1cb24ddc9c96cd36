"""Means and products of columns of numbers, which merge: over parts of a log, in any order."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from bandit_envs.arrays import Floats

Key = TypeVar("Key")


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
        return Moments(self.weight, matrix @ self.means, matrix @ self.products @ matrix.T)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments) or self.weight != other.weight:
            return False
        is_equal = np.array_equal(self.means, other.means)
        return is_equal and np.array_equal(self.products, other.products)


def add_moments(table: dict[Key, Moments], key: Key, part: Moments) -> None:
    """Adds the moments of more rows to those of a key in a table."""
    known = table.get(key)
    table[key] = part if known is None else known.merge(part)
