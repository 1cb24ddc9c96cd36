"""The options of logs: which log is read, what policies learn from, and who reads."""

import argparse
import contextlib
from collections.abc import Iterator
from typing import TypedDict

from bandit_envs.base.checks import check_number
from bandit_envs.evaluations import LogError
from bandit_envs.evaluations.logs import BATCH_ROWS
from bandit_envs.logged import scan_log
from bandit_envs.logged.files.log_files import is_archive
from bandit_envs.logged.files.scan import TableScan, WrittenScan


class Engine(TypedDict):
    """Who reads a log."""

    workers: int
    backend: str
    address: str | None


def engine(options: argparse.Namespace) -> Engine:
    """Returns who reads a log."""
    return Engine(workers=options.workers, backend=options.backend, address=options.address)


def named_features(options: argparse.Namespace) -> list[str]:
    """Returns the columns that --features names, in its order."""
    names = options.features or ""
    return [name for name in names.split(",") if name]


@contextlib.contextmanager
def errors_with_advice(options: argparse.Namespace) -> Iterator[None]:
    """Adds to the error of a log that cannot be read what options a user's table needs."""
    try:
        yield
    except LogError as error:
        path = options.log.absolute()
        if options.features is not None:
            raise
        if any(is_archive(file.name) for file in (path, *path.rglob("*"))):
            raise  # no table of a user is an archive
        advice = 'for a table of your own, name its columns with --features ("" for none)'
        raise ValueError(f"{error}; {advice}") from error


def scan(options: argparse.Namespace) -> WrittenScan | TableScan:
    """Returns a log that `write_log` wrote, or a table with the user's columns.

    Raises:
        LogError: a log that `write_log` wrote has files that cannot be read.
    """
    path = options.log.absolute()  # workers may be in other folders
    if options.features is None:
        if options.drop_missing:
            raise ValueError("--drop-missing is for a table of your own; name its --features")
        try:
            return scan_log(path, BATCH_ROWS, only=options.only)
        except ValueError as error:
            raise LogError(str(error)) from error
    return scan_log(
        path,
        BATCH_ROWS,
        action=options.action,
        reward=options.reward,
        propensity=options.propensity,
        features=named_features(options),
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
        only=options.only,
    )


def check_training(options: argparse.Namespace) -> None:
    """Raises ValueError if --train-fraction or --train-until are wrong for any log."""
    if options.train_until is not None:
        column, _, limit = options.train_until.partition("=")
        if not (column and limit):
            raise ValueError(f"train-until is {options.train_until!r}; expected COLUMN=VALUE")
    elif not check_number("train-fraction", options.train_fraction, 0.0, 1.0):
        raise ValueError("train-fraction is 0; expected more, as policies learn from these rows")
