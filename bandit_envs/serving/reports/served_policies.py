"""Sums over the decisions and the rewards of each policy that has been at work in a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.logged.files.served.decision_tables import PolicyRow
from bandit_envs.serving.reports.periods import Periods
from bandit_envs.serving.reports.report_rows import PolicyReport
from bandit_envs.serving.reports.summing import DecisionRows, RewardRows


class ServedPolicies:
    """Counts decisions and rewards by policy and period: arrays [M, P].

    A reward is of the policy that has made its decision.

    Args:
        periods: P periods.
        policies: M policies, in the order in which they were put to work.
    """

    def __init__(self, periods: Periods, policies: Sequence[PolicyRow]) -> None:
        self._periods = periods
        self._policies = policies
        self._starts = np.array([row.number for row in policies])
        self._are_tests = np.array([row.test is not None for row in policies])
        shape = (len(policies), periods.number)
        self._decisions = np.zeros(shape)
        self._rewards = np.zeros(shape)
        self._totals = np.zeros(shape)

    def add_decisions(self, rows: DecisionRows) -> None:
        """Takes in the next decisions."""
        self._decisions += self._count(rows.numbers, rows.times)

    def are_after_stop(self, rows: DecisionRows) -> Mask:
        """Returns which decisions saw the winner of a test alone, as the test had stopped: [n].

        While a test goes on, each variant has a share of the users.
        """
        return self._are_tests[self._find(rows.numbers)] & rows.are_certain

    def add_rewards(self, rows: RewardRows) -> None:
        """Takes in the next rewards."""
        self._rewards += self._count(rows.numbers, rows.times)
        self._totals += self._count(rows.numbers, rows.times, rows.rewards)

    def _count(self, numbers: Indices, times: Floats, weights: Floats | None = None) -> Floats:
        """Returns how many rows are of each policy in each period, or the sums of weights."""
        cells = self._find(numbers) * self._periods.number + self._periods.find(times)
        found = np.bincount(cells, weights, self._decisions.size)
        return np.asarray(found.reshape(self._decisions.shape), np.float64)

    def _find(self, numbers: Indices) -> Indices:
        """Returns which policies have made decisions."""
        return np.asarray(np.searchsorted(self._starts, numbers, side="right") - 1)

    def report(self, starts: Sequence[float]) -> list[PolicyReport]:
        """Returns what each policy has earned.

        Args:
            starts: when each was put to work.
        """
        totals = self._totals.sum(axis=1)
        rewards = self._rewards.sum(axis=1)
        means = _means(totals, rewards)
        by_period = _means(self._totals, self._rewards)
        return [
            PolicyReport(
                policy=row.policy,
                start=starts[place],
                decisions=int(self._decisions[place].sum()),
                rewards=int(rewards[place]),
                mean_reward=float(means[place]),
                decisions_by_period=self._decisions[place].astype(int).tolist(),
                rewards_by_period=self._rewards[place].astype(int).tolist(),
                means_by_period=by_period[place].tolist(),
            )
            for place, row in enumerate(self._policies)
        ]


def _means(totals: Floats, counts: Floats) -> Floats:
    """Returns totals by counts; NaN where there are none."""
    nothing = np.full(totals.shape, np.nan)
    return np.asarray(np.divide(totals, counts, out=nothing, where=counts > 0))
