"""Logs as evaluations read them: in memory, in batches, or in files."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from bandit_envs.evaluations.passes import LogObserver, LogPart, Passes
from bandit_envs.evaluations.sources import Source, count_bytes
from bandit_envs.logged import BanditLog, scan_log
from bandit_envs.logged.again import Again
from bandit_envs.logged.files.scan import BatchScan, Scan
from bandit_envs.logged.log_checks import check_repeatable, require_plain_actions
from bandit_envs.logged.propensities.estimation import EstimatedBatches, EstimatedPropensities
from bandit_envs.logged.rows.likely_outcomes import describe_telling
from bandit_envs.logged.rows.likely_units import describe_repeating
from bandit_envs.logged.rows.units import SLICES, slices_of_units
from bandit_envs.logged.summary import LogRows, LogSummary
from bandit_envs.tables.errors import errors_that_name

AnyLog: TypeAlias = BanditLog | Iterable[BanditLog] | EstimatedPropensities | str | os.PathLike[str]
"""A log; its batches, which can be read more than once; what `scan_log` or `estimate_propensities`
return; or a path."""

IN_MEMORY = 2**26
"""The most bytes of a log that is kept in memory; larger logs are read anew in every pass."""

BATCH_ROWS = 2**15
"""The most rows of a batch. Twice as many take 40 MB more with ten actions, and save no time."""

BATCH_NUMBERS = 2**21
"""The most numbers of a table [n, K] of a batch, of which an estimate needs several."""

BY_UNITS = "rows of one unit belong together: errors and intervals are by units"
"""A line of the title of a log with units."""


class LogError(ValueError):
    """A log cannot be read."""


@dataclasses.dataclass(frozen=True)
class OpenLog:
    """A log that can be passed over more than once.

    Args:
        source: where it is.
        parts: of it, in order.
        summaries: what they hold; None of parts that are to be read for that.
        summary: what the log holds.
        title: which describes it.
        passes: reads its parts.
        name: names the log.
        is_by_units: whether its rows are in another order than in the source.
    """

    source: Source
    parts: Sequence[LogPart]
    summaries: Sequence[LogSummary | None]
    summary: LogSummary
    title: str
    passes: Passes
    name: str
    is_by_units: bool = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.summary.size

    def rows(self, start: int, stop: int) -> LogRows:
        """Returns some rows, which this process reads."""
        return LogRows(self, start, stop)

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for part in self.parts:
            yield from part.batches

    def balance(self, start: int, stop: int) -> OpenLog:
        """Returns the same log, whose propensities are right in some rows.

        Args:
            start: the first of these rows.
            stop: the first row behind them.
        """
        scan = self.source.scan
        balanced = scan if (start, stop) == (0, self.size) else scan.balance(start, stop)
        if balanced is scan:
            return self
        if self.is_by_units:
            problem = "policies learn from some units, and balance is True"
            raise ValueError(f"{problem}; expected each row's own propensity")
        source = dataclasses.replace(self.source, scan=balanced)
        batches = [
            part.batches for part in source.make_parts(self.passes.are_by_workers, IN_MEMORY)
        ]
        parts = [
            LogPart(each, part.first_row, part.size) for each, part in zip(batches, self.parts)
        ]
        return dataclasses.replace(self, source=source, parts=parts)

    def count_units(self, slices: int) -> int:
        """Returns how many rows are of the first of 4096 slices of units."""
        counts = self.summary.slices
        return 0 if counts is None else int(counts[:slices].sum())

    def put_units_first(self, slices: int) -> OpenLog:
        """Returns a log that begins with the rows of the first of 4096 slices of units.

        The rows of a unit are together on one side of the cut, in their order.
        """
        parts: list[LogPart] = []
        first_row = 0
        for first, last in ((0, slices), (slices, SLICES)):
            for part, summary in zip(self.parts, self.summaries):
                counts = None if summary is None else summary.slices
                size = 0 if counts is None else int(counts[first:last].sum())
                batches = Again(functools.partial(_rows_in_slices, part.batches, first, last))
                parts.append(LogPart(batches, first_row, size))
                first_row += size
        return dataclasses.replace(
            self, parts=parts, summaries=[None] * len(parts), is_by_units=True
        )

    def first_parts(self, stop: int) -> list[LogPart]:
        """Returns the parts of the rows before a row."""
        return [part.until(stop) for part in self.parts if part.first_row < stop]

    def summarize(self, stop: int) -> LogSummary:
        """Returns what the rows before a row hold. At most one part is read anew."""
        found = LogSummary.from_batches([])
        for part, cut, summary in zip(self.parts, self.first_parts(stop), self.summaries):
            known = summary if cut.size == part.size else None
            found = found.merge(known or LogSummary.from_batches(cut.batches))
        return found


def as_source(log: AnyLog, time: str | None = None) -> Source:
    """Returns where a log is, without reading it.

    Args:
        log: the log.
        time: a column by which it is cut.

    Raises:
        TypeError: it is not a log, or batches that can be read once only.
        LogError: there is no log at a path.
    """
    if isinstance(log, (str, os.PathLike)):
        try:
            log = scan_log(os.path.abspath(log), BATCH_ROWS)  # workers may be in other folders
        except ValueError as error:
            raise LogError(str(error)) from error
    if isinstance(log, EstimatedPropensities):
        return as_source(log.log, time)
    if isinstance(log, EstimatedBatches):
        return as_source(log.batches, time).change(log.model)
    if isinstance(log, BanditLog):
        log = [log]
    if not isinstance(log, Iterable):
        expected = "a BanditLog, its batches, what scan_log returns, or a path"
        raise TypeError(f"log is of type {type(log).__name__}; expected {expected}")
    scan = log if isinstance(log, Scan) else BatchScan(check_repeatable(log))
    return Source(scan if time is None else scan.with_time(time))


def open_log(source: Source, passes: Passes, features: Sequence[str] | None = None) -> OpenLog:
    """Reads a log once, and returns it with what it holds.

    Args:
        source: where it is.
        passes: reads it.
        features: the columns of the features that are needed, so that others need not be read;
            None for all.

    Raises:
        LogError: it cannot be read.
        ValueError: an estimator of its kind of action does not exist.
    """
    try:
        log = _summarize(source, passes, features)
    except ValueError as error:
        raise LogError(str(error)) from error
    if log.summary.empty is not None:
        require_plain_actions(log.summary.empty)
    return log


def note_what_is_kept(name: str, rows: LogRows, observer: LogObserver) -> None:
    """Tells an observer how much memory rows take that something keeps, if they are many."""
    batch = next(iter(rows))
    size = len(rows) * count_bytes(batch) // len(batch)
    if size > IN_MEMORY:
        text = f"{name} keeps all {len(rows)} rows in memory, {size / 2**20:.0f} MB"
        observer.note(f"{text}, and needs several times as much")


def require_rows(log: OpenLog, rows: int) -> int:
    """Returns a number of rows to learn from; ValueError if there are none."""
    if not rows:
        problem = f"the log has {log.size} rows, too few to learn from a part"
        if log.summary.slices is not None:
            problem += (
                ", as the rows of a unit stay together; expected more units, or a larger share"
            )
        raise ValueError(problem)
    return rows


def _summarize(source: Source, passes: Passes, features: Sequence[str] | None) -> OpenLog:
    scan = source.scan.limit(BATCH_ROWS, BATCH_NUMBERS)
    limited = dataclasses.replace(source, scan=scan)
    if features is not None:
        limited = limited.keep_features(features)
    parts = limited.make_parts(passes.are_by_workers, IN_MEMORY)
    summary = LogSummary.from_batches([])
    numbered = []
    found = passes.over(parts, _summarize_part, "reading the log")
    for name, part, more in zip(scan.part_names(), parts, found):
        numbered.append(LogPart(part.batches, summary.size, more.size))
        with errors_that_name(name):
            summary = summary.merge(more)  # an error if their columns differ
    if not summary.size:
        raise ValueError(f"{scan.name} has no rows{scan.condition}")
    lines = [str(summary)]
    if summary.encoding is not None:
        lines.append(f"features: {summary.encoding}")
    if summary.slices is not None:
        lines.append(BY_UNITS)
    lines += map(describe_repeating, summary.find_units())
    lines += map(describe_telling, summary.find_telling())
    if summary.estimated:
        lines.append(summary.estimated)
    title = "\n".join([*lines, *limited.scan.remarks()])
    return OpenLog(
        source=limited,
        parts=numbered,
        summaries=found,
        summary=summary,
        title=title,
        passes=passes,
        name=scan.name,
    )


def _rows_in_slices(batches: Iterable[BanditLog], first: int, last: int) -> Iterator[BanditLog]:
    """Yields the rows of batches whose units are in some slices, from the first to the last."""
    for batch in batches:
        if batch.unit is None:
            raise ValueError("a batch has no units; expected them, as in those before")
        slices = slices_of_units(batch.unit)
        rows = np.flatnonzero((slices >= first) & (slices < last))
        if len(rows):
            yield batch[rows]


def _summarize_part(part: LogPart) -> LogSummary:
    return LogSummary.from_batches(part.batches)
