"""Sums of an estimate whose largest weights are smoothed, which merge over parts of a log."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.intervals.tails import KEPT, TailSums
from bandit_envs.logged.moments import Moments


@dataclasses.dataclass(frozen=True, eq=False)
class SmoothedSums:
    """The sums of an estimate of three columns, in which the tail of the weights is smoothed.

        mean(direct) + mean(weighted)    or, self-normalised,    mean(direct) + sum(w r) / sum(w)

    The columns are `direct`, `weighted` and the weights themselves. Which weights are smoothed, and
    how, follows from the largest weights of the whole log. So these rows are kept.

    Args:
        is_ratio: whether the estimate is self-normalised.
        moments: of the columns of all rows, before any weight is smoothed.
        largest: [3, T], the columns of the rows with the 10,000 largest weights, or of all rows.
    """

    is_ratio: bool
    moments: Moments
    largest: Floats

    @classmethod
    def from_columns(cls, columns: Floats, is_ratio: bool) -> SmoothedSums:
        """Returns the sums of n rows: [3, n]."""
        return cls(is_ratio, Moments.from_columns(columns), _keep_largest(columns))

    def merge(self, other: SmoothedSums) -> SmoothedSums:
        """Returns the sums of the rows of both."""
        largest = _keep_largest(np.concatenate([self.largest, other.largest], axis=1))
        return SmoothedSums(self.is_ratio, self.moments.merge(other.moments), largest)

    def value(self) -> float:
        """Returns the estimate."""
        return float(self.values_at(self._smoothed.means[:, np.newaxis])[0])

    def values_at(self, means: Floats) -> Floats:
        """Returns the estimates for means of the columns in m samples: [3, m]."""
        divisor = np.where(means[2] == 0.0, 1.0, means[2]) if self.is_ratio else 1.0
        return np.asarray(means[0] + means[1] / divisor)

    def squared_influence(self) -> float:
        """Returns the sum over rows of the squares of how far a row moves the estimate."""
        row = self._direction()[np.newaxis]
        return max(float(self._smoothed.transform(row).products[0, 0]), 0.0)

    def influence(self, columns: Floats) -> Floats:
        """Returns how far each of n rows moves the estimate, by the delta method: [n].

        Args:
            columns: [3, n], smoothed.
        """
        return np.asarray(self._direction() @ (columns - self._smoothed.means[:, np.newaxis]))

    def smooth(self, columns: Floats) -> Floats:
        """Returns columns [3, n] of rows of the log with smoothed weights."""
        tail, smoothed = self._tail
        found = columns.copy()
        if not len(tail):
            return found
        place = np.minimum(np.searchsorted(tail, columns[2]), len(tail) - 1)
        is_large = columns[2] == tail[place]
        factors = smoothed[place[is_large]] / columns[2, is_large]
        found[1:, is_large] *= factors
        return found

    @functools.cached_property
    def _tail(self) -> tuple[Floats, Floats]:
        """The weights that are smoothed, in ascending order, and what they become.

        Equal weights become the mean of what they would be one after the other.
        """
        fit = TailSums(round(self.moments.weight), self.largest[2]).fit()
        weights, places, counts = np.unique(fit.tail, return_inverse=True, return_counts=True)
        totals = np.bincount(places.reshape(-1), weights=fit.smoothed(), minlength=len(weights))
        return weights, totals / counts

    @functools.cached_property
    def _smoothed(self) -> Moments:
        """The moments of the columns with smoothed weights."""
        raw = self.moments.means[:, np.newaxis]
        before = self.largest - raw
        after = self.smooth(self.largest) - raw
        count = max(self.moments.weight, 1.0)
        shift = (after - before).sum(axis=1) / count
        products = self.moments.products + (after @ after.T - before @ before.T)
        products -= count * np.outer(shift, shift)
        return Moments(self.moments.weight, self.moments.means + shift, products)

    def _direction(self) -> Floats:
        """Returns the factors [3] by which the columns move the estimate."""
        if not self.is_ratio:
            return np.array([1.0, 1.0, 0.0])
        _, weighted, mean = self._smoothed.means
        divisor = mean if mean != 0.0 else math.inf
        return np.array([1.0, 1.0 / divisor, -weighted / divisor**2])


def _keep_largest(columns: Floats) -> Floats:
    """Returns the columns [3, T] of the rows with the largest weights."""
    if columns.shape[1] <= KEPT:
        return columns
    places = np.argpartition(columns[2], columns.shape[1] - KEPT)[-KEPT:]
    return np.asarray(columns[:, places])
