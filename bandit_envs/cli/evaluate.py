"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bandit_envs.base.checks import check_confidence
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import ERR, OUT, new_table
from bandit_envs.cli.evaluation import (
    AnyPolicyChoice,
    Evaluated,
    Evaluation,
    SavedChoice,
    expand_policies,
)
from bandit_envs.cli.logs import (
    OpenLog,
    count_training_rows,
    named_features,
    open_log,
    start_passes,
)
from bandit_envs.cli.studies import folder_of
from bandit_envs.logged import Estimator
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.logged.summary import LogSummary
from bandit_envs.studies.definition.choice import Choice, name_in_errors
from bandit_envs.studies.showing.estimate_figures import estimates_figure, weights_figure
from bandit_envs.studies.showing.tables import csv_rows, text_cell

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
    """Estimates what policies would have earned; writes and shows a table and figures.

    Returns 1 if an interval reaches below --fail-below.
    """
    folder = _output_folder(options)
    confidence = check_confidence(options.confidence)
    choices = _choose_policies(options)
    _check_features(options, choices)
    with start_passes(options) as passes:
        log = open_log(options, passes)
        evaluation = Evaluation(
            log=log,
            choices=choices,
            estimators=_make_estimators(options),
            rows_to_learn_from=_count_rows_to_learn_from(options, log),
        )
        evaluated = evaluation.run()
    found = [row for each in evaluated for row in _make_rows(each, confidence)]
    _write(folder, found, evaluated, log.summary)
    _show(found, log.title, confidence)
    _explain_parts(evaluated, log.summary.size)
    _explain_other_logs(evaluated)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    bound = -math.inf if options.fail_below is None else options.fail_below
    low = [row for row in found if not row.low >= bound]  # NaN is no number that passes
    for row in low:
        text = f"{row.policy}: the interval of {row.estimator} begins at {row.low:.4f}"
        ERR.print(f"{text}, below {bound:g}", soft_wrap=True)
    return 1 if low else 0


def _check_features(options: argparse.Namespace, choices: Sequence[AnyPolicyChoice]) -> None:
    """Raises ValueError if a policy in a file has learned from other features, or another order."""
    given = named_features(options)
    for choice in choices:
        learned = list(choice.saved.features) if isinstance(choice, SavedChoice) else []
        if learned and given and learned != given:
            expected = f"expected {','.join(learned)}, from which {choice} has learned"
            raise ValueError(f"--features is {','.join(given)}; {expected}")


def _count_rows_to_learn_from(options: argparse.Namespace, log: OpenLog) -> int | None:
    """Returns from how many rows policies learn, None with --no-train.

    Raises ValueError if no row is left for estimates.
    """
    if options.no_train:
        return None
    rows = count_training_rows(options, log)
    if rows == log.summary.size:
        given = f"train-fraction is {options.train_fraction:g}"
        if options.train_until is not None:
            given = f"train-until is {options.train_until}"
        problem = f"policies would learn from all {rows} rows"
        raise ValueError(f"{given}, so {problem}; expected some for estimates")
    return rows


def _choose_policies(options: argparse.Namespace) -> list[AnyPolicyChoice]:
    """Returns the policies that the user has chosen; ValueError if one is chosen twice."""
    choices: dict[str, AnyPolicyChoice] = {}
    for spec in options.policy:
        for choice in expand_policies(spec):
            if str(choice) in choices:
                raise ValueError(f"policy {choice} is listed twice")
            choices[str(choice)] = choice
    return list(choices.values())


def _make_estimators(options: argparse.Namespace) -> dict[str, Estimator]:
    """Returns the estimators that the user has chosen, by name."""
    estimators: dict[str, Estimator] = {}
    for spec in options.estimator or DEFAULT_ESTIMATORS:
        for choice in EstimatorChoice.expand(spec):
            with name_in_errors(f"estimator {choice}", *choice.modules):
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


def _make_rows(evaluated: Evaluated, confidence: float) -> Iterator[Row]:
    """Yields the rows of a policy, one an estimator."""
    for name, estimate, problems in evaluated.estimates():
        low, high = estimate.normal_interval(confidence)
        yield Row(
            policy=str(evaluated.candidate.choice),
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
            truth=evaluated.truth(),
        )


def _write(
    folder: Path, found: Sequence[Row], evaluated: Sequence[Evaluated], summary: LogSummary
) -> None:
    """Writes the table and the figures."""
    weights = {str(each.candidate.choice): each.sums.weights for each in evaluated}
    values = {(row.policy, row.estimator): (row.value, row.low, row.high) for row in found}
    mean = float(summary.rewards.mean)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row._replace(policy=text_cell(row.policy)) for row in found]
    atomic_write(folder / "estimates.csv", [csv_rows([Row._fields, *rows])])
    atomic_write(folder / "estimates.png", [estimates_figure(values, mean)])
    atomic_write(folder / "weights.png", [weights_figure(weights)])


def _show(found: Sequence[Row], title: str, confidence: float) -> None:
    """Prints a table of the estimates, and the warnings below it, each once."""
    texts = list(dict.fromkeys(row.warnings for row in found if row.warnings))
    interval = f"value ({100.0 * confidence:.4g}% interval)"
    headings = ["policy, estimator", interval, "rows", "effective\nrows"]
    if texts:
        headings.append("warning")
    OUT.print(title, soft_wrap=True)
    table = new_table("", *headings)
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


def _explain_parts(evaluated: Sequence[Evaluated], size: int) -> None:
    """Says from which rows policies have learned, if there are such."""
    candidates = [each.candidate for each in evaluated]
    for start in sorted({each.start for each in candidates} - {0}):
        names = [str(each.choice) for each in candidates if each.start == start]
        learned = f"Learned from the first {start} rows, and frozen then: {', '.join(names)}"
        text = f"{learned}. They are evaluated on the other {size - start} rows"
        if any(each.start == 0 for each in candidates):
            text += f", and the other policies on all {size}"
        OUT.print(f"{text}.", soft_wrap=True)


def _explain_other_logs(evaluated: Sequence[Evaluated]) -> None:
    """Says which policies may have learned from rows that they are evaluated on."""
    candidates = [each.candidate for each in evaluated]
    others = [str(each.choice) for each in candidates if each.is_of_another_log]
    unknown = [str(each.choice) for each in candidates if each.is_of_unknown_log]
    advice = "If it has rows of this one, estimates are too high."
    if others:
        OUT.print(f"Learned from another log: {', '.join(others)}. {advice}", soft_wrap=True)
    if unknown:
        learned = f"Learned from a log that the file does not tell: {', '.join(unknown)}"
        OUT.print(f"{learned}. {advice}", soft_wrap=True)
