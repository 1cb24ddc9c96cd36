"""Where logs are: in files, or in batches that somebody has."""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from bandit_envs.datasets.folders import NAMED, Part
from bandit_envs.evaluations.passes import LogPart
from bandit_envs.logged import BanditLog
from bandit_envs.logged.files.scan import (
    DecisionScan,
    FileScan,
    TableScan,
    times_of_batches,
)
from bandit_envs.logged.files.times import count_rows_by_time
from bandit_envs.logged.log import check_log
from bandit_envs.nests import flatten

Change: TypeAlias = Callable[[BanditLog], BanditLog]
"""What is done to every batch of a log."""


class Source(abc.ABC):
    """Where a log is."""

    name: str
    """Names it in messages."""

    condition: str = ""
    """What its rows must meet, in messages."""

    features: Sequence[str] = ()
    """The columns of its features, in their order; () if they have no names."""

    @abc.abstractmethod
    def change(self, change: Change) -> Source:
        """Returns a log whose batches are what a change makes of those of this one."""

    def add_actions(self, names: Collection[str]) -> Source:
        """Returns the same log with more names of actions, if its actions have names."""
        return self.change(functools.partial(_add_actions, names)) if names else self

    @abc.abstractmethod
    def limit(self, rows: int, numbers: int) -> Source:
        """Returns the same log in batches of so few rows that tables of all actions stay small.

        Args:
            rows: at most so many.
            numbers: at most so many in a table [n, K] of a batch.
        """

    def keep_features(self, names: Sequence[str]) -> Source:
        """Returns the same log with some features alone, if others can be left unread.

        Args:
            names: the columns of the features that are needed.
        """
        return self

    def balance(self, start: int, stop: int) -> Source:
        """Returns the same log, whose propensities are right in some rows.

        Those of several logging policies are of their mixture in these rows.

        Args:
            start: the first of these rows.
            stop: the first row behind them.
        """
        return self

    @abc.abstractmethod
    def make_parts(self, by_workers: bool, in_memory: int) -> list[LogPart]:
        """Returns the parts.

        Args:
            by_workers: whether they are sent to workers.
            in_memory: files of so many bytes at most are kept in memory, if they are not.
        """

    @abc.abstractmethod
    def part_names(self) -> Iterable[str]:
        """Returns what names the parts in messages."""

    @abc.abstractmethod
    def count_rows_before(self, time: str, limit: str) -> int:
        """Returns how many rows have a time, in a column, below a limit."""

    @abc.abstractmethod
    def remarks(self) -> list[str]:
        """Returns lines of what is left out of the log."""


@dataclasses.dataclass(frozen=True)
class FileBatches:
    """The batches of a file of a log. Every loop over them reads the file anew.

    Args:
        scan: of the log.
        part: the file.
        changes: of the batches, one after the other.
    """

    scan: FileScan
    part: Part
    changes: Sequence[Change] = ()

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for batch in self.scan.scan_part(self.part):
            yield _apply(self.changes, batch)


