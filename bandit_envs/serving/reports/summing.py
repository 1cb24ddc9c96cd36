"""Sums over the decisions and the rewards of a file, in the order in which they came."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.logged import IPSConfidenceSequence
from bandit_envs.logged.intervals.sequence_bounds import BernsteinSums, EmpiricalBernstein
from bandit_envs.serving.reports.periods import Periods

FALSE_ALARM = 0.001
"""With at most this probability, a report says that true probabilities are wrong."""


BOUND = EmpiricalBernstein()

WEIGHTS = 3.0
"""A large weight is about so many times the number of actions."""


class DecisionRows(NamedTuple):
    """Decisions in their order: arrays [n], and one [n, K]."""

    numbers: Indices
    times: Floats
    actions: Indices
    probabilities: Floats
    available: Mask
    has_others: Mask
    is_pending: Mask

    @property
    def are_certain(self) -> Mask:
        """Which had the probability 1, though there were other actions: [n]."""
        return (self.probabilities >= 1.0) & self.has_others


class RewardRows(NamedTuple):
    """Rewards in the order in which they came: arrays [n], and one [n, K].

    `numbers` are of the decisions.
    """

    numbers: Indices
    times: Floats
    actions: Indices
    probabilities: Floats
    available: Mask
    rewards: Floats


class DecisionSums:
    """Counts decisions and weights by period and action: arrays [P, K] or [P].

    The weight of a decision for action a is 1 / p where a was drawn with probability p, and 0
    elsewhere. Its mean is 1 over the decisions in which a could be drawn. Those after the stop of a
    test, in which its winner alone could be drawn, have no weights.

    Args:
        periods: P periods.
        num_actions: K.
        overdue_until: decisions up to this time do not wait for rewards any more.
    """

    def __init__(
        self, periods: Periods, num_actions: int, overdue_until: float = -math.inf
    ) -> None:
        self._periods = periods
        self._overdue_until = overdue_until
        shape = (periods.number, num_actions)
        self.chosen = np.zeros(shape)
        self.available = np.zeros(shape)
        self.weighed = np.zeros(shape)  # decisions that have weights
        self.weights = np.zeros(shape)
        self.variances = np.zeros(shape)  # of the sums of weights, without bias
        self.pending = np.zeros(periods.number)
        self.overdue = 0  # decisions past their timeout that no event of the file tells yet
        self.certain = 0  # decisions with probability 1, though there were others
        self.after_stop = 0  # of these, those after the stop of a test
        self.smallest = 1.0  # probability
        self._log_term = math.log(num_actions / FALSE_ALARM)
        self._bounds = [BernsteinSums() for _ in range(num_actions)]
        self.pending_times: list[Floats] = []

    def add(self, rows: DecisionRows, are_after_stop: Mask) -> None:
        """Takes in the next decisions, and which of them were after the stop of a test."""
        number, num_actions = self.chosen.shape
        places = self._periods.find(rows.times)
        cells = places * num_actions + rows.actions
        have_weights = ~are_after_stop
        inverse = have_weights / rows.probabilities

        def count(weights: Floats | None = None) -> Floats:
            found = np.bincount(cells, weights, number * num_actions)
            return np.asarray(found.reshape(number, num_actions), np.float64)

        self.chosen += count()
        self.weights += count(inverse)
        self.variances += count(inverse * (inverse - 1.0))
        for action in range(num_actions):
            is_available = rows.available[:, action]
            self.available[:, action] += np.bincount(places, is_available, number)
            is_weighed = is_available & have_weights
            self.weighed[:, action] += np.bincount(places, is_weighed, number)
            weights = np.where(rows.actions == action, inverse, 0.0)[is_weighed]
            if len(weights):
                known = self._bounds[action]
                self._bounds[action], _ = BOUND.add(known, weights, self._log_term, smallest=0.0)
        is_overdue = rows.times <= self._overdue_until
        self.overdue += int(np.sum(rows.is_pending & is_overdue))
        is_pending = rows.is_pending & ~is_overdue
        self.pending += np.bincount(places, is_pending, number)
        self.pending_times.append(rows.times[is_pending])
        self.certain += int(np.sum(rows.are_certain))
        self.after_stop += int(np.sum(are_after_stop))
        self.smallest = min(self.smallest, float(rows.probabilities.min()))

    def is_too_often(self, action: int) -> bool:
        """Returns whether an action was drawn more often than its probabilities can explain."""
        return self._bounds[action].end > 1.0


class RewardsByPeriod:
    """The rewards of each period, and the values of the actions at its end with intervals: [P, K].

    Args:
        periods: P periods.
        num_actions: K.
        usual_number: how many actions a decision usually offers.
        has_contexts: whether rewards are weighted by 1 / p.
        reward_range: of all rewards; None if it is not known.
        confidence: of intervals.
    """

    def __init__(
        self,
        periods: Periods,
        num_actions: int,
        *,
        usual_number: int,
        has_contexts: bool,
        reward_range: tuple[float, float] | None,
        confidence: float,
    ) -> None:
        self._periods = periods
        self._has_contexts = has_contexts
        self.count = np.zeros(periods.number)
        self.total = np.zeros(periods.number)
        self.by_action = np.zeros(num_actions)
        shape = (periods.number, num_actions)
        self.values = np.full(shape, np.nan)
        self.lows = np.full(shape, np.nan)  # of intervals
        self.highs = np.full(shape, np.nan)
        self._weights = np.zeros(num_actions)
        self._weighted = np.zeros(num_actions)  # sums of weighted rewards
        self._sequences: list[IPSConfidenceSequence] = []  # empty if no range is known
        if reward_range is not None:
            low, high = reward_range
            size = WEIGHTS * usual_number if has_contexts else 1.0
            self._sequences = [
                IPSConfidenceSequence(usual_weight=size, confidence=confidence, low=low, high=high)
                for _ in range(num_actions)
            ]
        self._period = 0

    def add(self, rows: RewardRows) -> None:
        """Takes in the next rewards."""
        places = self._periods.find(rows.times)
        number = self._periods.number
        self.count += np.bincount(places, minlength=number)
        self.total += np.bincount(places, rows.rewards, number)
        self.by_action += np.bincount(rows.actions, minlength=len(self._weights))
        for period in range(int(places[0]), int(places[-1]) + 1):
            self._note_until(period)
            start, stop = np.searchsorted(places, [period, period + 1])
            if start < stop:
                part = slice(start, stop)
                self._add_part(
                    is_chosen=rows.actions[part, np.newaxis] == np.arange(len(self._weights)),
                    inverse=1.0 / rows.probabilities[part],
                    available=rows.available[part],
                    rewards=rows.rewards[part],
                )

    def finish(self) -> None:
        """Keeps what is known at the end."""
        self._note_until(self._periods.number)

    def _note_until(self, period: int) -> None:
        """Keeps what is known at the ends of the periods before one."""
        for ended in range(self._period, period):
            for action in np.flatnonzero(self._weights).tolist():
                self.values[ended, action] = self._weighted[action] / self._weights[action]
                if self._sequences:
                    ends = self._sequences[action].interval
                    self.lows[ended, action] = ends[0]
                    self.highs[ended, action] = ends[1]
        self._period = max(self._period, period)

    def _add_part(self, is_chosen: Mask, inverse: Floats, available: Mask, rewards: Floats) -> None:
        """Takes in n rewards of one period.

        Args:
            is_chosen: [n, K], for which action each is.
            inverse: [n], 1 / p.
            available: [n, K].
            rewards: [n].
        """
        for action in range(len(self._weights)):
            chosen = is_chosen[:, action]
            is_used = available[:, action] if self._has_contexts else chosen
            weights = np.where(chosen, inverse if self._has_contexts else 1.0, 0.0)[is_used]
            used = rewards[is_used]
            self._weights[action] += weights.sum()
            self._weighted[action] += (weights * used).sum()
            if self._sequences and len(used):
                self._sequences[action].add(weights, used)


def divide(total: float, count: float) -> float:
    """Returns a total by a count; NaN if the count is 0."""
    return float(total / count) if count else math.nan
