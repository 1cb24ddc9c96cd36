"""Logs as the command reads them: those that `write_log` wrote, and users' tables."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bandit_envs.base.checks import check_number
from bandit_envs.cli.console import RowProgress
from bandit_envs.logged import BanditLog, scan_log
from bandit_envs.logged.scan import TableScan, WrittenScan
from bandit_envs.logged.summary import LogSummary

IN_MEMORY = 2**27
"""The most bytes of files that are kept in memory; larger logs are read anew in every pass."""


class OpenLog(NamedTuple):
    """A log that can be passed over more than once."""

    batches: Iterable[BanditLog]
    summary: LogSummary
    title: str  # which describes it


def open_log(options: argparse.Namespace, progress: RowProgress) -> OpenLog:
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


def check_fraction(value: float) -> float:
    """Returns the fraction of a log from which policies learn."""
    fraction = check_number("train-fraction", value, 0.0, 1.0)
    if fraction == 1.0:
        raise ValueError("train-fraction is 1; expected less, as the other rows are for estimates")
    return fraction
