"""Intervals of a mean whose rows are skewed or have heavy tails."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_confidence
from bandit_envs.logged.intervals.blocks import BlockSums, RowBlocks
from bandit_envs.logged.moments import HigherMoments, Moments
from bandit_envs.metrics.statistics import student_quantile
from bandit_envs.rounding import is_rounding

FEW_FREEDOM = 40.0  # degrees of freedom, below which the means of blocks are looked at
RANGE_BLOCKS = 8
RANGE_CONFIDENCE = 0.95  # of an interval that contains the range of the means of blocks
SYMMETRIC = 1e-9  # skewness, below which Hall's interval needs no correction


def normal_interval(value: float, standard_error: float, confidence: float) -> tuple[float, float]:
    """Returns the ends of the confidence interval of a normally distributed estimate."""
    level = check_confidence(confidence)
    radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * standard_error
    return value - radius, value + radius


def hull(*intervals: tuple[float, float]) -> tuple[float, float]:
    """Returns the smallest of the lower ends and the largest of the upper ends."""
    lows = [low for low, _ in intervals]
    highs = [high for _, high in intervals]
    return min(lows), max(highs)


@dataclasses.dataclass(frozen=True, eq=False)
class InfluenceSums:
    """The sums of n rows whose mean is an estimate; those of parts of a log merge.

    The values of the rows are the estimate plus how far each of them moves it: of a mean, what is
    averaged; of a ratio, the value by the delta method. Where rows belong to units, `of_units`
    returns those of blocks of units in place of rows; these do not merge.

    Args:
        moments: of the values, a single column.
        blocks: the sums of the values in blocks of rows, or of units.

    >>> gains = np.random.default_rng(0).lognormal(size=500) - 1.0
    >>> first = InfluenceSums.from_values(gains[:200])
    >>> rest = InfluenceSums.from_values(gains[200:], first_row=200)
    >>> low, high = first.merge(rest).interval()
    >>> bool(low < np.exp(0.5) - 1.0 < high)
    True
    """

    moments: HigherMoments
    blocks: BlockSums

    @classmethod
    def from_values(cls, values: Floats, first_row: int | Indices = 0) -> InfluenceSums:
        """Returns the sums of values [n].

        Args:
            values: of the rows.
            first_row: the number of the first row in the whole log, or the numbers of all rows, by
                which rows belong to blocks.
        """
        columns = np.asarray(values, np.float64)[np.newaxis]
        return cls.from_columns(columns, RowBlocks.of(first_row, columns.shape[1], None))

    @classmethod
    def from_columns(cls, columns: Floats, blocks: RowBlocks) -> InfluenceSums:
        """Returns the sums of values in a single column [1, n], whose rows are in some blocks."""
        return cls(HigherMoments.from_columns(columns), BlockSums.from_columns(columns, blocks))

    @classmethod
    def of_units(cls, value: float, influences: Floats, blocks: BlockSums) -> InfluenceSums:
        """Returns the sums of an estimate that blocks of units move.

        Args:
            value: of the estimate.
            influences: [m], of the blocks that have rows, as `BlockSums.leave_out` returns them.
            blocks: of units, the sums of the values of their rows.
        """
        found = HigherMoments.from_columns((influences - influences.mean())[np.newaxis])
        centre = Moments(found.moments.weight, np.array([value]), found.moments.products)
        return cls(HigherMoments(centre, found.thirds, found.fourths), blocks)

    def merge(self, other: InfluenceSums) -> InfluenceSums:
        """Returns the sums of the rows of both."""
        return InfluenceSums(self.moments.merge(other.moments), self.blocks.merge(other.blocks))

    @property
    def size(self) -> int:
        """The number of rows, n; or of blocks of units, m."""
        return int(self.moments.moments.weight)

    @property
    def value(self) -> float:
        """The mean."""
        return float(self.moments.moments.means[0])

    @functools.cached_property
    def standard_error(self) -> float:
        """The standard error of the mean of at least two rows."""
        return math.sqrt(self._squares / self.size / (self.size - 1))

    @functools.cached_property
    def skewness(self) -> float:
        """The third central moment over the second to the power 1.5; 0 if it is not known."""
        scale = math.sqrt(self._squares / self.size) ** 3 * self.size
        if scale == 0.0 or self._is_constant:
            return 0.0
        found = float(self.moments.thirds.item()) / scale
        return found if math.isfinite(found) else 0.0

    @property
    def kurtosis(self) -> float:
        """The fourth central moment over the square of the second; infinite if it is not known."""
        fourth = float(self.moments.fourths.item())
        scale = self._squares * self._squares / self.size
        if scale == 0.0 or self._is_constant:
            return math.inf
        is_known = math.isfinite(scale) and math.isfinite(fourth)
        return fourth / scale if is_known else math.inf

    @functools.cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the standard error, max(1, 2 n / (kurtosis - 1)).

        Of m blocks of units, they are at most m - 1.
        """
        most = self.size - 1.0 if self.blocks.are_units else math.inf
        excess = self.kurtosis - 1.0
        return min(most, max(1.0, 2.0 * self.size / excess)) if excess > 0.0 else most

    @property
    def few_rows_decide(self) -> bool:
        """Whether there are less than 40 degrees of freedom, so that tails are not known."""
        return self.freedom < FEW_FREEDOM

    @property
    def _squares(self) -> float:
        """The sum of the squared deviations from the mean."""
        return float(self.moments.moments.products[0, 0])

    @functools.cached_property
    def _is_constant(self) -> bool:
        """Whether the rows differ by rounding alone."""
        return bool(is_rounding(math.sqrt(self._squares / self.size), self.value))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of an interval that allows for skewed rows and heavy tails.

        It contains Student's interval with the degrees of freedom that the kurtosis leaves, and
        Hall's interval for skewed rows. Below 40 degrees of freedom, the range of the means of
        eight blocks of rows fades in: the fewer they are, the more it counts. It scales as
        Student's quantile does with the confidence. For rows that are distributed evenly, the
        interval is hardly wider than the normal one.

        Source: Satterthwaite, An approximate distribution of estimates of variance components
        (1946), for degrees of freedom by the variance of a variance; Hall, On the removal of
        skewness by transformation (1992).
        """
        level = check_confidence(confidence)
        if self._is_constant:
            return self.value, self.value
        quantile = student_quantile(level, self.freedom)
        skew = self.skewness / math.sqrt(self.size)
        below = self.standard_error * max(quantile, _invert_hall(quantile, skew))
        above = self.standard_error * max(quantile, _invert_hall(quantile, -skew))
        means = self.blocks.means(RANGE_BLOCKS) if self.few_rows_decide else None
        if means is not None:
            faded = self.freedom / FEW_FREEDOM
            scale = (1.0 - faded) * quantile / student_quantile(RANGE_CONFIDENCE, self.freedom)
            below = max(below, faded * below + scale * (self.value - float(means.min())))
            above = max(above, faded * above + scale * (float(means.max()) - self.value))
        return self.value - below, self.value + above


def _invert_hall(x: float, skew: float) -> float:
    """Returns t with t + skew t^2 / 3 + skew^2 t^3 / 27 + skew / 6 = x; skew is over sqrt(n)."""
    if abs(skew) < SYMMETRIC:
        return x
    return 3.0 / skew * (float(np.cbrt(1.0 + skew * (x - skew / 6.0))) - 1.0)
