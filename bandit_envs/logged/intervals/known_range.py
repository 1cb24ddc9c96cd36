"""Intervals that hold for logs of any size, if the range of the rewards is known in advance."""

from __future__ import annotations

import dataclasses
import math

from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_REWARD, check_confidence, check_number, check_positive
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.logged.intervals.sequence_bounds import SeenValues, find_betting_end, place_bets

SLACK = 1e-6  # of the range, by which rounding may move rows beyond it


@dataclasses.dataclass(frozen=True)
class KnownRange:
    """The values that rows may have, which are known before the log is: not those in the log.

    Of a mean of weighted rewards, `of_weighted_rewards` returns it from the range of the rewards
    and a bound of the weights; of a doubly robust estimate, `of_corrections` does. They are wide if
    weights may be large: then `betting_interval` needs no bound of them.

    Args:
        low: the smallest possible value.
        high: the largest possible value.

    >>> import numpy as np
    >>> clicks = InfluenceSums.from_values(np.arange(400.0) % 4 == 0)
    >>> low, high = KnownRange(0.0, 1.0).hoeffding_interval(clicks)
    >>> round(low, 3), round(high, 3)
    (0.182, 0.318)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_number("low", self.low, -MAX_REWARD, MAX_REWARD)
        check_number("high", self.high, -MAX_REWARD, MAX_REWARD)
        if self.low >= self.high:
            raise ValueError(f"low is {self.low:g}, high {self.high:g}; expected low < high")

    @classmethod
    def of_weighted_rewards(cls, low: float, high: float, max_weight: float) -> KnownRange:
        """Returns the range of w r, of rewards from low to high and weights up to a bound.

        The smallest propensity that the logging policy may have bounds the weights.
        """
        bound = check_positive("max_weight", max_weight)
        known = cls(low, high)
        return cls(min(0.0, bound * known.low), max(0.0, bound * known.high))

    @classmethod
    def of_corrections(cls, low: float, high: float, max_weight: float) -> KnownRange:
        """Returns the range of sum_a pi(a | x) q(x, a) + w (r - q), if q is in that of rewards."""
        known = cls(low, high)
        reach = check_positive("max_weight", max_weight) * (known.high - known.low)
        return cls(known.low - reach, known.high + reach)

    def hoeffding_interval(
        self, rows: InfluenceSums, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Returns the ends of an interval of the mean of rows, by Hoeffding's inequality.

        Args:
            rows: of an estimate that is a mean, `estimate.sums.influence_sums()`.
            confidence: above 0 and below 1.

        Raises:
            ValueError: there is no row, or the rows cannot all be in the range.

        Source: Hoeffding, Probability inequalities for sums of bounded random variables (1963).
        """
        log_term = math.log(2.0 / (1.0 - check_confidence(confidence)))
        self._check_rows(rows, fewest=1)
        radius = (self.high - self.low) * math.sqrt(log_term / (2.0 * rows.size))
        return rows.value - radius, rows.value + radius

    def bernstein_interval(
        self, rows: InfluenceSums, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Returns the ends of an interval of the mean of rows, by the empirical Bernstein bound.

        It is narrower than `hoeffding_interval` if rows vary little for their range.

        Args:
            rows: at least two, as for `hoeffding_interval`.
            confidence: above 0 and below 1.

        Raises:
            ValueError: there are fewer rows, or they cannot all be in the range.

        Source: Maurer & Pontil, Empirical Bernstein bounds and sample variance penalization (2009).
        """
        log_term = math.log(4.0 / (1.0 - check_confidence(confidence)))
        self._check_rows(rows, fewest=2)
        radius = rows.standard_error * math.sqrt(2.0 * log_term)
        radius += 7.0 * (self.high - self.low) * log_term / (3.0 * (rows.size - 1))
        return rows.value - radius, rows.value + radius

    def _check_rows(self, rows: InfluenceSums, fewest: int) -> None:
        """Raises ValueError if there are too few rows, or some are out of the range.

        If all are in it, so is their mean m, and their variance is at most (high - m) (m - low).

        Source: Bhatia & Davis, A better bound on the variance (2000).
        """
        if rows.blocks.are_units:
            raise ValueError("rows are of units; the bound is for independent rows, without units")
        if rows.size < fewest:
            raise ValueError(f"rows has {rows.size} rows; expected at least {fewest}")
        width = self.high - self.low
        below = (rows.value - self.low) / width
        spread = 0.0 if rows.size < 2 else rows.standard_error / width
        variance = spread**2 * (rows.size - 1)
        if not -SLACK <= below <= 1.0 + SLACK or variance > below * (1.0 - below) + SLACK:
            found = f"a mean of {rows.value:g} and a standard error of {spread * width:.4g}"
            expected = f"rows from {self.low:g} to {self.high:g}, as low and high say"
            raise ValueError(f"{rows.size} rows have {found}; expected {expected}")


def betting_interval(
    weights: ArrayLike,
    rewards: ArrayLike,
    low: float = 0.0,
    high: float = 1.0,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Returns the ends of an interval of the mean of w r, by betting, for rewards of a known range.

    The weights need no bound; their mean must be 1. It is for a log of a fixed size; an
    `IPSConfidenceSequence` with `HedgedBetting` may be looked at after every row. The result
    depends a little on the order of the rows, which must not be chosen by what is in them. If the
    weights are wrong, its ends may come in the wrong order.

    Args:
        weights: [n], at least 0; ones for the mean of the rewards themselves.
        rewards: [n].
        low: the smallest possible reward.
        high: the largest possible reward.
        confidence: above 0 and below 1.

    Source: Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2024),
    section 4.4.

    >>> import numpy as np
    >>> clicks = np.arange(400) % 4 == 0
    >>> low, high = betting_interval(np.ones(400), clicks)
    >>> round(low, 3), round(high, 3)
    (0.195, 0.313)
    """
    log_term = math.log(2.0 / (1.0 - check_confidence(confidence)))
    known = KnownRange(low, high)
    factors = as_column("weights", weights, ndim=1)
    check_each("weights", factors, factors >= 0.0, "at least 0")
    check_reward_range("weights", factors)
    values = as_column("rewards", rewards, "bifu", ndim=1)
    if values.shape != factors.shape:
        raise ValueError(f"rewards have shape {values.shape}; expected {factors.shape}")
    is_known = (values >= known.low) & (values <= known.high)
    check_each("rewards", values, is_known, f"{low:g} to {high:g}, as low and high say")
    scaled = (values - known.low) / (known.high - known.low)
    lower = _bet(factors * scaled, log_term)
    upper = 1.0 - _bet(factors * (1.0 - scaled), log_term)
    width = known.high - known.low
    return known.low + lower * width, known.low + upper * width


def _bet(x: Floats, log_term: float) -> float:
    """Returns the lower end of the mean of values x [n]."""
    bets, _ = place_bets(SeenValues(), x, log_term, horizon=len(x))
    return find_betting_end(x, bets.sizes, log_term)
