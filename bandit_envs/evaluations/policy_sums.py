"""What policies would have done in parts of a log, as sums that merge."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.users_code import users_modules
from bandit_envs.evaluations.candidates import Candidate, name_candidate
from bandit_envs.evaluations.passes import LogPart
from bandit_envs.logged import BanditLog, Estimator, RewardSums
from bandit_envs.logged.estimators import EstimateSums
from bandit_envs.logged.estimators.weight_histogram import WeightHistogram
from bandit_envs.logged.probabilities import tabulate
from bandit_envs.logged.reward_models import CrossFittedRidge
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.studies.definition.choice import name_in_errors

Models: TypeAlias = Mapping[int, CrossFittedRidge]
"""Models of the rewards of the rows from a start on, by this start."""

FOLDS = 3  # of the models of rewards
SAMPLES = 100  # choices counted of a policy that does not know its probabilities


@dataclasses.dataclass(frozen=True)
class PolicySums:
    """What a policy would have done in some rows of a log. Those of parts merge.

    Args:
        estimates: the sums of the estimates, by the names of the estimators.
        weights: the weights of the rows.
        means: the statistics of the expected rewards, if the log has them.
    """

    estimates: Mapping[str, EstimateSums]
    weights: WeightHistogram
    means: Statistics

    def merge(self, other: PolicySums) -> PolicySums:
        """Returns the sums of the rows of both."""
        estimates = {
            name: sums.merge(other.estimates[name]) for name, sums in self.estimates.items()
        }
        weights = self.weights.merge(other.weights)
        return PolicySums(estimates, weights, self.means.merge(other.means))


def sum_rewards(starts: Sequence[int], part: LogPart) -> list[RewardSums]:
    """Returns the sums of models of the rewards in a part of a log, for the rows from each start.

    Folds count the rows from this start.
    """
    sums = [RewardSums(FOLDS, {})] * len(starts)
    for first_row, batch in part:
        for place, start in enumerate(starts):
            rows_before, rows = _rows_from(start, first_row, batch)
            if len(rows):
                sums[place] = sums[place].merge(RewardSums.from_log(rows, rows_before, FOLDS))
    return sums


def sum_policies(
    candidates: Sequence[Candidate],
    estimators: Mapping[str, Estimator],
    models: Models,
    part: LogPart,
) -> list[PolicySums | None]:
    """Returns the sums of policies in a part of a log; None if it has no row for a policy."""
    found: list[PolicySums | None] = [None] * len(candidates)
    for first_row, batch in part:
        predicted = {}
        for place, candidate in enumerate(candidates):
            start = candidate.start
            rows_before, rows = _rows_from(start, first_row, batch)
            if not len(rows):
                continue
            if start in models and start not in predicted:
                predicted[start] = models[start].predict(rows, rows_before)
            with name_candidate(candidate):
                sums = _sum_rows(candidate, estimators, rows, rows_before, predicted.get(start))
            known = found[place]
            found[place] = sums if known is None else known.merge(sums)
    return found


def _rows_from(start: int, first_row: int, batch: BanditLog) -> tuple[int, BanditLog]:
    """Returns the rows of a batch from a start on, and how many rows lie between both.

    Args:
        start: the number of a row of the log.
        first_row: the number of the first row of the batch.
        batch: of the log.
    """
    return max(first_row - start, 0), batch[max(start - first_row, 0) :]


def _sum_rows(
    candidate: Candidate,
    estimators: Mapping[str, Estimator],
    rows: BanditLog,
    rows_before: int,
    predicted: Floats | None,
) -> PolicySums:
    """Returns the sums of a policy in some rows.

    Args:
        candidate: the policy.
        estimators: by name.
        rows: a part of those that the policy has not seen.
        rows_before: how many rows that it has not seen are before this part.
        predicted: [n, K], rewards, if an estimator needs them.
    """
    policy = candidate.policy
    samples = None if policy.knows_probabilities else SAMPLES
    # The choices that are counted depend on the rows' place in the log, not on who reads them.
    table = tabulate(policy, rows, samples, seed=rows_before, first_row=rows_before)
    taken = table[np.arange(len(rows)), rows.action]
    values = np.zeros(0)
    if rows.expected_rewards is not None:
        # Those of actions that are not available may be infinite.
        means = np.where(table > 0.0, rows.expected_rewards, 0.0)
        values = (table * means).sum(axis=1)
    estimates = {}
    for name, estimator in estimators.items():
        with name_estimator(name, estimator):
            estimates[name] = estimator.sums(rows, table, predicted, rows_before)
    return PolicySums(
        estimates=estimates,
        weights=WeightHistogram.from_weights(taken / rows.propensity),
        means=Statistics.from_values(values),
    )


@contextlib.contextmanager
def name_estimator(name: str, made: object) -> Iterator[None]:
    """Names the estimator in errors.

    Args:
        name: of the estimator.
        made: the estimator, or sums of it.
    """
    with name_in_errors(f"estimator {name}", *users_modules(made)):
        yield
