"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
import math
from pathlib import Path

from bandit_envs import evaluations
from bandit_envs.cli.console import ERR, OUT, RowProgress
from bandit_envs.cli.log_options import open_log, read_training
from bandit_envs.cli.printed_tables import show_estimates
from bandit_envs.cli.slate_options import names_slates, open_slates
from bandit_envs.cli.studies import check_latex, folder_of, write_latex
from bandit_envs.evaluations import Evaluation
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
    train, until = read_training(options.train)
    with RowProgress() as progress:
        return evaluations.evaluate(
            open_slates(options) if names_slates(options) else open_log(options),
            options.policy,
            options.estimator,
            train=train,
            until=until,
            baseline=options.baseline,
            all_rows=options.all_rows,
            by=options.by,
            confidence=options.confidence,
            workers=options.workers,
            backend=options.backend,
            address=options.address,
            observer=progress,
        )


def _output_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the results; ValueError if it has some that should be kept."""

    def is_usable(folder: Path) -> bool:
        return not (folder / ESTIMATES).exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_usable)
    if not (options.overwrite or is_usable(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    return folder
