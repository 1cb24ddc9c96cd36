"""What estimates are made of: sums over the rows of a log that merge, over parts in any order."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.logged.intervals.blocks import BlockSums, number_rows
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.logged.moments import HigherMoments, Moments
from bandit_envs.metrics.statistics import Statistics

LARGE_WEIGHT = 100.0
ROWS_IN_CACHE = 65_536  # of three columns
SMALLEST_MEAN = 1e-145  # of weights, whose squares are then above 1e-308 where they matter
FEW_SLOTS = 2  # whose columns have few products of four
CANCELLED = 1e-14  # of what is added up, below which nothing but rounding is left
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


@dataclasses.dataclass(frozen=True, eq=False)
class RatioSums:
    """The sums of an estimate of 1 + 2 S columns, which divides by the means of S of them.

        mean(direct) + sum_s mean(weighted_s) / mean(normaliser_s)

    Args:
        ratios: [S], mean(weighted_s) / mean(normaliser_s), or 0 if no row has a weight.
        moments: of the columns `direct`, `weighted_s - ratio_s normaliser_s` and `normaliser_s`.
            Those in the middle have mean 0, and lose no digits where the weighted rewards are
            nearly a multiple of the weights. Up to two slots, or more if asked, they go up to the
            fourth.
        blocks: the sums of the same columns in blocks of rows.
    """

    ratios: Floats
    moments: Moments | HigherMoments
    blocks: BlockSums

    @classmethod
    def from_columns(
        cls, columns: Floats, first_row: int | Indices = 0, few_slots: int = FEW_SLOTS
    ) -> RatioSums:
        """Returns the sums of n rows: [1 + 2 S, n].

        Args:
            columns: of the rows.
            first_row: as for `Terms.sums`.
            few_slots: up to so many slots, moments go up to the fourth.
        """
        numbers = number_rows(first_row, columns.shape[1])
        starts = range(0, max(columns.shape[1], 1), ROWS_IN_CACHE)
        parts = [slice(start, start + ROWS_IN_CACHE) for start in starts]
        blocks = [cls._from_block(columns[:, rows], numbers[rows], few_slots) for rows in parts]
        return functools.reduce(cls.merge, blocks)

    @classmethod
    def _from_block(cls, columns: Floats, numbers: Indices, few_slots: int) -> RatioSums:
        """Returns the sums of as many rows as the processor's cache holds."""
        _, weighted, normaliser = _split(columns)
        ratios = weighted.sum(axis=1) / _or_one(normaliser.sum(axis=1))
        centred = columns.copy()
        centred[1 : 1 + len(ratios)] -= ratios[:, np.newaxis] * normaliser
        kind = HigherMoments if len(ratios) <= few_slots else Moments
        blocks = BlockSums.from_columns(centred, numbers)
        return cls(ratios, kind.from_columns(centred), blocks)

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

    def squared_influence(self) -> float:
        """Returns the sum over rows of the squares of how far a row moves the estimate.

        It is infinite if the weights are so small that their squares are rounded to 0.
        """
        if self._has_tiny_weights():
            return math.inf
        return float(self._moments.transform(self._direction()).products[0, 0])

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
        products = self._moments.transform(row[np.newaxis]).products
        return math.sqrt(float(products[0, 0]) / size / (size - 1.0))

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
        products = self._moments.transform(row[np.newaxis]).products
        return difference, math.sqrt(float(products[0, 0])) / size / mean

    def influence(self, columns: Floats) -> Floats:
        """Returns how far each of n rows moves the estimate, by the delta method: [n].

        direct - mean(direct) + sum_s (weighted_s - ratio_s normaliser_s) / mean(normaliser_s)
        """
        direct, weighted, normaliser = _split(columns)
        errors = weighted - self.ratios[:, np.newaxis] * normaliser
        change = (1.0 / _or_one(self.normalisers())) @ errors
        return np.asarray(change + (direct - self._moments.means[0]))

    def influence_sums(self) -> InfluenceSums | None:
        """Returns the sums of the influences about the value; None if the rows must be read again.

        These are ratios of many slots, and of weights whose squares are rounded to 0.
        """
        if not isinstance(self.moments, HigherMoments) or self._has_tiny_weights():
            return None
        direction = self._direction()
        moments = self.moments.transform(direction)
        shift = float(self.ratios.sum())
        centre = Moments(moments.moments.weight, np.array([self.value()]), moments.moments.products)
        blocks = self.blocks.transform(direction)
        sums = blocks.sums + shift * blocks.counts[:, np.newaxis]
        return InfluenceSums(
            HigherMoments(centre, moments.thirds, moments.fourths),
            BlockSums(blocks.counts, sums),
        )

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

    def _direction(self) -> Floats:
        """Returns the factors [1, 1 + 2 S] by which the columns move the estimate."""
        factors = 1.0 / _or_one(self.normalisers())
        row = np.concatenate([[1.0], factors, np.zeros_like(factors)])
        return np.asarray(row[np.newaxis])

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


