"""What rows of a log say of a policy, and their sums, which merge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.evaluations.showing.weight_histogram import WeightHistogram
from bandit_envs.logged.estimators.estimate import EstimateSums
from bandit_envs.logged.estimators.sums.unlogged_actions import ActionSums
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.metrics.statistics import Statistics

MEAN = "mean"
"""The name of the estimator of the policy that made the log: the mean reward."""


FEWEST = 2
"""Rows, so that an estimate has an error."""


@dataclasses.dataclass(frozen=True)
class PolicySums:
    """What a policy would have done in some rows of a log. Those of parts merge.

    Args:
        estimates: the sums of the estimates, by the names of the estimators.
        gains: the sums of the gains over the baseline, by the names of the estimators; none of the
            baseline itself, and of rows that the baseline has seen.
        weights: the weights of the rows.
        means: the statistics of the expected rewards, if the log has them.
    """

    estimates: Mapping[str, EstimateSums]
    gains: Mapping[str, EstimateSums]
    weights: WeightHistogram
    means: Statistics

    def merge(self, other: PolicySums) -> PolicySums:
        """Returns the sums of the rows of both."""
        return PolicySums(
            estimates=_merge_named(self.estimates, other.estimates),
            gains=_merge_named(self.gains, other.gains),
            weights=self.weights.merge(other.weights),
            means=self.means.merge(other.means),
        )


Key: TypeAlias = tuple[str | None, int]
"""A segment, or None for all rows, and the place of a policy: 0 for the one that made the log."""

Found: TypeAlias = dict[Key, PolicySums]
"""Sums of policies by segment."""


def _merge_named(
    left: Mapping[str, EstimateSums], right: Mapping[str, EstimateSums]
) -> Mapping[str, EstimateSums]:
    """Returns the sums of the rows of both, by name; some may be of one of them only."""
    merged = dict(left)
    for name, sums in right.items():
        merged[name] = merged[name].merge(sums) if name in merged else sums
    return merged


@dataclasses.dataclass(frozen=True)
class PolicyRows:
    """What each of some rows of a log says of a policy.

    Args:
        estimates: the terms of the estimates, by the names of the estimators.
        gains: the terms of the gains over the baseline, of as many of the last rows as neither
            policy has seen.
        weights: of the rows.
        means: the expected rewards; empty if the log has none.
        numbers: of the rows, among all rows that the policy has not seen.
        action: [n], the logged actions.
        table: [n, K], the probabilities of the policy; None for the one that made the log.
    """

    estimates: Mapping[str, Terms]
    gains: Mapping[str, Terms]
    weights: Floats
    means: Floats
    numbers: Indices
    action: Indices
    table: Floats | None

    def sums(self) -> PolicySums:
        """Returns the sums over the rows."""
        return self._sum(Terms.sums)

    def sums_of_all(self) -> PolicySums:
        """Returns the sums over all rows of a log, or of a segment, as `Terms.sums_of_all` does."""
        return self._sum(Terms.sums_of_all)

    def _sum(self, sum_terms: Callable[[Terms, Indices], EstimateSums]) -> PolicySums:
        return PolicySums(
            estimates=self._sum_named(self.estimates, sum_terms),
            gains=self._sum_named(self.gains, sum_terms),
            weights=WeightHistogram.from_weights(self.weights),
            means=Statistics.from_values(self.means),
        )

    def take(self, rows: Indices) -> PolicyRows:
        """Returns what some of the rows say; `rows` are their indices, in ascending order."""
        action = self.action[rows]
        table = None if self.table is None else self.table[rows]
        gains = {}
        for name, terms in self.gains.items():
            shift = len(self.weights) - len(terms)
            gains[name] = _take_terms(terms, rows[rows >= shift] - shift)
        estimates = {}
        for name, terms in self.estimates.items():
            taken = _take_terms(terms, rows)
            if table is not None and terms.actions is not None:
                actions = ActionSums.from_rows(action, table, terms.actions.names)
                taken = dataclasses.replace(taken, actions=actions)
            estimates[name] = taken
        return PolicyRows(
            estimates=estimates,
            gains={name: terms for name, terms in gains.items() if len(terms)},
            weights=self.weights[rows],
            means=self.means[rows] if len(self.means) else self.means,
            numbers=self.numbers[rows],
            action=action,
            table=table,
        )

    def _sum_named(
        self,
        named: Mapping[str, Terms],
        sum_terms: Callable[[Terms, Indices], EstimateSums],
    ) -> Mapping[str, EstimateSums]:
        """Returns the sums of terms of all rows, or of the last ones, by name."""
        size = len(self.weights)
        return {
            name: sum_terms(terms, self.numbers[size - len(terms) :])
            for name, terms in named.items()
        }


def _take_terms(terms: Terms, rows: Indices) -> Terms:
    """Returns the terms of some rows."""
    values = {field.name: getattr(terms, field.name) for field in dataclasses.fields(terms)}
    arrays: dict[str, Any] = {
        name: value[..., rows] for name, value in values.items() if isinstance(value, np.ndarray)
    }
    return dataclasses.replace(terms, **arrays)
