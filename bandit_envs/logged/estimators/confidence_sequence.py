"""Confidence sequences: intervals that may be looked at after every row of a growing log."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import (
    MAX_REWARD,
    check_confidence,
    check_fields,
    check_number,
    check_positive,
)
from bandit_envs.base.state import Stateful
from bandit_envs.logged.columns import check_each
from bandit_envs.logged.estimators.problems import ROUNDING
from bandit_envs.logged.estimators.weighed_rows import weigh_rows
from bandit_envs.logged.intervals.sequence_bounds import EmpiricalBernstein, SequenceBound
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_equal_rows


class Bounds(NamedTuple):
    """The ends of the interval after each of n rows: arrays [n]."""

    lower: Floats
    upper: Floats


class _Sides(NamedTuple):
    """What is remembered for both ends: of the rewards, and of these mirrored in their range."""

    lower: Any
    upper: Any
    lower_end: float = -math.inf
    upper_end: float = -math.inf


class ConfidenceSequence(Stateful):
    """Intervals of a policy's value that are valid at all times at once.

    With the stated confidence, the value lies in *every* interval of the sequence. So you may look
    after each row, and stop when the interval is narrow enough; an interval for a fixed number of
    rows fails far more often if it is looked at repeatedly. Rows come in the order of time. The
    policy may depend on earlier rows, but not on the row that it is weighed on.

    A subclass says which values x_i, of rewards scaled to [0, 1], have the policy's value as their
    mean. The lower end is the largest bound of their mean so far, and the upper end is 1 less that
    of the values for the rewards 1 - r_i; each fails with probability (1 - confidence) / 2. If the
    weights are wrong, so that their mean is not 1, both ends may cross; there is a warning then.

    Args:
        confidence: of the whole sequence, above 0 and below 1.
        low: the smallest possible reward.
        high: the largest possible reward.
        bound: how the mean is bounded, by default with `EmpiricalBernstein()`. `HedgedBetting()` of
            `bandit_envs.logged.intervals` makes narrower intervals, and takes longer.

    Source: Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2024);
    Waudby-Smith et al., Anytime-valid off-policy inference for contextual bandits (2024).
    """

    _smallest_value = 0.0  # below all x_i, and at most 0
    _usual_value = 1.0  # a bet is at most half of what it has, so x_i far above it lose much

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        low: float = 0.0,
        high: float = 1.0,
        bound: SequenceBound | None = None,
    ) -> None:
        self._log_term = math.log(2.0 / (1.0 - check_confidence(confidence)))
        self._low = check_number("low", low, -MAX_REWARD, MAX_REWARD)
        self._high = check_number("high", high, -MAX_REWARD, MAX_REWARD)
        if self._low >= self._high:
            raise ValueError(f"low is {low:g} and high is {high:g}; expected low < high")
        self._bound = EmpiricalBernstein() if bound is None else bound
        self._state = _Sides(self._bound.initial(), self._bound.initial())

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval after the last row; the range of rewards before the first."""
        sides: _Sides = self._state
        lower, upper = self._unscale(np.array([sides.lower_end, 1.0 - sides.upper_end]))
        return float(lower), float(upper)

    def _extend(self, values: Floats, mirrored: Floats) -> Bounds:
        """Takes in x_i for the rewards and for the mirrored rewards, [n] each."""
        sides: _Sides = self._state
        scale = self._usual_value - self._smallest_value
        smallest = self._smallest_value / scale  # of scaled values, which are their mean less 1
        add = functools.partial(self._bound.add, log_term=self._log_term, smallest=smallest)
        lower, lower_bounds = add(sides.lower, values / scale)
        upper, upper_bounds = add(sides.upper, mirrored / scale)
        lower_ends = np.maximum(lower_bounds * scale, sides.lower_end)
        upper_ends = np.maximum(upper_bounds * scale, sides.upper_end)
        last = [float(ends[-1]) for ends in (lower_ends, upper_ends) if len(ends)]
        self._state = _Sides(lower, upper, *(last or sides[2:]))
        return Bounds(self._unscale(lower_ends), self._unscale(1.0 - upper_ends))

    def _warn_if_crossed(self) -> None:
        """Warns if no value of the policy fits all rows."""
        sides: _Sides = self._state
        if sides.lower_end + sides.upper_end > 1.0:
            text = "the ends of the confidence sequence have crossed: no value fits all rows"
            warnings.warn(f"{text}, so propensities may be wrong", stacklevel=3)

    def _scale(self, rewards: Floats) -> Floats:
        """Returns rewards on the scale on which their range is from 0 to 1."""
        return np.asarray((rewards - self._low) / (self._high - self._low))

    def _unscale(self, ends: Floats) -> Floats:
        """Returns ends of intervals on the scale of the rewards, within their range."""
        clipped = np.clip(ends, 0.0, 1.0)
        return np.asarray(self._low + clipped * (self._high - self._low))

    def _check_range(self, name: str, rewards: Floats) -> None:
        good = (rewards >= self._low) & (rewards <= self._high)
        check_each(name, rewards, good, f"{self._low:g} to {self._high:g}, the given range")

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Sides, lower_end=float, upper_end=float)
        self._bound.check(content.lower)
        self._bound.check(content.upper)


