"""What estimates are made of: sums over the rows of a log that merge, over parts in any order."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.logged.moments import Moments
from bandit_envs.metrics.statistics import Statistics

LARGE_WEIGHT = 100.0
TINY = 1e-300  # in place of a sum of squares that is 0


@dataclasses.dataclass(frozen=True)
class MeanSums:
    """The sums of an estimate that is the mean of one column, the totals of the rows.

    Args:
        totals: the statistics of the totals.
        lowest: of the totals.
        highest: of the totals.
    """

    totals: Statistics
    lowest: float
    highest: float

    @classmethod
    def from_columns(cls, columns: Floats) -> MeanSums:
        """Returns the sums of the totals of n rows: [1, n]."""
        totals = columns[0]
        lowest = float(totals.min(initial=math.inf))
        highest = float(totals.max(initial=-math.inf))
        return cls(Statistics.from_values(totals), lowest, highest)

    def merge(self, other: MeanSums) -> MeanSums:
        """Returns the sums of the rows of both."""
        lowest = min(self.lowest, other.lowest)
        highest = max(self.highest, other.highest)
        return MeanSums(self.totals.merge(other.totals), lowest, highest)

    def value(self) -> float:
        """Returns the estimate."""
        return float(self.totals.mean)

    @staticmethod
    def values_at(means: Floats) -> Floats:
        """Returns the estimates for means of the totals in m samples: [1, m]."""
        return np.asarray(means[0])

    def squared_influence(self) -> float:
        """Returns the sum over rows of the squares of how far a row moves the estimate."""
        return float(self.totals.squared_deviation)

    def influence(self, columns: Floats) -> Floats:
        """Returns how far each of n rows moves the estimate: [n]."""
        return np.asarray(columns[0] - self.totals.mean)


@dataclasses.dataclass(frozen=True)
class RatioSums:
    """The sums of an estimate of three columns: mean(direct) + mean(weighted) / mean(normaliser).

    Args:
        ratio: mean(weighted) / mean(normaliser), or 0 if no row has a weight.
        moments: of the columns `direct`, `weighted - ratio * normaliser` and `normaliser`. The
            second has mean 0, and loses no digits where the weighted rewards are nearly a multiple
            of the weights.
    """

    ratio: float
    moments: Moments

    @classmethod
    def from_columns(cls, columns: Floats) -> RatioSums:
        """Returns the sums of n rows: [3, n]."""
        direct, weighted, normaliser = columns
        ratio = float(weighted.sum()) / (float(normaliser.sum()) or 1.0)
        errors = weighted - ratio * normaliser
        return cls(ratio, Moments.from_columns(np.stack([direct, errors, normaliser])))

    def merge(self, other: RatioSums) -> RatioSums:
        """Returns the sums of the rows of both."""
        weight = self.moments.weight * self.moments.means[2]
        other_weight = other.moments.weight * other.moments.means[2]
        share = other_weight / ((weight + other_weight) or 1.0)
        ratio = float(self.ratio + share * (other.ratio - self.ratio))
        moments = self._moments_at(ratio).merge(other._moments_at(ratio))
        return RatioSums(ratio, moments)

    def value(self) -> float:
        """Returns the estimate."""
        return float(self.moments.means[0]) + self.ratio

    @staticmethod
    def values_at(means: Floats) -> Floats:
        """Returns the estimates for means of the columns in m samples: [3, m]."""
        direct, weighted, normaliser = means
        bottom = np.where(normaliser == 0.0, 1.0, normaliser)
        return np.asarray(direct + weighted / bottom)

    def squared_influence(self) -> float:
        """Returns the sum over rows of the squares of how far a row moves the estimate."""
        influence = self.moments.transform(np.array([[1.0, 1.0 / self._bottom(), 0.0]]))
        return float(influence.products[0, 0])

    def influence(self, columns: Floats) -> Floats:
        """Returns how far each of n rows moves the estimate, by the delta method: [n].

        direct - mean(direct) + (weighted - ratio normaliser) / mean(normaliser)
        """
        direct, weighted, normaliser = columns
        change = (weighted - self.ratio * normaliser) / self._bottom()
        return np.asarray(change + (direct - self.moments.means[0]))

    def _bottom(self) -> float:
        """Returns the mean of the normaliser, or 1 if no row has a weight."""
        return float(self.moments.means[2]) or 1.0

    def _moments_at(self, ratio: float) -> Moments:
        """Returns the moments of the columns for another ratio."""
        matrix = np.eye(3)
        matrix[1, 2] = self.ratio - ratio
        return self.moments.transform(matrix)


@dataclasses.dataclass(frozen=True)
class WeightSums:
    """What the weights of S slots say of a log; S is 1 but for slates.

    Args:
        sums: [S], of the weights.
        squares: [S], of the weights, summed.
        largest: weight.
        num_large: how many weights exceed 100.
        means: the statistics of the mean weight of a row's slots, whose expectation is 1.
    """

    sums: Floats
    squares: Floats
    largest: float
    num_large: int
    means: Statistics

    @classmethod
    def from_weights(cls, weights: Floats) -> WeightSums:
        """Returns the sums of weights [S, n]."""
        means = weights[0] if len(weights) == 1 else weights.mean(axis=0)
        return cls(
            sums=weights.sum(axis=1),
            squares=np.einsum("sn,sn->s", weights, weights),
            largest=float(weights.max(initial=0.0)),
            num_large=int(np.count_nonzero(weights > LARGE_WEIGHT)),
            means=Statistics.from_values(means),
        )

    def merge(self, other: WeightSums) -> WeightSums:
        """Returns the sums of the rows of both."""
        return WeightSums(
            sums=self.sums + other.sums,
            squares=self.squares + other.squares,
            largest=max(self.largest, other.largest),
            num_large=self.num_large + other.num_large,
            means=self.means.merge(other.means),
        )

    def effective_sample_size(self) -> float:
        """Returns how many rows of equal weight would tell as much; the mean over the slots."""
        return float(np.mean(self.sums**2 / np.maximum(self.squares, TINY)))

    def share_of_large(self) -> float:
        """Returns the share of the weights that exceed 100."""
        return self.num_large / (len(self.sums) * self.means.count)


@dataclasses.dataclass(frozen=True)
class ActionSums:
    """Which actions a log has, and a policy takes.

    Args:
        logged: [K], whether a row has the action.
        taken: [K], whether the policy takes it in some row; of actions that `logged` lacks.
    """

    logged: Mask
    taken: Mask

    def merge(self, other: ActionSums) -> ActionSums:
        """Returns the sums of the rows of both."""
        return ActionSums(self.logged | other.logged, self.taken | other.taken)

    def find_unlogged(self) -> list[int]:
        """Returns the actions that the policy takes and the log does not have."""
        places: list[int] = np.flatnonzero(self.taken & ~self.logged).tolist()
        return places
