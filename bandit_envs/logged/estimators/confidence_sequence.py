"""Confidence sequences: intervals that may be looked at after every row of a growing log."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_confidence, check_number, check_positive
from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.logged.columns import check_each
from bandit_envs.logged.estimators.estimate import ROUNDING
from bandit_envs.logged.estimators.single_actions import weigh_rows
from bandit_envs.logged.log import BanditLog

LARGEST_BET = 0.5


class Bounds(NamedTuple):
    """The ends of the interval after each of n rows: arrays [n]."""

    lower: Floats
    upper: Floats


class _Sums(NamedTuple):
    """What one side of the interval remembers of the values x_1, ..., x_t."""

    size: int = 0
    values: float = 0.0  # sum x_i
    deviations: float = 0.0  # sum (x_i - M_i)^2
    bets: float = 0.0  # sum l_i
    winnings: float = 0.0  # sum l_i x_i
    penalties: float = 0.0  # sum (x_i - m_{i-1})^2 psi(l_i)
    end: float = -math.inf  # the largest lower end so far


class _Sides(NamedTuple):
    """The sums of both ends: of the rewards, and of the rewards mirrored in their range."""

    lower: _Sums
    upper: _Sums


class ConfidenceSequence(Stateful):
    """Intervals of a policy's value that are valid at all times at once.

    With the stated confidence, the value lies in *every* interval of the sequence. So you may look
    after each row, and stop when the interval is narrow enough; an interval for a fixed number of
    rows fails far more often if it is looked at repeatedly. Rows come in the order of time. The
    policy may depend on earlier rows, but not on the row that it is weighed on.

    A subclass says which values x_i, of rewards scaled to [0, 1], have the policy's value as their
    mean. With a = (1 - confidence) / 2, the lower end is the largest of L_1, ..., L_t:

        L_t = (sum_i l_i x_i - log(1/a) - sum_i (x_i - m_{i-1})^2 psi(l_i)) / sum_i l_i
        psi(l) = -log(1 - l) - l
        l_t = min(1/2, sqrt(2 log(1/a) / (t log(1 + t) S_{t-1})))
        S_t = (1/4 + sum_{i <= t} (x_i - M_i)^2) / (t + 1)

    where m_t is the mean of x_1, ..., x_t, and M_t the mean of these and 1/2; both are at most 1.
    The upper end is 1 less the lower end for the rewards 1 - r_i.

    Args:
        confidence: of the whole sequence, above 0 and below 1.
        low: the smallest possible reward.
        high: the largest possible reward.

    Source: Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2024);
    Waudby-Smith et al., Anytime-valid off-policy inference for contextual bandits (2024).
    """

    _smallest_value = 0.0  # below all x_i, and at most 0

    def __init__(self, confidence: float = 0.95, low: float = 0.0, high: float = 1.0) -> None:
        self._log_term = math.log(2.0 / (1.0 - check_confidence(confidence)))
        self._low = check_number("low", low)
        self._high = check_number("high", high)
        if self._low >= self._high:
            raise ValueError(f"low is {low:g} and high is {high:g}; expected low < high")
        self._state = _Sides(_Sums(), _Sums())

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval after the last row; the range of rewards before the first."""
        sides: _Sides = self._state
        lower, upper = self._unscale(np.array([sides.lower.end, 1.0 - sides.upper.end]))
        return float(lower), float(upper)

    def _extend(self, values: Floats, mirrored: Floats) -> Bounds:
        """Takes in x_i for the rewards and for the mirrored rewards, [n] each."""
        lower, lower_ends = self._add(self._state.lower, values)
        upper, upper_ends = self._add(self._state.upper, mirrored)
        self._state = _Sides(lower, upper)
        return Bounds(self._unscale(lower_ends), self._unscale(1.0 - upper_ends))

    def _add(self, sums: _Sums, values: Floats) -> tuple[_Sums, Floats]:
        """Returns the sums with more values x [n], and the lower end after each: [n]."""
        scale = 1.0 - self._smallest_value  # so that a scaled x is at least its mean less 1
        x = values / scale
        largest_mean = 1.0 / scale
        count = sums.size + np.arange(1, len(x) + 1)
        total = _running(sums.values, x)
        mean_before = np.minimum(total[:-1] / np.maximum(count - 1, 1), largest_mean)
        shrunk_mean = np.minimum((0.5 + total[1:]) / (count + 1), largest_mean)
        deviations = _running(sums.deviations, (x - shrunk_mean) ** 2)
        variance_before = (0.25 + deviations[:-1]) / count
        bet = np.sqrt(2.0 * self._log_term / (count * np.log1p(count) * variance_before))
        bet = np.minimum(bet, LARGEST_BET)
        penalty = (x - mean_before) ** 2 * (-np.log1p(-bet) - bet)
        bets = _running(sums.bets, bet)
        winnings = _running(sums.winnings, bet * x)
        penalties = _running(sums.penalties, penalty)
        lower = (winnings[1:] - self._log_term - penalties[1:]) / bets[1:] * scale
        ends = np.maximum.accumulate(np.concatenate([[sums.end], lower]))
        after = _Sums(
            size=sums.size + len(x),
            values=float(total[-1]),
            deviations=float(deviations[-1]),
            bets=float(bets[-1]),
            winnings=float(winnings[-1]),
            penalties=float(penalties[-1]),
            end=float(ends[-1]),
        )
        return after, ends[1:]

    def _scale(self, rewards: Floats) -> Floats:
        """Returns rewards on the scale on which their range is from 0 to 1."""
        return np.asarray((rewards - self._low) / (self._high - self._low))

    def _unscale(self, ends: Floats) -> Floats:
        """Returns ends of intervals on the scale of the rewards, within their range."""
        clipped = np.clip(ends, 0.0, 1.0)
        return np.asarray(self._low + clipped * (self._high - self._low))

    def _check_range(self, name: str, rewards: Floats) -> None:
        good = (rewards >= self._low) & (rewards <= self._high)
        check_each(name, rewards, good, f"{self._low:g} to {self._high:g}, as low and high say")

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Sides, lower=_Sums, upper=_Sums)