class IPSConfidenceSequence(ConfidenceSequence):
    """The confidence sequence of inverse propensity scoring: x_i = w_i r_i.

    The weights need no bound, but large ones make the interval wide.

    Args:
        usual_weight: about how large weights are, as it is known before the first row. Much larger
            ones make the interval wide in the beginning.
        confidence, low, high, bound: as for `ConfidenceSequence`.

    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> bounds = IPSConfidenceSequence().update(log, np.full((900, 2), 0.5))
    >>> bool(bounds.lower[-1] < log.reward.mean() < bounds.upper[-1])
    True
    """

    def __init__(
        self,
        *,
        usual_weight: float = 1.0,
        confidence: float = 0.95,
        low: float = 0.0,
        high: float = 1.0,
        bound: SequenceBound | None = None,
    ) -> None:
        super().__init__(confidence=confidence, low=low, high=high, bound=bound)
        self._usual_value = check_positive("usual_weight", usual_weight)

    def update(self, log: BanditLog, probabilities: ArrayLike) -> Bounds:
        """Takes in the next rows, in the order of time, and returns the interval after each.

        Args:
            log: the next n decisions.
            probabilities: [n, K], the policy's probabilities of all actions.

        Raises:
            ValueError: a reward is out of its range, or propensities are of a mixture of logging
                policies. The sequence stays as it was.
        """
        bounds = self.add(weigh_rows(_check_own(log), probabilities).weights, log.reward)
        self._warn_if_crossed()
        return bounds

    def add(self, weights: Floats, rewards: Floats) -> Bounds:
        """Takes in the weights and rewards [n] of the next rows, as `update` does.

        It does not warn: the ends of `interval` say whether they have crossed.
        """
        self._check_range("reward", rewards)
        scaled = self._scale(rewards)
        return self._extend(weights * scaled, weights * (1.0 - scaled))


class DRConfidenceSequence(ConfidenceSequence):
    """The doubly robust confidence sequence: x_i = sum_a pi(a | x_i) q(x_i, a) + w_i (r_i - q_i).

    It is narrower than that of inverse propensity scoring if the predictions q are good. They must
    lie in the range of the rewards, and must not have been fitted on the row that they predict, nor
    on later ones.

    If the log has all probabilities of the logging policy, weights need no bound: predictions are
    cut to max_weight / w(x, a) where this is less, on the scale on which rewards are from 0 to 1.

    Args:
        max_weight: the larger it is, the wider is the interval. If the log lacks probabilities, it
            must bound all weights w, and be known in advance: the smallest propensity bounds them.
        confidence, low, high, bound: as for `ConfidenceSequence`.
    """

    def __init__(
        self,
        max_weight: float,
        *,
        confidence: float = 0.95,
        low: float = 0.0,
        high: float = 1.0,
        bound: SequenceBound | None = None,
    ) -> None:
        super().__init__(confidence=confidence, low=low, high=high, bound=bound)
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
            ValueError: a reward or prediction is out of its range, a weight above its bound, or
                propensities are of a mixture of logging policies. The sequence stays as it was.
        """
        rows = weigh_rows(_check_own(log), probabilities, predicted_rewards)
        self._check_range("reward", log.reward)
        self._check_range("predicted_rewards", np.asarray(predicted_rewards))
        if log.action_probabilities is not None:
            bounds = self._extend(*self._cut(log, np.asarray(probabilities), predicted_rewards))
            self._warn_if_crossed()
            return bounds
        max_weight = -self._smallest_value
        good = rows.weights <= max_weight * (1.0 + ROUNDING)
        expected = f"at most max_weight, {max_weight:g}, as the log lacks action_probabilities"
        check_each("weight", rows.weights, good, expected)
        residual = rows.residual / (self._high - self._low)
        values = self._scale(rows.direct) + rows.weights * residual
        bounds = self._extend(values, 1.0 - values)
        self._warn_if_crossed()
        return bounds

    def _cut(
        self, log: BanditLog, policy: Floats, predicted_rewards: ArrayLike
    ) -> tuple[Floats, Floats]:
        """Returns x_i with predictions that are cut, for the rewards and the mirrored: [n] each."""
        table = np.asarray(log.action_probabilities, np.float64)
        with np.errstate(divide="ignore"):
            inverse = np.divide(table, policy, out=np.full(table.shape, np.inf), where=policy > 0.0)
        limits = -self._smallest_value * inverse  # max_weight / w(x, a)
        every = np.arange(len(log))
        weights = policy[every, log.action] / log.propensity
        predicted = self._scale(np.asarray(predicted_rewards, np.float64))
        rewards = self._scale(log.reward)
        found = []
        for reward, means in ((rewards, predicted), (1.0 - rewards, 1.0 - predicted)):
            cut = np.minimum(means, limits)
            direct = np.einsum("nk,nk->n", policy, cut)
            found.append(direct + weights * (reward - cut[every, log.action]))
        return found[0], found[1]


def _check_own(log: BanditLog) -> BanditLog:
    """Returns a log with each row's own propensities; ValueError for others, and for units.

    Weights by a mixture have the mean 1 over all rows, and not in each of them. A row of a unit
    says something of the next ones.
    """
    if log.unit is not None:
        found = "log has units, whose rows are not independent"
        raise ValueError(f"{found}; a confidence sequence holds for independent rows alone")
    if log.own_propensity is not None:
        found = "log has the propensities of a mixture of logging policies"
        raise ValueError(f"{found}; expected each row's own, with which a sequence always holds")
    return require_equal_rows(log, "a confidence sequence")
