"""Logs as the command reads them: those that `write_log` wrote, and users' tables."""

import argparse
import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from bandit_envs.base.checks import check_number
from bandit_envs.cli.console import RowProgress
from bandit_envs.cli.passes import FileBatches, LogPart, Passes, PassesByWorkers, PassesHere
from bandit_envs.datasets.folders import NAMED
from bandit_envs.datasets.tables import errors_that_name
from bandit_envs.logged import BanditLog, scan_log
from bandit_envs.logged.files.log_files import is_archive
from bandit_envs.logged.files.scan import TableScan, WrittenScan
from bandit_envs.logged.summary import LogRows, LogSummary
from bandit_envs.nests import flatten
from bandit_envs.studies.running.backends import backend

IN_MEMORY = 2**26
"""The most bytes of a log that is kept in memory; larger logs are read anew in every pass."""

BATCH_ROWS = 2**15
"""The most rows of a batch. Twice as many take 40 MB more with ten actions, and save no time."""

BATCH_NUMBERS = 2**21
"""The most numbers of a table [n, K] of a batch, of which an estimate needs several."""


@dataclasses.dataclass(frozen=True)
class OpenLog:
    """A log that can be passed over more than once.

    Args:
        parts: its files, in order.
        summary: what it holds.
        title: which describes it.
        scan: reads it.
        passes: reads its parts.
    """

    parts: Sequence[LogPart]
    summary: LogSummary
    title: str
    scan: WrittenScan | TableScan
    passes: Passes

    def rows(self, start: int, stop: int) -> LogRows:
        """Returns some rows, which this process reads."""
        return LogRows(self, start, stop)

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for part in self.parts:
            yield from part.batches


@contextlib.contextmanager
def start_passes(options: argparse.Namespace) -> Iterator[Passes]:
    """Starts workers, or joins a cluster, if the options say so; yields what reads logs."""
    progress = RowProgress()
    needs_workers = options.backend != "loky" or options.workers != 1
    if needs_workers or options.address is not None:
        with backend(options.backend, options.workers, options.address) as apply, progress:
            yield PassesByWorkers(apply, progress)
        return
    with progress:
        yield PassesHere(progress)


def named_features(options: argparse.Namespace) -> list[str]:
    """Returns the columns that --features names, in its order."""
    names = options.features or ""
    return [name for name in names.split(",") if name]


def open_log(options: argparse.Namespace, passes: Passes) -> OpenLog:
    """Opens a log of numbered actions; ValueError if they are real numbers."""
    log = _open_any_log(options, passes)
    if log.summary.num_actions == 0:
        hint = "in Python, KernelIPS and KernelDR estimate from it"
        raise ValueError(f"the actions of {options.log} are real numbers; {hint}")
    return log


def _open_any_log(options: argparse.Namespace, passes: Passes) -> OpenLog:
    """Opens a log that `write_log` wrote, or a table with the user's columns."""
    time, _ = parse_time(options)
    path = options.log.absolute()  # workers may be in other folders
    if options.features is None:
        if options.drop_missing:
            raise ValueError("--drop-missing is for a table of your own; name its --features")
        try:
            written = scan_log(path, BATCH_ROWS, time=time, only=options.only)
            return _summarize(options.log, written, passes)
        except ValueError as error:
            if any(is_archive(file.name) for file in (path, *path.rglob("*"))):
                raise  # no table of a user is an archive
            advice = 'for a table of your own, name its columns with --features ("" for none)'
            raise ValueError(f"{error}; {advice}") from error
    scan = scan_log(
        path,
        BATCH_ROWS,
        action=options.action,
        reward=options.reward,
        propensity=options.propensity,
        features=named_features(options),
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
        time=time,
        only=options.only,
    )
    return _summarize(options.log, scan, passes)


