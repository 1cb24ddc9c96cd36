"""The sums of an estimate that is a mean, or that divides by means."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.intervals.blocks import BlockSums, RowBlocks
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.logged.moments import HigherMoments, Moments
from bandit_envs.metrics.statistics import Statistics

ROWS_IN_CACHE = 65_536  # of three columns
SMALLEST_MEAN = 1e-145  # of weights, whose squares are then above 1e-308 where they matter
FEW_SLOTS = 2  # whose columns have few products of four
CANCELLED = 1e-14  # of what is added up, below which nothing but rounding is left


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

    def standard_error(self) -> float:
        """Returns the standard error of the estimate."""
        size = self.totals.count
        return math.sqrt(float(self.totals.squared_deviation) / size / (size - 1))


@dataclasses.dataclass(frozen=True, eq=False)
class RatioSums:
    """The sums of an estimate of 1 + 2 S columns, which divides by the means of S of them.

        mean(direct) + sum_s mean(weighted_s) / mean(normaliser_s)

    Where rows belong to units, errors are those of a jackknife that leaves out each of 4096 blocks
    of units. Then a mean has such sums, too, with S = 0.

    Args:
        ratios: [S], mean(weighted_s) / mean(normaliser_s), or 0 if no row has a weight.
        moments: of the columns `direct`, `weighted_s - ratio_s normaliser_s` and `normaliser_s`.
            Those in the middle have mean 0, and lose no digits where the weighted rewards are
            nearly a multiple of the weights. Up to two slots, or more if asked, they go up to the
            fourth, unless rows belong to units.
        blocks: the sums of the same columns in blocks of rows, or of units.
    """

    ratios: Floats
    moments: Moments | HigherMoments
    blocks: BlockSums

    @classmethod
    def from_columns(
        cls, columns: Floats, blocks: RowBlocks, few_slots: int = FEW_SLOTS
    ) -> RatioSums:
        """Returns the sums of n rows: [1 + 2 S, n].

        Args:
            columns: of the rows.
            blocks: to which the rows belong.
            few_slots: up to so many slots, moments go up to the fourth.
        """
        starts = range(0, max(columns.shape[1], 1), ROWS_IN_CACHE)
        parts = [slice(start, start + ROWS_IN_CACHE) for start in starts]
        found = [cls._from_part(columns[:, rows], blocks.take(rows), few_slots) for rows in parts]
        return functools.reduce(cls.merge, found)

    @classmethod
    def _from_part(cls, columns: Floats, blocks: RowBlocks, few_slots: int) -> RatioSums:
        """Returns the sums of as many rows as the processor's cache holds."""
        _, weighted, normaliser = _split(columns)
        ratios = weighted.sum(axis=1) / _or_one(normaliser.sum(axis=1))
        centred = columns.copy()
        centred[1 : 1 + len(ratios)] -= ratios[:, np.newaxis] * normaliser
        needs_higher = len(ratios) <= few_slots and not blocks.are_units
        kind = HigherMoments if needs_higher else Moments
        return cls(ratios, kind.from_columns(centred), BlockSums.from_columns(centred, blocks))

    def merge(self, other: RatioSums) -> RatioSums:
        """Returns the sums of the rows of both."""
        pair = (self._moments, other._moments)
        weights = pair[0].weight * self.normalisers()
        other_weights = pair[1].weight * other.normalisers()
        shares = other_weights / _or_one(weights + other_weights)
        ratios = self.ratios + shares * (other.ratios - self.ratios)
        return self._at(ratios)._add(other._at(ratios))

    def value(self) -> float:
        """Returns the estimate; 0 if its parts cancel except for rounding, as of equal policies."""
        direct = float(self._moments.means[0])
        total = direct + float(self.ratios.sum())
        size = abs(direct) + float(np.abs(self.ratios).sum())
        return total if abs(total) > CANCELLED * size else 0.0

    @staticmethod
    def values_at(means: Floats) -> Floats:
        """Returns the estimates for means of the columns in m samples: [1 + 2 S, m]."""
        direct, weighted, normaliser = _split(means)
        return np.asarray(direct + (weighted / _or_one(normaliser)).sum(axis=0))

    def standard_error(self) -> float:
        """Returns the standard error of the estimate, by the delta method or by units.

        It is infinite if the weights are so small that their squares are rounded to 0, or if one
        block of units has all rows, or all weights.
        """
        if self._has_tiny_weights():
            return math.inf
        if self.blocks.are_units:
            return math.inf if self.influences is None else self.influences.standard_error
        size = self._moments.weight
        return math.sqrt(self._squares_of(self._direction()) / size / (size - 1.0))

    def standard_error_of(self, factors: Floats) -> float:
        """Returns the standard error of a sum of the ratios, by the delta method.

        Args:
            factors: [S], by which each of them counts.
        """
        if self._has_tiny_weights():
            return math.inf
        size = self._moments.weight
        slots = factors / _or_one(self.normalisers())
        row = np.concatenate([[0.0], slots, np.zeros_like(slots)])
        return math.sqrt(self._squares_of(row[np.newaxis]) / size / (size - 1.0))

    def compare_first(self) -> tuple[float, float]:
        """Returns by how much the first ratio exceeds the sum of the others, and the noise of that.

        The noise is that of rows which add W (R - V) - sum_s w_s (r_s - V_s), with the weights W
        and rewards R of the first ratio, and V the sum of the others: it is large where few rows
        have a weight W, even if these have equal rewards. Both are 0 if no row has one.
        """
        mean = float(self.normalisers()[0])
        if mean == 0.0:
            return 0.0, 0.0
        size = self._moments.weight
        others = self.ratios[1:]
        difference = float(self.ratios[0] - others.sum())
        row = np.concatenate([[0.0, 1.0], -np.ones_like(others), [difference], 0.0 * others])
        return difference, math.sqrt(self._squares_of(row[np.newaxis])) / size / mean

    def influence(self, columns: Floats) -> Floats:
        """Returns how far each of n rows moves the estimate, by the delta method: [n].

        direct - mean(direct) + sum_s (weighted_s - ratio_s normaliser_s) / mean(normaliser_s)
        """
        direct, weighted, normaliser = _split(columns)
        errors = weighted - self.ratios[:, np.newaxis] * normaliser
        change = (1.0 / _or_one(self.normalisers())) @ errors
        return np.asarray(change + (direct - self._moments.means[0]))

    @functools.cached_property
    def influences(self) -> InfluenceSums | None:
        """The sums of the influences about the value; None if the rows must be read again.

        They must be read again for ratios of many slots, and for weights whose squares are rounded
        to 0. By units, the sums are None only if the error is not known.
        """
        if self._has_tiny_weights():
            return None
        in_blocks = self.influences_in_blocks()
        cancels = self._cancels()
        shift = 0.0 if cancels else float(self.ratios.sum())
        sums = in_blocks.sums + shift * in_blocks.counts[:, np.newaxis]
        blocks = BlockSums(in_blocks.counts, sums)
        if self.blocks.are_units:
            influences = self.blocks.leave_out(len(self.ratios))
            if influences is None:
                return None
            influences = np.zeros_like(influences) if cancels else influences
            return InfluenceSums.of_units(self.value(), influences, blocks)
        if not isinstance(self.moments, HigherMoments):
            return None
        moments = self.moments.transform(self._direction())
        centre = Moments(moments.moments.weight, np.array([self.value()]), moments.moments.products)
        return InfluenceSums(HigherMoments(centre, moments.thirds, moments.fourths), blocks)

    def influences_in_blocks(self) -> BlockSums:
        """Returns by how much the rows of each block move the estimate, times the number of rows.

        It is by the delta method, and the influences of all rows add up to the direct part.
        """
        return self.blocks.transform(self._direction())

    def columns_of_units(self) -> tuple[Floats, Floats]:
        """Returns the sums of the columns in each block of units, and how many rows it has.

        The columns are those of `from_columns`: [1 + 2 S, 4096], and [4096].
        """
        direct, centred, normaliser = _split(self.blocks.sums.T)
        weighted = centred + self.ratios[:, np.newaxis] * normaliser
        columns = np.vstack([direct[np.newaxis], weighted, normaliser])
        return columns, np.asarray(self.blocks.counts, np.float64)

    @property
    def has_weights(self) -> bool:
        """Whether each ratio has a row with a weight."""
        return bool(self.normalisers().all())

    @property
    def _moments(self) -> Moments:
        """The moments up to the second."""
        return self.moments.moments if isinstance(self.moments, HigherMoments) else self.moments

    def normalisers(self) -> Floats:
        """Returns the means of the normalisers: [S]."""
        return self._moments.means[1 + len(self.ratios) :]

    def _has_tiny_weights(self) -> bool:
        """Whether weights are so small that their squares are rounded to 0."""
        normalisers = np.abs(self.normalisers())
        return bool(((normalisers > 0.0) & (normalisers < SMALLEST_MEAN)).any())

    def _squares_of(self, row: Floats) -> float:
        """Returns the sum of the squared deviations of `row` [1, 1 + 2 S] times the columns.

        It is over rows, or over blocks of units.
        """
        if self.blocks.are_units:
            return float(self.blocks.transform(row).squares()[0])
        return float(self._moments.transform(row).products[0, 0])

    def _direction(self) -> Floats:
        """Returns the factors of the columns, [1, 1 + 2 S], or zeros if the columns cancel."""
        row = self._factors()
        return np.zeros_like(row) if self._cancels() else row

    def _factors(self) -> Floats:
        """Returns by how much each column moves the estimate: [1, 1 + 2 S]."""
        factors = 1.0 / _or_one(self.normalisers())
        row = np.concatenate([[1.0], factors, np.zeros_like(factors)])
        return np.asarray(row[np.newaxis])

    def _cancels(self) -> bool:
        """Whether the columns cancel in each row except for rounding, as for two equal policies."""
        if self.value() != 0.0:
            return False
        row = self._factors()
        products = row.T * self._moments.products * row
        return bool(products.sum() <= CANCELLED * np.abs(products).sum())

    def _at(self, ratios: Floats) -> RatioSums:
        """Returns the sums of the columns for other ratios [S]."""
        size = len(self.ratios)
        slots = np.arange(1, 1 + size)
        matrix = np.eye(1 + 2 * size)
        matrix[slots, slots + size] = self.ratios - ratios
        return RatioSums(ratios, self.moments.transform(matrix), self.blocks.transform(matrix))

    def _add(self, other: RatioSums) -> RatioSums:
        """Returns the sums of the rows of both, which have the same ratios."""
        blocks = self.blocks.merge(other.blocks)
        if isinstance(self.moments, HigherMoments) and isinstance(other.moments, HigherMoments):
            return RatioSums(self.ratios, self.moments.merge(other.moments), blocks)
        return RatioSums(self.ratios, self._moments.merge(other._moments), blocks)


