"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
import math
from pathlib import Path

from bandit_envs import evaluations
from bandit_envs.base.saving import refuse_links
from bandit_envs.cli.console import ERR, OUT, RowProgress
from bandit_envs.cli.log_options import names_slates, open_log, open_slate_log, read_training
from bandit_envs.cli.options import folder_of
from bandit_envs.cli.printed_tables import show_estimates
from bandit_envs.cli.table_names import split_pattern
from bandit_envs.evaluations import Evaluation
from bandit_envs.evaluations.evaluation import ESTIMATES

WRITTEN = (".csv", ".html", ".png")
"""How the files of results end."""


def evaluate(options: argparse.Namespace) -> int:
    """Estimates what policies would have earned; writes and shows a table and figures.

    Returns 1 if an interval reaches below --fail-below.
    """
    name = split_pattern(options.log)[0].absolute().stem
    folder = output_folder(options, f"{name}-estimates", ESTIMATES, "estimates")
    evaluation = _evaluate(options)
    evaluation.write(folder)
    show_estimates(evaluation)
    for note in evaluation.notes:
        OUT.print(note, soft_wrap=True)
    OUT.print(f"The log: {options.log}\n{evaluation.title}", soft_wrap=True)
    OUT.print(f"Results: {folder}", soft_wrap=True)
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
            open_slate_log(options) if names_slates(options) else open_log(options),
            options.policy,
            options.estimator,
            train=train,
            until=until,
            baseline=options.baseline,
            by=options.by,
            confidence=options.confidence,
            observer=progress,
            **options.workers._asdict(),
        )


def output_folder(options: argparse.Namespace, name: str, table: str, what: str) -> Path:
    """Returns the folder that results are written to.

    Args:
        options: of the command, of which `output` may name the folder.
        name: the name of the folder in `results`, if `output` does not name one.
        table: the name of the file by which a folder with results is known.
        what: the plural of a result, for messages, such as "estimates".

    Raises:
        ValueError: the folder has results, and `options` do not overwrite them; or a file of
            results is a link.
    """

    def is_usable(folder: Path) -> bool:
        return not (folder / table).exists()

    folder = folder_of(options, name, is_usable)
    if not (options.overwrite or is_usable(folder)):
        raise ValueError(f"{folder} has {what}; --overwrite replaces them")
    refuse_links(folder, lambda each: each.endswith(WRITTEN))
    return folder
