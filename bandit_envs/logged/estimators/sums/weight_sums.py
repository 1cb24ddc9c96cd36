"""What the weights of an estimate say of a log."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.logged.intervals.blocks import BUCKETS, BlockSums, RowBlocks
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.logged.moments import merge_known
from bandit_envs.metrics.statistics import Statistics

LARGE_WEIGHT = 100.0
TINY = 1e-300  # in place of a sum of squares that is 0


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
        units: the sums in blocks of units of the mean weights, and of their excess if there is one;
            None if each row is a unit.
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
    units: BlockSums | None = None
    excess: Statistics | None = None

    @classmethod
    def from_weights(
        cls,
        weights: Floats,
        blocks: RowBlocks,
        expected_squares: Floats | None = None,
        counts: Floats | None = None,
    ) -> WeightSums:
        """Returns the sums of the weights of some rows.

        Args:
            weights: [S, n].
            blocks: to which the rows belong.
            expected_squares: [n], the expectations of the squares of weights; None if not known.
            counts: [n], how many decisions each row stands for; None for one.
        """
        means = weights[0] if len(weights) == 1 else weights.mean(axis=0)
        if counts is not None:
            return cls._from_counted(weights, means, blocks, counts)
        return cls(
            sums=weights.sum(axis=1),
            squares=np.einsum("sn,sn->s", weights, weights),
            largest=float(weights.max(initial=0.0)),
            num_large=int(np.count_nonzero(weights > LARGE_WEIGHT)),
            means=Statistics.from_values(means),
            tail=TailSums.from_values(means),
            expected_squares=None if expected_squares is None else float(expected_squares.sum()),
            units=BlockSums.from_columns(means[np.newaxis], blocks) if blocks.are_units else None,
        )

    @classmethod
    def _from_counted(
        cls, weights: Floats, means: Floats, blocks: RowBlocks, counts: Floats
    ) -> WeightSums:
        """Returns the sums of weights [S, n] of rows that count by [n], with their means [n]."""
        excess = counts * (means - 1.0)
        units = None
        if blocks.are_units:
            units = BlockSums.from_columns(np.vstack([counts * means, excess]), blocks)
        return dataclasses.replace(
            cls.from_weights(weights * counts, blocks),
            largest=float(weights.max(initial=0.0)),
            num_large=int(np.count_nonzero(weights > LARGE_WEIGHT)),
            units=units,
            excess=Statistics.from_values(excess),
        )

    def merge(self, other: WeightSums) -> WeightSums:
        """Returns the sums of the rows of both."""
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
            units=merge_known(self.units, other.units),
            excess=merge_known(self.excess, other.excess),
        )

    def mean_count(self) -> float:
        """Returns how many decisions a row stands for, on average."""
        return 1.0 if self.excess is None else float(self.means.mean - self.excess.mean)

    def mean_weight(self) -> tuple[float, float]:
        """Returns the mean weight, whose expectation is 1, and its standard error."""
        mean = float(self.means.mean)
        if self.excess is None:
            return mean, self._error_of(self.means)
        counts = self.mean_count()
        return mean / counts, self._error_of(self.excess) / counts

    def effective_rows(self) -> float:
        """Returns how many rows of equal weight would tell as much; the mean over the slots."""
        return float(np.mean(self.sums**2 / np.maximum(self.squares, TINY)))

    def effective_sample_size(self) -> float:
        """Returns how many rows of equal weight, each a unit, would tell as much.

            (sum_i w_i)^2 / max(sum_i w_i^2, sum_u W_u^2)

        where W_u is the sum of the weights of unit u; the sum of its squares is estimated by the
        sums of blocks of units.
        """
        if self.units is None:
            return self.effective_rows()
        weights = _squares_of_units(self.units.sums[:, 0])
        return float(np.mean(self.sums**2 / np.maximum(np.maximum(self.squares, weights), TINY)))

    def expected_sample_size(self) -> float | None:
        """Returns how many rows of equal weight logs of these contexts are worth; None if unknown.

            n / mean_i(sum_a pi(a | x_i)^2 / pi_b(a | x_i))

        It hardly depends on which actions were drawn, so luck does not make a log look better. Of
        units of n_u rows, sum_u n_u^2 - n is added to the sum over rows.
        """
        if self.expected_squares is None:
            return None
        size = self.means.count
        squares = self.expected_squares
        if self.units is not None:
            squares += max(0.0, _squares_of_units(self.units.counts) - size)
        return size**2 / max(squares, TINY)

    def _error_of(self, values: Statistics) -> float:
        """Returns the standard error of the mean of the weights, or of their excess."""
        squares = float(values.squared_deviation)
        if self.units is not None:
            squares = float(self.units.squares()[-1])  # of the excess, if there is one
        return math.sqrt(squares) / values.count

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


def _squares_of_units(sums: Array) -> float:
    """Returns an estimate of the sum of the squares of units, by their sums in blocks [4096].

    Units that share a block add the product of what they have, which is subtracted as expected.
    """
    total = float(sums.sum())
    squares = float((sums.astype(np.float64) ** 2).sum())
    return (squares - total**2 / BUCKETS) / (1.0 - 1.0 / BUCKETS)
