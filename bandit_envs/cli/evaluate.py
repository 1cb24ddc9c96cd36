"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bandit_envs.base.checks import check_number
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import OUT, RowProgress, new_table
from bandit_envs.cli.evaluation import Candidate, Evaluation
from bandit_envs.cli.studies import folder_of
from bandit_envs.logged import BanditLog, Estimator, scan_log
from bandit_envs.logged.estimate import check_confidence
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.logged.scan import TableScan, WrittenScan
from bandit_envs.logged.summary import LogSummary
from bandit_envs.studies.choice import Choice, PolicyChoice
from bandit_envs.studies.estimate_figures import estimates_figure, weights_figure
from bandit_envs.studies.tables import csv_rows

IN_MEMORY = 2**27
"""The most bytes of files that are kept in memory; larger logs are read anew in every pass."""

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
    choices = [each for spec in options.policy for each in PolicyChoice.expand(spec)]
    with RowProgress() as progress:
        log = _open_log(options, progress)
        evaluation = Evaluation(
            batches=log.batches,
            summary=log.summary,
            choices=choices,
            estimators=_make_estimators(options),
            train_fraction=_check_fraction(options.train_fraction),
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


def _check_fraction(value: float) -> float:
    """Returns the fraction of a log from which policies learn."""
    fraction = check_number("train-fraction", value, 0.0, 1.0)
    if fraction == 1.0:
        raise ValueError("train-fraction is 1; expected less, as the other rows are for estimates")
    return fraction


def _output_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the results; ValueError if it has some that shall be kept."""

    def is_free(folder: Path) -> bool:
        return not (folder / "estimates.csv").exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_free)
    if not (options.overwrite or is_free(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    return folder


class OpenLog(NamedTuple):
    """A log that can be passed over more than once."""

    batches: Iterable[BanditLog]
    summary: LogSummary
    title: str  # which describes it


def _open_log(options: argparse.Namespace, progress: RowProgress) -> OpenLog:
    """Opens a log that `write_log` wrote, or a table with the user's columns."""
    if options.features is None:
        if options.drop_missing:
            raise ValueError("--drop-missing is for a table of your own; name its --features")
        try:
            return _summarize(options.log, scan_log(options.log), progress)
        except ValueError as error:
            advice = 'for a table of your own, name its columns with --features ("" for none)'
            raise ValueError(f"{error}; {advice}") from error
    scan = scan_log(
        options.log,
        action=options.action,
        reward=options.reward,
        propensity=options.propensity,
        features=[name for name in options.features.split(",") if name],
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
    )
    return _summarize(options.log, scan, progress)


def _summarize(path: Path, scan: WrittenScan | TableScan, progress: RowProgress) -> OpenLog:
    """Reads a log once; keeps it in memory if it is small."""
    batches: Iterable[BanditLog] = scan
    if sum(file.stat().st_size for file in scan.files) <= IN_MEMORY:
        batches = list(scan)
    else:
        batches = progress.watch(scan)
    summary = LogSummary.from_batches(batches)
    title = f"{path}\n{summary}"
    if isinstance(scan, TableScan) and scan.drop_missing:
        missing = scan.find_missing()
        title += f"\n{missing.rows} of {missing.size} rows miss values, and are left out"
    return OpenLog(batches, summary, title)


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
    """Says on which rows policies that learn have learned, if there are such."""
    sizes = [len(each.part.rows) for each in candidates]
    rest = min(sizes)
    if rest == size:
        return
    learned = f"Policies that learn have learned from the first {size - rest} rows"
    text = f"{learned}, and are frozen then. They are evaluated on the other {rest} rows"
    if size in sizes:
        text += f", and the other policies on all {size}"
    OUT.print(f"{text}.", soft_wrap=True)
