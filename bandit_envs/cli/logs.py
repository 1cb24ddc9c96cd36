"""The options of logs: which log is read, what policies learn from, and who reads."""

import argparse
from typing import TypedDict

from bandit_envs.base.checks import check_number
from bandit_envs.cli.console import OUT
from bandit_envs.cli.parser import LOGISTIC
from bandit_envs.evaluations.logs import BATCH_ROWS, AnyLog, as_source
from bandit_envs.logged import concatenate, estimate_propensities, scan_log
from bandit_envs.logged.files.log_files import WrittenScan, is_archive
from bandit_envs.logged.files.log_readers import FileScan
from bandit_envs.logged.files.table_scan import TableScan
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator

DECISION = ["action", "reward", "propensity"]
"""The columns of a decision, if no option names others."""


class Engine(TypedDict):
    """Who reads a log."""

    workers: int
    backend: str
    address: str | None


def engine(options: argparse.Namespace) -> Engine:
    """Returns who reads a log."""
    return Engine(workers=options.workers, backend=options.backend, address=options.address)


def named_features(options: argparse.Namespace) -> list[str] | None:
    """Returns the columns that --features names, in its order; None if it is left out."""
    if options.features is None:
        return None
    return [name for name in options.features.split(",") if name]


def open_log(options: argparse.Namespace) -> AnyLog:
    """Returns the log that the options name, with estimated propensities if they ask for them."""
    found = _scan_with_advice(options)
    name = options.estimate_propensities
    if name is None:
        return found
    if name == LOGISTIC:
        estimated = estimate_propensities(found)
    else:
        if options.train_until is not None:
            raise ValueError("a classifier of propensities takes no --train-until")
        for remark in as_source(
            found
        ).scan.remarks():  # rows in memory do not know what was left out
            OUT.print(remark, soft_wrap=True)
        estimated = estimate_propensities(concatenate(list(found)), make_estimator(name))
    OUT.print(str(estimated), soft_wrap=True)
    return estimated


def _propensity(options: argparse.Namespace) -> str | dict[str, str] | None:
    """Returns the column of the propensities that the options name, or those of several loggers."""
    if options.logger is None:
        named: str = options.propensity
        return None if options.estimate_propensities else named
    if options.estimate_propensities:
        raise ValueError("--logger is for known propensities; expected no --estimate-propensities")
    pairs = [text.partition("=") for text in options.propensity.split(",")]
    if not all(name and column for name, _, column in pairs):
        expected = "NAME=COLUMN,NAME=COLUMN, one for each logging policy"
        raise ValueError(f"propensity is {options.propensity!r}; expected {expected}")
    return {name: column for name, _, column in pairs}


def _scan_with_advice(options: argparse.Namespace) -> FileScan:
    """Returns a log that `write_log` wrote, or a table with the user's columns.

    Raises:
        ValueError: it has files that cannot be read, or lacks a column. If no column was named, the
            message says by which options.
    """
    try:
        found = _scan(options)
    except ValueError as error:
        lacks_propensity = f"no column {DECISION[2]!r}" in str(error)
        names_others = options.features is not None or options.action != DECISION[0]
        if lacks_propensity and options.propensity == DECISION[2] and names_others:
            advice = "--propensity names it, or --estimate-propensities estimates what it lacks"
            raise ValueError(f"{error}; {advice}") from error
        path = options.log.absolute()
        names = [options.action, options.reward, options.propensity]
        if options.features is not None or names != DECISION:
            raise
        if any(is_archive(file.name) for file in (path, *path.rglob("*"))):
            raise  # no table of a user is an archive
        advice = "--action, --reward, --propensity and --features name the columns of your table"
        raise ValueError(f"{error}; {advice}") from error
    if options.drop_missing and not isinstance(found, TableScan):
        writer = "write_log" if isinstance(found, WrittenScan) else "a DecisionService"
        raise ValueError(f"--drop-missing is for a table of your own; {writer} wrote {options.log}")
    return found


def _scan(options: argparse.Namespace) -> FileScan:
    """Returns the log that the options name."""
    until = options.train_until or ""
    return scan_log(
        options.log.absolute(),  # workers may be in other folders
        BATCH_ROWS,
        action=options.action,
        reward=options.reward,
        propensity=_propensity(options),
        features=named_features(options),
        num_actions=0 if getattr(options, "continuous", False) else options.num_actions,
        drop_missing=options.drop_missing,
        time=until.partition("=")[0] or None,
        only=options.only,
        logger=options.logger,
    )


def check_training(options: argparse.Namespace) -> None:
    """Raises ValueError if --train-fraction or --train-until are wrong for any log."""
    if options.train_until is not None:
        column, _, limit = options.train_until.partition("=")
        if not (column and limit):
            raise ValueError(f"train-until is {options.train_until!r}; expected COLUMN=VALUE")
    elif not check_number("train-fraction", options.train_fraction, 0.0, 1.0):
        raise ValueError("train-fraction is 0; expected more, as policies learn from these rows")