class IPSConfidenceSequence(ConfidenceSequence):
    """The confidence sequence of inverse propensity scoring: x_i = w_i r_i.

    The weights need no bound, but large ones make the interval wide.

    Args:
        confidence, low, high: as for `ConfidenceSequence`.

    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> bounds = IPSConfidenceSequence().update(log, np.full((900, 2), 0.5))
    >>> bool(bounds.lower[-1] < log.reward.mean() < bounds.upper[-1])
    True
    """

    def update(self, log: BanditLog, probabilities: ArrayLike) -> Bounds:
        """Takes in the next rows, in the order of time, and returns the interval after each.

        Args:
            log: the next n decisions.
            probabilities: [n, K], the policy's probabilities of all actions.

        Raises:
            ValueError: a reward is out of its range. The sequence stays as it was.
        """
        rows = weigh_rows(log, probabilities)
        self._check_range("reward", log.reward)
        rewards = self._scale(log.reward)
        return self._extend(rows.weights * rewards, rows.weights * (1.0 - rewards))


class DRConfidenceSequence(ConfidenceSequence):
    """The doubly robust confidence sequence: x_i = sum_a pi(a | x_i) q(x_i, a) + w_i (r_i - q_i).

    It is narrower than that of inverse propensity scoring if the predictions q are good. They must
    lie in the range of the rewards, and must not have been fitted on the row that they predict, nor
    on later ones.

    Args:
        max_weight: a bound of all weights w, which must be known in advance: the smallest
            propensity bounds them. The larger it is, the wider is the interval.
        confidence, low, high: as for `ConfidenceSequence`.
    """

    def __init__(
        self, max_weight: float, confidence: float = 0.95, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(confidence, low, high)
        self._smallest_value = -check_positive("max_weight", max_weight)

    def update(
        self, log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike
    ) -> Bounds:
        """Takes in the next rows, in the order of time, and returns the interval after each.

        Args:
            log: the next n decisions.
            probabilities: [n, K], the policy's probabilities of all actions.
            predicted_rewards: [n, K], of all actions.

        Raises:
            ValueError: a reward or prediction is out of its range, or a weight above its bound.
                The sequence stays as it was.
        """
        rows = weigh_rows(log, probabilities, predicted_rewards)
        self._check_range("reward", log.reward)
        self._check_range("predicted_rewards", np.asarray(predicted_rewards))
        max_weight = -self._smallest_value
        good = rows.weights <= max_weight * (1.0 + ROUNDING)
        check_each("weight", rows.weights, good, f"at most max_weight, {max_weight:g}")
        residual = rows.residual / (self._high - self._low)
        values = self._scale(rows.direct) + rows.weights * residual
        return self._extend(values, 1.0 - values)


def _running(start: float, values: Floats) -> Floats:
    """Returns the sums of `start` and none, one, ..., all of n values: [n + 1]."""
    return np.cumsum(np.concatenate([[start], values]))
