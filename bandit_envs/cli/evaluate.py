"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bandit_envs.base.checks import check_confidence
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import OUT, RowProgress, new_table
from bandit_envs.cli.evaluation import Candidate, Evaluation, expand_policies
from bandit_envs.cli.logs import check_fraction, open_log
from bandit_envs.cli.studies import folder_of
from bandit_envs.logged import Estimator
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.logged.summary import LogSummary
from bandit_envs.studies.choice import Choice
from bandit_envs.studies.estimate_figures import estimates_figure, weights_figure
from bandit_envs.studies.tables import csv_rows

DEFAULT_ESTIMATORS = ("ips", "snips", "dr")


class EstimatorChoice(Choice[EstimatorEntry]):
    """An estimator."""

    entry_class = EstimatorEntry
    table = ESTIMATORS


class Row(NamedTuple):
    """A row of `estimates.csv`."""

    policy: str
    estimator: str
    rows: int
    value: float
    low: float
    high: float
    standard_error: float
    effective_sample_size: float
    max_weight: float
    share_of_large_weights: float
    warnings: str
    truth: float | str  # by the log's expected rewards, if it has them


def evaluate(options: argparse.Namespace) -> int:
    """Estimates what policies would have earned; writes and shows a table and figures."""
    folder = _output_folder(options)
    confidence = check_confidence(options.confidence)
    choices = [each for spec in options.policy for each in expand_policies(spec)]
    with RowProgress() as progress:
        log = open_log(options, progress)
        evaluation = Evaluation(
            batches=log.batches,
            summary=log.summary,
            choices=choices,
            estimators=_make_estimators(options),
            train_fraction=check_fraction(options.train_fraction),
        )
        candidates = evaluation.run()
    found = [row for each in candidates for row in _make_rows(each, confidence)]
    _write(folder, found, candidates, log.summary)
    _show(found, log.title, confidence)
    _explain_parts(candidates, log.summary.size)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    return 0


def _make_estimators(options: argparse.Namespace) -> dict[str, Estimator]:
    """Returns the estimators that the user has chosen, by name."""
    estimators: dict[str, Estimator] = {}
    for spec in options.estimator or DEFAULT_ESTIMATORS:
        for choice in EstimatorChoice.expand(spec):
            estimators[str(choice)] = choice.entry.make(**choice.parameters)
    return estimators


def _output_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the results; ValueError if it has some that shall be kept."""

    def is_usable(folder: Path) -> bool:
        return not (folder / "estimates.csv").exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_usable)
    if not (options.overwrite or is_usable(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    return folder


def _make_rows(candidate: Candidate, confidence: float) -> Iterator[Row]:
    """Yields the rows of a policy, one an estimator."""
    for name, estimate, problems in candidate.estimates():
        low, high = estimate.normal_interval(confidence)
        yield Row(
            policy=str(candidate.choice),
            estimator=name,
            rows=estimate.sums.size,
            value=estimate.value,
            low=low,
            high=high,
            standard_error=estimate.standard_error,
            effective_sample_size=estimate.effective_sample_size,
            max_weight=estimate.max_weight,
            share_of_large_weights=estimate.share_of_large_weights,
            warnings="; ".join(problems),
            truth=candidate.truth(),
        )


def _write(
    folder: Path, found: Sequence[Row], candidates: Sequence[Candidate], summary: LogSummary
) -> None:
    """Writes the table and the figures."""
    weights = {str(each.choice): each.weights for each in candidates}
    values = {(row.policy, row.estimator): (row.value, row.low, row.high) for row in found}
    mean = float(summary.rewards.mean)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "estimates.csv", [csv_rows([Row._fields, *found])])
    atomic_write(folder / "estimates.png", [estimates_figure(values, mean)])
    atomic_write(folder / "weights.png", [weights_figure(weights)])


def _show(found: Sequence[Row], title: str, confidence: float) -> None:
    """Prints a table of the estimates, and the warnings below it, each once."""
    texts = list(dict.fromkeys(row.warnings for row in found if row.warnings))
    interval = f"value ({100.0 * confidence:.4g}% interval)"
    headings = ["policy, estimator", interval, "rows", "effective\nrows"]
    if texts:
        headings.append("warning")
    table = new_table(title, *headings)
    last = ""
    for row in found:
        if row.policy != last:
            table.add_row(row.policy)
            if row.truth != "":
                table.add_row("  truth", f"{row.truth:.4f}")
            last = row.policy
        cells = [
            f"{row.value:.4f} ({row.low:.4f} to {row.high:.4f})",
            f"{row.rows}",
            f"{row.effective_sample_size:.0f}",
        ]
        if row.warnings:
            cells.append(f"[{texts.index(row.warnings) + 1}]")
        table.add_row(f"  {row.estimator}", *cells)
    OUT.print(table)
    for number, text in enumerate(texts, start=1):
        OUT.print(f"[{number}] {text}", soft_wrap=True)


def _explain_parts(candidates: Sequence[Candidate], size: int) -> None:
    """Says from which rows policies have learned, if there are such."""
    for start in sorted({each.part.rows.start for each in candidates} - {0}):
        names = [str(each.choice) for each in candidates if each.part.rows.start == start]
        learned = f"Learned from the first {start} rows, and frozen then: {', '.join(names)}"
        text = f"{learned}. They are evaluated on the other {size - start} rows"
        if any(each.part.rows.start == 0 for each in candidates):
            text += f", and the other policies on all {size}"
        OUT.print(f"{text}.", soft_wrap=True)