@dataclasses.dataclass(frozen=True)
class WeightSums:
    """What the weights of S slots say of a log; S is 1 except for slates.

    Args:
        sums: [S], of the weights.
        squares: [S], of the weights, summed.
        largest: weight.
        num_large: how many weights exceed 100.
        means: the statistics of the mean weight of a row's slots, whose expectation is 1.
        tail: the largest of these mean weights.
        expected_squares: the sum over rows of the expected square of a weight, before the logging
            policy draws an action; None if the log has not all of its probabilities, or rows count
            more than once.
        excess: the statistics of the mean weight less 1, if rows count more than once; with the
            weights, these are counted. None if each counts once.
    """

    sums: Floats
    squares: Floats
    largest: float
    num_large: int
    means: Statistics
    tail: TailSums
    expected_squares: float | None = None
    excess: Statistics | None = None

    @classmethod
    def from_weights(
        cls,
        weights: Floats,
        expected_squares: Floats | None = None,
        counts: Floats | None = None,
    ) -> WeightSums:
        """Returns the sums of the weights of some rows.

        Args:
            weights: [S, n].
            expected_squares: [n], the expectations of the squares of weights; None if not known.
            counts: [n], how many decisions each row stands for; None for one.
        """
        means = weights[0] if len(weights) == 1 else weights.mean(axis=0)
        if counts is not None:
            excess = Statistics.from_values(counts * (means - 1.0))
            counted = cls.from_weights(weights * counts)
            largest = float(weights.max(initial=0.0))
            num_large = int(np.count_nonzero(weights > LARGE_WEIGHT))
            return dataclasses.replace(counted, largest=largest, num_large=num_large, excess=excess)
        return cls(
            sums=weights.sum(axis=1),
            squares=np.einsum("sn,sn->s", weights, weights),
            largest=float(weights.max(initial=0.0)),
            num_large=int(np.count_nonzero(weights > LARGE_WEIGHT)),
            means=Statistics.from_values(means),
            tail=TailSums.from_values(means),
            expected_squares=None if expected_squares is None else float(expected_squares.sum()),
        )

    def merge(self, other: WeightSums) -> WeightSums:
        """Returns the sums of the rows of both."""
        excess = None
        if self.excess is not None and other.excess is not None:
            excess = self.excess.merge(other.excess)
        expected = None
        if self.expected_squares is not None and other.expected_squares is not None:
            expected = self.expected_squares + other.expected_squares
        return WeightSums(
            sums=self.sums + other.sums,
            squares=self.squares + other.squares,
            largest=max(self.largest, other.largest),
            num_large=self.num_large + other.num_large,
            means=self.means.merge(other.means),
            tail=self.tail.merge(other.tail),
            expected_squares=expected,
            excess=excess,
        )

    def mean_weight(self) -> tuple[float, float]:
        """Returns the mean weight, whose expectation is 1, and its standard error."""
        mean = float(self.means.mean)
        if self.excess is None:
            return mean, math.sqrt(float(self.means.squared_deviation)) / self.means.count
        counts = mean - float(self.excess.mean)
        error = math.sqrt(float(self.excess.squared_deviation)) / self.excess.count
        return mean / counts, error / counts

    def effective_sample_size(self) -> float:
        """Returns how many rows of equal weight would tell as much; the mean over the slots."""
        return float(np.mean(self.sums**2 / np.maximum(self.squares, TINY)))

    def expected_sample_size(self) -> float | None:
        """Returns how many rows of equal weight logs of these contexts are worth; None if unknown.

            n / mean_i(sum_a pi(a | x_i)^2 / pi_b(a | x_i))

        It hardly depends on which actions were drawn, so luck does not make a log look better.
        """
        if self.expected_squares is None:
            return None
        return self.means.count**2 / max(self.expected_squares, TINY)

    def share_of_largest(self) -> float:
        """Returns the square of the largest mean weight of a row, as a share of all squares."""
        largest = float(self.tail.largest.max(initial=0.0))
        squares = (
            float(self.means.squared_deviation) + self.means.count * float(self.means.mean) ** 2
        )
        return largest**2 / max(squares, TINY)

    def share_of_large(self) -> float:
        """Returns the share of the weights that exceed 100."""
        return self.num_large / (len(self.sums) * self.means.count)


@dataclasses.dataclass(frozen=True)
class ActionSums:
    """Which actions a log has, and a policy takes.

    Args:
        logged: [K], whether a row has the action.
        taken: [K], whether the policy takes it in some row; of actions that `logged` lacks.
        names: of the actions; () if they are numbers.
    """

    logged: Mask
    taken: Mask
    names: Sequence[str] = ()

    @classmethod
    def from_rows(cls, action: Indices, table: Array, names: Sequence[str]) -> ActionSums:
        """Returns which actions rows have, and which of the others a policy takes in them.

        Args:
            action: [n], the logged actions.
            table: [n, K], the probabilities of the policy.
            names: of the actions; () if they are numbers.
        """
        num_actions = table.shape[1]
        logged = np.bincount(action, minlength=num_actions) > 0
        others = np.flatnonzero(~logged)
        taken = np.zeros(num_actions, np.bool_)
        taken[others] = table[:, others].any(axis=0)
        return cls(logged, taken, names)

    def merge(self, other: ActionSums) -> ActionSums:
        """Returns the sums of the rows of both; ValueError if their numbers of actions differ."""
        if len(self.logged) != len(other.logged):
            counts = [len(self.logged), len(other.logged)]
            raise ValueError(f"logs differ in their number of actions: {counts}")
        return ActionSums(self.logged | other.logged, self.taken | other.taken, self.names)

    def find_unlogged(self) -> list[int] | list[str]:
        """Returns the actions that the policy takes and the log does not have."""
        places: list[int] = np.flatnonzero(self.taken & ~self.logged).tolist()
        return [self.names[place] for place in places] if self.names else places
