"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
import math
from pathlib import Path
from typing import Any

from bandit_envs import evaluations
from bandit_envs.cli.console import ERR, OUT, RowProgress
from bandit_envs.cli.logs import check_training, engine, open_log
from bandit_envs.cli.slates import evaluate_slates, refuse_options_of_slates
from bandit_envs.cli.studies import check_latex, folder_of, write_latex
from bandit_envs.cli.tables import show_estimates
from bandit_envs.evaluations import Evaluation
from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.evaluating import DEFAULT_ESTIMATORS
from bandit_envs.evaluations.evaluation import ESTIMATES


def evaluate(options: argparse.Namespace) -> int:
    """Estimates what policies would have earned; writes and shows a table and figures.

    Returns 1 if an interval reaches below --fail-below.
    """
    check_latex(options.latex)
    folder = _output_folder(options)
    evaluation = _evaluate(options)
    evaluation.write(folder)
    OUT.print(f"{options.log}\n{evaluation.title}", soft_wrap=True)
    show_estimates(evaluation)
    for note in evaluation.notes:
        OUT.print(note, soft_wrap=True)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    if options.latex is not None:
        write_latex(options.latex, evaluation.to_latex())
    bound = -math.inf if options.fail_below is None else options.fail_below
    rows = evaluation.rows[1:]  # what the log has earned is not an estimate
    low = [row for row in rows if not row.low >= bound]  # NaN is not a number that passes
    for row in low:
        text = f"{row.policy}: the interval of {row.estimator} begins at {row.low:.4f}"
        ERR.print(f"{text}, below {bound:g}", soft_wrap=True)
    return 1 if low else 0


def _evaluate(options: argparse.Namespace) -> Evaluation:
    """Returns the estimates that the options ask for."""
    if options.slates:
        return evaluate_slates(options)
    refuse_options_of_slates(options)
    if options.continuous:
        return _evaluate_numbers(options)
    if options.bandwidth is not None:
        raise ValueError("--bandwidth is for actions that are numbers; expected --continuous")
    if not options.no_train:
        check_training(options)
    with RowProgress() as progress:
        return evaluations.evaluate(
            open_log(options),
            options.policy,
            options.estimator or DEFAULT_ESTIMATORS,
            train=None if options.no_train else options.train_fraction,
            until=options.train_until,
            baseline=options.baseline,
            all_rows=options.all_rows,
            by=options.by,
            confidence=options.confidence,
            observer=progress,
            **engine(options),
        )


def _evaluate_numbers(options: argparse.Namespace) -> Evaluation:
    """Returns the estimates that the options ask for of a log of numbers."""
    if options.estimator:
        raise ValueError("--continuous estimates by kernels; expected no --estimator")
    if options.by is not None or options.baseline != LOGGED:
        raise ValueError(
            "--continuous has no segments or other baselines; expected no --by or --baseline"
        )
    if options.logger is not None:
        raise ValueError("--continuous is for one logging policy; expected no --logger")
    if options.estimate_propensities:
        raise ValueError("densities of numbers are not estimated; expected them in the table")
    if options.train_until is not None or options.num_actions is not None:
        expected = "no --train-until or --num-actions"
        raise ValueError(
            f"policies that choose numbers do not learn from logs; expected {expected}"
        )
    with RowProgress() as progress:
        return evaluations.evaluate_numbers(
            open_log(options),
            options.policy,
            bandwidth=[_read_bandwidth(text) for text in options.bandwidth or ["rule"]],
            confidence=options.confidence,
            observer=progress,
            **engine(options),
        )


def _read_bandwidth(text: str) -> Any:
    """Returns a number, or the text of what finds one."""
    try:
        return float(text)
    except ValueError:
        return text


def _output_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the results; ValueError if it has some that should be kept."""

    def is_usable(folder: Path) -> bool:
        return not (folder / ESTIMATES).exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_usable)
    if not (options.overwrite or is_usable(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    return folder
