"""How heavy the tail of some values is, such as weights: the shape k of a Pareto distribution."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.rounding import is_rounding

KEPT = 10_000
"""How many of the largest values are kept. They are the tail of logs of up to 1.1e7 rows."""

MANY = 4 * KEPT
"""Of so many values, all are kept until they are merged."""

SHORTEST = 5  # values in a tail to which a distribution is fitted
BOUNDED = -1.0  # the shape of a tail that ends


@dataclasses.dataclass(frozen=True, eq=False)
class TailSums:
    """The largest of n values, which are at least 0; those of parts of a log merge.

    Args:
        size: n.
        largest: the 10,000 largest values, or more, or all, in no order.
    """

    size: int
    largest: Floats

    @classmethod
    def from_values(cls, values: Floats) -> TailSums:
        """Returns those of values [n]; negative ones count as 0."""
        # It takes time to find the largest of a batch. Most are left out when they are merged.
        kept = values if len(values) <= MANY else _largest(values)
        return cls(len(values), np.maximum(kept, 0.0))

    def merge(self, other: TailSums) -> TailSums:
        """Returns those of the values of both."""
        more = other.largest
        if len(self.largest) >= KEPT:
            more = more[more > self.largest.min()]
        largest = _largest(np.concatenate([self.largest, more]))
        return TailSums(self.size + other.size, largest)

    def shape(self) -> float:
        """Returns k, at least -1. Below 0.5, the variance is finite, and below 1 the mean.

        It is of the tail: min(n / 5, 3 sqrt(n)) values, or fewer.

        Values that are all equal, or whose largest is met again and again, have no tail: k is -1.
        A tail of fewer than five values is not known: k is infinite.

        Source: Zhang & Stephens, A new and efficient estimation method for the generalized Pareto
        distribution (2009); Vehtari et al., Pareto smoothed importance sampling (2024).
        """
        ordered = np.sort(_largest(self.largest))
        length = math.ceil(min(self.size / 5.0, 3.0 * math.sqrt(self.size)))
        length = min(length, len(ordered) - 1)
        if length < 1 or is_rounding(ordered[-1] - ordered[-1 - length], ordered[-1]):
            return BOUNDED
        cutoff = ordered[-1 - length]
        tail = ordered[ordered > cutoff]
        while len(tail) < min(SHORTEST, length):
            lower = ordered[ordered < cutoff]  # equal values made the tail shorter
            if not len(lower):
                break
            cutoff = lower[-1]
            tail = ordered[ordered > cutoff]
        if len(tail) < SHORTEST:
            return math.inf
        return max(_fit_shape(tail - cutoff), BOUNDED)


def _fit_shape(values: Floats) -> float:
    """Returns the shape of values above 0, in ascending order: [T]."""
    size = len(values)
    number = 30 + math.floor(math.sqrt(size))
    quartile = values[math.floor(size / 4 + 0.5) - 1]
    places = np.arange(1, number + 1)
    candidates = 1.0 / values[-1] + (1.0 - np.sqrt(number / (places - 0.5))) / (3.0 * quartile)
    shapes = np.log1p(-np.multiply.outer(candidates, values)).mean(axis=1)
    rates = np.full(number, 1.0 / values.mean())  # of candidates so near 0 that shapes are 0
    np.divide(-candidates, shapes, out=rates, where=shapes != 0.0)
    likelihoods = size * (np.log(rates) - shapes - 1.0)
    weights = np.exp(likelihoods - likelihoods.max())
    weights /= weights.sum()
    weights[weights < 10.0 * np.finfo(np.float64).eps] = 0.0
    weights /= weights.sum()
    best = float(weights @ candidates)
    shape = float(np.log1p(-best * values).mean())
    return (size * shape + 10.0 * 0.5) / (size + 10.0)  # as if of ten more values of shape 0.5


def _largest(values: Floats) -> Floats:
    """Returns the values [n] that are to be kept."""
    if len(values) <= KEPT:
        return np.asarray(values)
    return np.partition(values, len(values) - KEPT)[-KEPT:]