def free_columns(whole: Floats, rewards: Floats) -> Floats:
    """Returns the columns of a self-normalised estimate that assumes nothing of rewards: [3, n].

    It is mean(W R) / mean(W), of whole decisions: actions, or whole slates. An estimator that
    assumes takes other weights, which vary less, and estimates the same if what it assumes is true.

    Args:
        whole: [n], the weights W.
        rewards: [n], the rewards R.
    """
    return np.vstack([np.zeros_like(rewards), whole * rewards, whole])


def compared_columns(free: Floats, weights: Floats, rewards: Floats) -> Floats:
    """Returns the columns of that estimate, and of the one that assumes: [1 + 2 (1 + S), n].

    Args:
        free: [3, n], what `free_columns` returns.
        weights: [S, n], of each slot, by what is assumed.
        rewards: [S, n] or [n], of each slot.
    """
    return np.vstack([free[:2], weights * rewards, free[2:], weights])


def count_columns(columns: Floats, counts: Floats) -> Floats:
    """Returns the columns of an estimate from rows that stand for several decisions each.

    What the rows add is divided by the mean of the counts, in a slot of its own. The direct part of
    the estimate is in it, and its column is 0.

    Args:
        columns: [1 + 2 S, n], as if each row stood for one decision.
        counts: [n], how many decisions each row stands for.
    """
    direct, weighted, normaliser = _split(columns)
    nothing = np.zeros_like(direct)
    return np.vstack([nothing, direct * counts, weighted * counts, counts, normaliser * counts])


def _split(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the parts of columns [1 + 2 S, n]: [n], [S, n] and [S, n]."""
    size = len(columns) // 2
    return columns[0], columns[1 : 1 + size], columns[1 + size :]


def _or_one(values: Floats) -> Floats:
    """Returns `values`, with 1 in place of 0."""
    return np.where(values == 0.0, 1.0, values)
