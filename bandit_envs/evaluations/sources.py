"""Where logs are: in files, or in batches that somebody has."""

from __future__ import annotations

import abc
import dataclasses
import itertools
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

from bandit_envs.datasets.folders import NAMED, Part
from bandit_envs.evaluations.passes import LogPart
from bandit_envs.logged import BanditLog
from bandit_envs.logged.files.scan import TableScan, WrittenScan, times_of_batches
from bandit_envs.logged.files.times import count_rows_by_time
from bandit_envs.logged.log import check_log
from bandit_envs.nests import flatten


class Source(abc.ABC):
    """Where a log is."""

    name: str
    """Names it in messages."""

    condition: str = ""
    """What its rows must meet, in messages."""

    features: Sequence[str] = ()
    """The columns of its features, in their order; () if they have no names."""

    @abc.abstractmethod
    def add_actions(self, names: Collection[str]) -> Source:
        """Returns the same log with more names of actions, if its actions have names."""

    @abc.abstractmethod
    def limit(self, rows: int, numbers: int) -> Source:
        """Returns the same log in batches of so few rows that tables of all actions stay small.

        Args:
            rows: at most so many.
            numbers: at most so many in a table [n, K] of a batch.
        """

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
        more_actions: names of actions that rows may lack.
    """

    scan: WrittenScan | TableScan
    part: Part
    more_actions: Collection[str] = ()

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for batch in self.scan.scan_part(self.part):
            yield _add_actions(batch, self.more_actions)


class FileSource(Source):
    """A log in files. Each is a part.

    Args:
        scan: reads them.
        more_actions: names of actions that rows may lack.
    """

    def __init__(self, scan: WrittenScan | TableScan, more_actions: Collection[str] = ()) -> None:
        self._scan = scan
        self._more_actions = more_actions
        self.name = os.path.commonpath([part.file for part in scan.parts.found])
        if isinstance(scan, TableScan):
            self.features = list(scan.columns.features)
            if scan.drop_missing:
                self.condition = " without missing values"

    def add_actions(self, names: Collection[str]) -> FileSource:
        return FileSource(self._scan, names)

    def limit(self, rows: int, numbers: int) -> FileSource:
        if isinstance(self._scan, TableScan):  # so that no batch of too many features is read
            width = max(self._scan.num_actions or 0, len(self._scan.encoding.labels()))
            rows = min(rows, max(1, numbers // max(1, width)))
        else:
            first = next(iter(self._scan), None)
            if first is not None:
                rows = _limit_rows(rows, numbers, first)
        size = min(self._scan.batch_rows, rows)
        return FileSource(dataclasses.replace(self._scan, batch_rows=size), self._more_actions)

    def make_parts(self, by_workers: bool, in_memory: int) -> list[LogPart]:
        files = self._scan.parts.found
        parts = [LogPart(FileBatches(self._scan, file, self._more_actions)) for file in files]
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
        if isinstance(self._scan, TableScan) and self._scan.drop_missing:
            missing = self._scan.find_missing()
            lines.append(f"{missing.rows} of {missing.size} rows miss values, and are left out")
        return lines


@dataclasses.dataclass(frozen=True)
class CutBatches:
    """Batches of a log, cut so that none has more than some rows.

    Args:
        batches: of any size, which can be passed over more than once.
        rows: at most so many.
        more_actions: names of actions that rows may lack.
    """

    batches: Iterable[BanditLog]
    rows: int
    more_actions: Collection[str] = ()

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for whole in self.batches:
            batch = _add_actions(check_log(whole), self.more_actions)
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
        more_actions: names of actions that rows may lack.
    """

    name = "the log"

    def __init__(
        self,
        batches: Iterable[BanditLog],
        rows: int = sys.maxsize,
        more_actions: Collection[str] = (),
    ) -> None:
        self._batches = batches
        self._more_actions = more_actions
        self._cut = CutBatches(batches, rows, more_actions)

    def add_actions(self, names: Collection[str]) -> BatchSource:
        return BatchSource(self._batches, more_actions=names)

    def limit(self, rows: int, numbers: int) -> BatchSource:
        first = next(iter(self._batches), None)
        if first is not None:
            rows = _limit_rows(rows, numbers, check_log(first))
        return BatchSource(self._batches, rows, self._more_actions)

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


def _add_actions(batch: BanditLog, names: Collection[str]) -> BanditLog:
    """Returns a batch with more names of actions, if its actions have names."""
    return batch.add_actions(names) if names and batch.action_names else batch


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
