"""What an evaluation has found, as a table, figures and files."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.evaluations.candidates import Candidate, name_candidate
from bandit_envs.evaluations.policy_sums import PolicySums, name_estimator
from bandit_envs.logged.estimators import Estimate
from bandit_envs.logged.summary import LogSummary
from bandit_envs.policies import Policy
from bandit_envs.studies.showing.tables import csv_rows, text_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ESTIMATES = "estimates.csv"
"""The file of the table."""


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
    pareto_k: float  # of weighted rewards, or errors; above 0.7, a few rows decide
    warnings: str  # reasons to distrust the estimate
    truth: float  # by the log's expected rewards; NaN if it has none


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """A policy that was evaluated, and the sums of its rows.

    Args:
        candidate: the policy.
        sums: of its rows.
        remarks: more reasons to distrust estimates, by the names of estimators.
    """

    candidate: Candidate
    sums: PolicySums
    remarks: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

    def truth(self) -> float:
        """Returns the mean expected reward, or NaN if the log does not know it."""
        means = self.sums.means
        return float(means.mean) if means.count else math.nan

    def estimates(self) -> Iterator[tuple[str, Estimate, list[str]]]:
        """Yields the names of the estimators, the estimates, and the reasons to distrust them."""
        for name, sums in self.sums.estimates.items():
            with warnings.catch_warnings(), name_candidate(self.candidate):
                warnings.simplefilter("ignore", UserWarning)
                with name_estimator(name, sums):
                    estimate = sums.estimate()
                    problems = sums.find_problems()
            problems.extend(self.remarks.get(name, ()))
            yield name, estimate, problems

    def rows(self, confidence: float) -> Iterator[EstimateRow]:
        """Yields the rows of the policy, one an estimator."""
        for name, estimate, problems in self.estimates():
            low, high = estimate.interval(confidence)
            yield EstimateRow(
                policy=self.candidate.name,
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
            )


class Evaluation:
    """What policies would have earned, estimated from a log; `evaluate` returns one.

    Args:
        evaluated: the policies, and the sums of their rows.
        summary: what the log holds.
        title: describes the log, with what is left out of it.
        confidence: the probability that an interval holds.
    """

    def __init__(
        self, evaluated: Sequence[Evaluated], summary: LogSummary, title: str, confidence: float
    ) -> None:
        self._evaluated = evaluated
        self.summary = summary  #: what the log holds
        self.title = title  #: describes the log, with what is left out of it
        self.confidence = confidence  #: the probability that an interval holds
        self.rows = [  #: the rows of `estimates`, as an `EstimateRow` each
            row for each in evaluated for row in each.rows(confidence)
        ]

    def __repr__(self) -> str:
        sizes = f"policies={len(self._evaluated)}, estimates={len(self.rows)}"
        return f"Evaluation({sizes}, log_rows={self.summary.size})"

    @property
    def estimates(self) -> DataFrame:
        """A row for each policy and estimator, with the columns of `EstimateRow`. Needs pandas."""
        frame = import_extra("pandas", "logged").DataFrame(self.rows, columns=EstimateRow._fields)
        found: DataFrame = frame
        return found

    @property
    def policies(self) -> dict[str, Policy]:
        """The policies as they were evaluated, by name: those that learn have learned."""
        return {each.candidate.name: each.candidate.policy for each in self._evaluated}

    @property
    def notes(self) -> list[str]:
        """Sentences that say from which rows policies have learned, and if estimates may be wrong.

        They are about policies that have learned, from this log or from another one.
        """
        names = [f"{each.name} {text}." for each in self._candidates for text in each.remarks]
        return [*self._notes_of_parts(), *self._notes_of_other_logs(), *names]

    def plot(self) -> Figure:
        """Returns a figure of the estimates with their intervals, beside the logged mean."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.figures import draw_estimates  # noqa: PLC0415

        values = {(row.policy, row.estimator): (row.value, row.low, row.high) for row in self.rows}
        return draw_estimates(values, float(self.summary.rewards.mean))

    def plot_weights(self) -> Figure:
        """Returns a figure of the weights of the rows, by policy."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.figures import draw_weights  # noqa: PLC0415

        return draw_weights({each.candidate.name: each.sums.weights for each in self._evaluated})

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the table and the figures to a folder, as the command does.

        The files are `estimates.csv`, `estimates.png` and `weights.png`. Older ones are replaced.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.studies.plots import to_image  # noqa: PLC0415

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        cells = [_to_cells(row) for row in self.rows]
        atomic_write(path / ESTIMATES, [csv_rows([EstimateRow._fields, *cells])])
        atomic_write(path / "estimates.png", [to_image(self.plot())])
        atomic_write(path / "weights.png", [to_image(self.plot_weights())])

    @property
    def _candidates(self) -> list[Candidate]:
        return [each.candidate for each in self._evaluated]

    def _notes_of_parts(self) -> Iterator[str]:
        """Yields which policies have learned from which rows of the log."""
        size = self.summary.size
        for start in sorted({each.start for each in self._candidates} - {0}):
            names = [each.name for each in self._candidates if each.start == start]
            learned = f"Learned from the first {start} rows, and frozen then: {', '.join(names)}"
            text = f"{learned}. They are evaluated on the other {size - start} rows"
            if any(each.start == 0 for each in self._candidates):
                text += f", and the other policies on all {size}"
            yield f"{text}."

    def _notes_of_other_logs(self) -> Iterator[str]:
        """Yields which policies may have learned from rows that they are evaluated on."""
        others = [each.name for each in self._candidates if each.is_of_another_log]
        unknown = [each.name for each in self._candidates if each.is_of_unknown_log]
        advice = "If it has rows of this one, estimates are too high."
        if others:
            yield f"Learned from another log: {', '.join(others)}. {advice}"
        if unknown:
            learned = f"Learned from a log that the file does not tell: {', '.join(unknown)}"
            yield f"{learned}. {advice}"


def _to_cells(row: EstimateRow) -> list[object]:
    """Returns a row of the file."""
    truth = "" if math.isnan(row.truth) else row.truth
    return [text_cell(row.policy), text_cell(row.estimator), *row[2:-1], truth]