def _summarize(path: Path, scan: WrittenScan | TableScan, passes: Passes) -> OpenLog:
    """Reads a log once, and returns it with what it holds."""
    limited = _limit_batches(scan)
    parts = _make_parts(limited, passes)
    summary = LogSummary.from_batches([])
    numbered = []
    found = passes.over(parts, _summarize_part, "reading the log")
    for file, part, more in zip(scan.parts.found, parts, found):
        numbered.append(LogPart(part.batches, summary.size, more.size))
        with errors_that_name(file.name):
            summary = summary.merge(more)  # an error if their columns differ
    if not summary.size:
        is_partial = isinstance(limited, TableScan) and limited.drop_missing
        raise ValueError(f"{path} has no rows{' without missing values' if is_partial else ''}")
    return OpenLog(numbered, summary, _make_title(path, summary, limited), limited, passes)


def _make_title(path: Path, summary: LogSummary, scan: WrittenScan | TableScan) -> str:
    """Returns what describes a log, with the number of rows that are left out."""
    title = f"{path}\n{summary}"
    left_out = scan.parts.left_out
    if left_out:
        more = ", ..." if len(left_out) > NAMED else ""
        title += f"\nfiles left out: {len(left_out)} ({', '.join(left_out[:NAMED])}{more})"
    if isinstance(scan, TableScan) and scan.drop_missing:
        missing = scan.find_missing()
        title += f"\n{missing.rows} of {missing.size} rows miss values, and are left out"
    return title


def _make_parts(scan: WrittenScan | TableScan, passes: Passes) -> list[LogPart]:
    """Returns the files of a log; in memory if it is small, and this process reads it."""
    files = scan.parts.found
    parts = [LogPart(FileBatches(scan, file)) for file in files]
    is_small = sum(file.version.size for file in files) <= IN_MEMORY
    return _read_if_small(parts) if is_small and not passes.reads_files else parts


def _limit_batches(scan: WrittenScan | TableScan) -> WrittenScan | TableScan:
    """Returns a scan whose batches have so few rows that tables of all actions stay small."""
    first = next(iter(scan), None)
    if first is None:
        return scan
    rows = BATCH_NUMBERS // max(1, first.num_actions)
    return dataclasses.replace(scan, batch_rows=max(1, min(scan.batch_rows, rows)))


def _read_if_small(parts: list[LogPart]) -> list[LogPart]:
    """Returns parts with their batches in memory; or as they are, if these take too much of it.

    Files may be much smaller than what they hold.
    """
    found = []
    size = 0
    for part in parts:
        batches = []
        for batch in part.batches:
            size += count_bytes(batch)
            if size > IN_MEMORY:
                return parts
            batches.append(batch)
        found.append(LogPart(batches))
    return found


def count_bytes(batch: BanditLog) -> int:
    """Returns how much memory the columns of a batch take."""
    columns = [*flatten(batch.observation), *batch.columns().values()]
    return sum(column.nbytes for column in columns)


def _summarize_part(part: LogPart) -> LogSummary:
    return LogSummary.from_batches(part.batches)


def parse_time(options: argparse.Namespace) -> tuple[str | None, str]:
    """Returns the column and the limit of --train-until; None and "" without it."""
    if options.train_until is None:
        return None, ""
    column, equals, limit = options.train_until.partition("=")
    if not (column and equals and limit):
        raise ValueError(f"train-until is {options.train_until!r}; expected COLUMN=VALUE")
    return column, limit


def count_training_rows(options: argparse.Namespace, log: OpenLog) -> int:
    """Returns from how many rows, the first of a log, policies learn."""
    time, limit = parse_time(options)
    if time is None:
        fraction = check_number("train-fraction", options.train_fraction, 0.0, 1.0)
        if not fraction:
            raise ValueError(
                "train-fraction is 0; expected more, as policies learn from these rows"
            )
        return log.summary.round_rows(log.summary.size * fraction)
    earlier, _ = log.scan.split(limit)
    if not len(earlier):
        raise ValueError(f"train-until is {options.train_until}, but no row is below")
    return log.summary.round_rows(len(earlier))
