"""What estimators say of policies, as rows of a table."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bandit_envs.evaluations.candidates import LOGGED, Candidate, name_candidate
from bandit_envs.evaluations.contest import name_estimator
from bandit_envs.evaluations.policy_sums import FEWEST, PolicySums
from bandit_envs.logged.estimators import Estimate
from bandit_envs.logged.estimators.estimate import EstimateSums
from bandit_envs.logged.estimators.gains import p_value_of
from bandit_envs.metrics.holm import holm
from bandit_envs.showing.who_wins import sign_of


class EstimateRow(NamedTuple):
    """What an estimator says of a policy: a row of `estimates.csv`."""

    policy: str
    estimator: str
    rows: int  # that the estimate is of
    value: float
    low: float
    high: float
    standard_error: float
    effective_sample_size: float
    max_weight: float
    share_of_large_weights: float
    pareto_k: float  # of weighted rewards, or errors; above 0.7, a few rows decide; -1 without tail
    warnings: str  # reasons to distrust the estimate
    truth: float  # by the log's expected rewards; NaN if it has none
    gain: float  # over the baseline, from the same rows; NaN of the baseline, as all that follows
    gain_low: float
    gain_high: float
    gain_standard_error: float
    gain_rows: int  # that the gain is of; 0 of the baseline
    p_value: float  # of a gain of 0, by Holm corrected for the number of comparisons


class Gain(NamedTuple):
    """How much more a policy earns than the baseline."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    standard_error: float = math.nan
    rows: int = 0
    p_value: float = math.nan


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """A policy that was evaluated, and the sums of its rows.

    Args:
        candidate: the policy; None for the one that made the log.
        sums: of the rows that it was evaluated on.
        remarks: more reasons to distrust estimates, by the names of estimators.
    """

    candidate: Candidate | None
    sums: PolicySums
    remarks: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the policy."""
        return LOGGED if self.candidate is None else self.candidate.name

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.sums.weights.size

    def truth(self) -> float:
        """Returns the mean expected reward, or NaN if the log does not know it."""
        means = self.sums.means
        return float(means.mean) if means.count else math.nan

    def gains(self, confidence: float) -> dict[str, Gain]:
        """Returns the gains over the baseline by estimator, of those with two rows or more.

        Their p-values are those of one comparison.
        """
        found = {}
        for name, sums in self.sums.gains.items():
            if sums.size >= FEWEST:
                gain, _ = self._estimate(name, sums)
                low, high = gain.interval(confidence)
                p_value = p_value_of(gain)
                found[name] = Gain(gain.value, low, high, gain.standard_error, sums.size, p_value)
        return found

    def rows(self, confidence: float, gains: Mapping[str, Gain]) -> Iterator[EstimateRow]:
        """Yields the rows of the policy, one an estimator.

        Args:
            confidence: the probability that an interval holds.
            gains: over the baseline, by estimator.
        """
        for name, sums in self.sums.estimates.items():
            estimate, problems = self._estimate(name, sums)
            problems.extend(self.remarks.get(name, ()))
            problems.extend([] if self.candidate is None else self.candidate.doubts)
            low, high = estimate.interval(confidence)
            gain = gains.get(name, Gain())
            yield EstimateRow(
                policy=self.name,
                estimator=name,
                rows=estimate.sums.size,
                value=estimate.value,
                low=low,
                high=high,
                standard_error=estimate.standard_error,
                effective_sample_size=estimate.effective_sample_size,
                max_weight=estimate.max_weight,
                share_of_large_weights=estimate.share_of_large_weights,
                pareto_k=estimate.pareto_k,
                warnings="; ".join(problems),
                truth=self.truth(),
                gain=gain.value,
                gain_low=gain.low,
                gain_high=gain.high,
                gain_standard_error=gain.standard_error,
                gain_rows=gain.rows,
                p_value=gain.p_value,
            )

    def _estimate(self, name: str, sums: EstimateSums) -> tuple[Estimate, list[str]]:
        """Returns the estimate of an estimator, and the reasons to distrust it."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", UserWarning)
            if self.candidate is not None:
                stack.enter_context(name_candidate(self.candidate))
            stack.enter_context(name_estimator(name, sums))
            return sums.estimate(), sums.find_problems()


def sign_of_gain(row: EstimateRow, confidence: float) -> int:
    """Returns 1 if a policy gains, -1 if it loses; 0 if its corrected p-value is too high."""
    return sign_of(row.gain, row.p_value, confidence) if has_weight(row) else 0


def has_weight(row: EstimateRow) -> bool:
    """Whether a policy does in some row what was logged; else the log cannot tell its gain."""
    return row.effective_sample_size != 0.0


def count_comparisons(rows: Iterable[EstimateRow]) -> int:
    """Returns for how many comparisons the p-values of rows are corrected; 0 without any."""
    counts = Counter(row.estimator for row in rows if row.gain_rows)
    return max(counts.values(), default=0)


def make_tables(parts: Sequence[Sequence[Evaluated]], confidence: float) -> list[list[EstimateRow]]:
    """Returns a table for each part of a log, with a row for each policy and estimator.

    Args:
        parts: the policies in each part.
        confidence: the probability that an interval holds.
    """
    gains = [[each.gains(confidence) for each in part] for part in parts]
    every = [gain for part in gains for gain in part]
    for name in dict.fromkeys(name for each in every for name in each):
        tested = [each for each in every if name in each]
        for each, p_value in zip(tested, holm([each[name].p_value for each in tested])):
            each[name] = each[name]._replace(p_value=p_value)
    return [
        [row for each, gain in zip(*pair) for row in each.rows(confidence, gain)]
        for pair in zip(parts, gains)
    ]