class FileSource(Source):
    """A log in files. Each is a part.

    Args:
        scan: reads them.
        changes: of the batches, one after the other.
    """

    def __init__(self, scan: FileScan, changes: Sequence[Change] = ()) -> None:
        self._scan = scan
        self._changes = changes
        self.name = os.path.commonpath([part.file for part in scan.parts.found])
        if isinstance(scan, TableScan):
            self.features = list(scan.columns.features)
            if scan.drop_missing:
                self.condition = " without missing values"
        if isinstance(scan, DecisionScan):
            self.condition = " of decisions that have a reward"

    def change(self, change: Change) -> FileSource:
        return FileSource(self._scan, [*self._changes, change])

    def limit(self, rows: int, numbers: int) -> FileSource:
        if isinstance(self._scan, TableScan):  # so that no batch of too many features is read
            width = max(self._scan.num_actions or 0, len(self._scan.encoding.labels()))
            rows = min(rows, max(1, numbers // max(1, width)))
        else:
            first = next(iter(self._scan), None)
            if first is not None:
                rows = _limit_rows(rows, numbers, first)
        size = min(self._scan.batch_rows, rows)
        return FileSource(dataclasses.replace(self._scan, batch_rows=size), self._changes)

    def keep_features(self, names: Sequence[str]) -> FileSource:
        if self._changes:  # they may need all
            return self
        return FileSource(self._scan.keep_features(names))

    def balance(self, start: int, stop: int) -> FileSource:
        if not isinstance(self._scan, TableScan):
            return self
        scan = self._scan.balance(start, stop)
        return self if scan is self._scan else FileSource(scan, self._changes)

    def make_parts(self, by_workers: bool, in_memory: int) -> list[LogPart]:
        files = self._scan.parts.found
        parts = [LogPart(FileBatches(self._scan, file, self._changes)) for file in files]
        is_small = sum(file.version.size for file in files) <= in_memory
        return _read_if_small(parts, in_memory) if is_small and not by_workers else parts

    def part_names(self) -> Iterable[str]:
        return [part.name for part in self._scan.parts.found]

    def count_rows_before(self, time: str, limit: str) -> int:
        earlier, _ = self._scan.split(limit)
        return len(earlier)

    def remarks(self) -> list[str]:
        lines = []
        left_out = self._scan.parts.left_out
        if left_out:
            more = ", ..." if len(left_out) > NAMED else ""
            names = ", ".join(left_out[:NAMED])
            lines.append(f"files left out: {len(left_out)} ({names}{more})")
        if self._scan.unread:
            lines.append(f"{self._scan.unread} neither read nor checked, as nothing needs them")
        if isinstance(self._scan, TableScan) and self._scan.drop_missing:
            missing = self._scan.find_missing()
            lines.append(f"{missing.rows} of {missing.size} rows miss values, and are left out")
        if isinstance(self._scan, TableScan):
            lines.extend(self._scan.doubts)
        if isinstance(self._scan, DecisionScan):
            size, pending = self._scan.decisions.count_decisions()
            lines.append(f"{pending} of {size} decisions have no reward, and are left out")
        if isinstance(self._scan, TableScan) and self._scan.columns.loggers is not None:
            found = f"logging policies: {self._scan.columns.loggers}"
            lines.append(f"{found}; propensities are of their mixture in the rows that are used")
        return lines


@dataclasses.dataclass(frozen=True)
class CutBatches:
    """Batches of a log, cut so that none has more than some rows.

    Args:
        batches: of any size, which can be passed over more than once.
        rows: at most so many.
        changes: of the batches, one after the other.
    """

    batches: Iterable[BanditLog]
    rows: int
    changes: Sequence[Change] = ()

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for whole in self.batches:
            batch = _apply(self.changes, check_log(whole))
            if len(batch) <= self.rows:
                yield batch
                continue
            for start in range(0, len(batch), self.rows):
                yield batch[start : start + self.rows]


class BatchSource(Source):
    """A log in batches, which can be passed over more than once.

    Workers share the batches of a list; those of other iterables are one part.

    Args:
        batches: of the log.
        rows: the most of a batch; larger ones are cut.
        changes: of the batches, one after the other.
    """

    name = "the log"

    def __init__(
        self,
        batches: Iterable[BanditLog],
        rows: int = sys.maxsize,
        changes: Sequence[Change] = (),
    ) -> None:
        self._batches = batches
        self._changes = changes
        self._cut = CutBatches(batches, rows, changes)

    def change(self, change: Change) -> BatchSource:
        return BatchSource(self._batches, changes=[*self._changes, change])

    def limit(self, rows: int, numbers: int) -> BatchSource:
        first = next(iter(self._batches), None)
        if first is not None:
            rows = _limit_rows(rows, numbers, check_log(first))
        return BatchSource(self._batches, rows, self._changes)

    def make_parts(self, by_workers: bool, in_memory: int) -> list[LogPart]:
        if by_workers and isinstance(self._batches, Sequence):
            return [LogPart([batch]) for batch in self._cut]
        return [LogPart(self._cut)]

    def part_names(self) -> Iterable[str]:
        return (f"batch {number}" for number in itertools.count())

    def count_rows_before(self, time: str, limit: str) -> int:
        times = times_of_batches(self._batches, time, self.name, {})
        return count_rows_by_time(time, limit, times).before

    def remarks(self) -> list[str]:
        return []


def _apply(changes: Sequence[Change], batch: BanditLog) -> BanditLog:
    """Returns what changes make of a batch, one after the other."""
    for change in changes:
        batch = change(batch)
    return batch


def _add_actions(names: Collection[str], batch: BanditLog) -> BanditLog:
    """Returns a batch with more names of actions, if its actions have names."""
    return batch.add_actions(names) if batch.action_names else batch


def count_bytes(batch: BanditLog) -> int:
    """Returns how much memory the columns of a batch take."""
    columns = [*flatten(batch.observation), *batch.columns().values()]
    return sum(column.nbytes for column in columns)


def _limit_rows(rows: int, numbers: int, batch: BanditLog) -> int:
    """Returns how many rows a batch like another may have."""
    observation = batch.observation
    width = observation.shape[1] if getattr(observation, "ndim", 0) == 2 else 0
    return max(1, min(rows, numbers // max(1, batch.num_actions, width)))


def _read_if_small(parts: list[LogPart], in_memory: int) -> list[LogPart]:
    """Returns parts with their batches in memory; or as they are, if these take too much of it.

    Files may be much smaller than what they hold.
    """
    found = []
    size = 0
    for part in parts:
        batches = []
        for batch in part.batches:
            size += count_bytes(batch)
            if size > in_memory:
                return parts
            batches.append(batch)
        found.append(LogPart(batches))
    return found
