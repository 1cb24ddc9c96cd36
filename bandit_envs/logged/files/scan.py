"""A log that can be read again, in batches: what all kinds of it answer."""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.logged.again import Again
from bandit_envs.logged.files.column_layout import split_log
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_log
from bandit_envs.logged.summary import LogRows
from bandit_envs.names.visible import visible
from bandit_envs.tables.folders import NAMED
from bandit_envs.tables.parts import FilePart, Key, Part, Parts
from bandit_envs.tables.suffixes import is_parquet
from bandit_envs.tables.times import TimesOfRows, count_rows_by_time, name_row_of

ScanType = TypeVar("ScanType", bound="Scan")

BATCH_ROWS = 65_536


class Scan(abc.ABC):
    """A log that can be read again. Every loop over its batches reads files anew."""

    parts: Parts[Part]
    batch_rows: int
    time: str | None

    features: Sequence[str] = ()
    """The columns of its features, in their order; () if they have no names."""

    condition = ""
    """What its rows must meet, in messages."""

    doubts: Sequence[str] = ()
    """What is perhaps read in another way than it is meant, or left out, in words."""

    def warn(self, stacklevel: int) -> None:
        """Warns of the doubts; `stacklevel` is as for `warnings.warn`."""
        for problem in self.doubts:
            warnings.warn(problem, stacklevel=stacklevel + 1)

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for number in range(len(self.parts.found)):
            yield from self.scan_part(number)

    @abc.abstractmethod
    def scan_part(self, number: int) -> Iterator[BanditLog]:
        """Yields the batches of one of the parts, by its number."""

    def read(self) -> BanditLog:
        """Returns the whole log; warnings name the line that has called the caller."""
        self.warn(stacklevel=3)
        return concatenate(list(self))

    @property
    def name(self) -> str:
        """Names it in messages."""
        files = [part.file for part in self.parts.found if isinstance(part, FilePart)]
        return os.path.commonpath(files) if files else "the frame"

    def part_names(self) -> Iterable[str]:
        """Returns what names the parts in messages."""
        return [part.name for part in self.parts.found]

    def cut(self, by_workers: bool) -> list[Iterable[BanditLog]]:
        """Returns the batches of each part; the parts are perhaps sent to workers."""
        numbers = range(len(self.parts.found))
        return [Again(functools.partial(self.scan_part, number)) for number in numbers]

    @property
    def num_bytes(self) -> int:
        """How much memory its rows take, at least: as many bytes as its files have."""
        return sum(part.num_bytes for part in self.parts.found)

    def limit(self: ScanType, rows: int, numbers: int) -> ScanType:
        """Returns the same log in batches of so few rows that tables of all actions stay small.

        Args:
            rows: at most so many.
            numbers: at most so many in a table [n, K] of a batch.
        """
        for first in itertools.islice(self, 1):
            observation = first.observation
            width = observation.shape[1] if getattr(observation, "ndim", 0) == 2 else 0
            rows = max(1, min(rows, numbers // max(1, first.num_actions, width)))
        return self._replace(batch_rows=min(self.batch_rows, rows))

    def balance(self: ScanType, start: int, stop: int) -> ScanType:
        """Returns the same log with the propensities of the mixture of loggers in some rows.

        Those of other rows are not right, if other logging policies made them. With one logging
        policy, the scan stays as it is.

        Args:
            start: the first of these rows.
            stop: the first row behind them.
        """
        return self

    def remarks(self) -> list[str]:
        """Returns lines of what is left out of the log."""
        lines = []
        left_out = self.parts.left_out
        if left_out:
            more = ", ..." if len(left_out) > NAMED else ""
            names = ", ".join(map(visible, left_out[:NAMED]))
            lines.append(f"files left out: {len(left_out)} ({names}{more})")
        if self.unread:
            lines.append(f"{self.unread} neither read nor checked, as nothing needs them")
        return lines

    def split(self, limit: str) -> tuple[LogRows, LogRows]:
        """Returns the rows with a time below a limit, and the later ones, in batches.

        Args:
            limit: a number if the times are numbers, and else as they are written: dates as in
                2024-12-31, and strings as they are sorted.

        Raises:
            ValueError: the scan has no `time`; or the limit is not of the kind of the times; or a
                row below it comes after one that is not.
        """
        name = self.time
        if name is None:
            raise ValueError("the scan has no column of times; expected scan_log(..., time=COLUMN)")
        before, after = count_rows_by_time(name, limit, self._scan_times(name))
        return LogRows(self, 0, before), LogRows(self, before, before + after)

    def keep_features(self: ScanType, names: Sequence[str]) -> ScanType:
        """Returns the same scan that reads some features alone, if files can be read by column.

        These are Parquet files. Values of columns that are not read are not checked either. The
        scan stays as it is if missing values in any column decide which rows are left out.

        Args:
            names: the columns of the features that are needed.
        """
        return self

    def scan_left_out(self) -> Iterator[tuple[BanditLog, Mapping[str, Array]]]:
        """Yields the batches, each with the columns [n] of its rows that the log leaves out."""
        for batch in self:
            yield batch, {}

    @property
    def unread(self) -> str:
        """Says which columns `keep_features` has left out; "" for none."""
        return ""

    def with_time(self: ScanType, name: str) -> ScanType:
        """Returns the same scan with a column of times, by which `split` cuts."""
        return self._replace(time=name)

    def with_dates(self: ScanType, name: str) -> ScanType:
        """Returns the same scan, whose batches have the dates of a column as their `time`.

        Args:
            name: of the column; "" for the one that was named as `time`.

        Raises:
            ValueError: there is no such column, or another one was named.
        """
        if name not in ("", "time"):
            raise ValueError(f"the log has no column of dates {name!r}; expected its own time")
        return self

    @abc.abstractmethod
    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        """Yields the times, which a column has, of the rows that the batches have."""

    def _replace(self: ScanType, **changes: Any) -> ScanType:
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]  # all are


@dataclasses.dataclass(frozen=True)
class BatchScan(Scan):
    """A log in batches that somebody has, which can be passed over more than once.

    Workers share the batches of a list; those of other iterables are one part.

    Args:
        batches: of the log.
        batch_rows: the most rows of a batch; larger ones are cut.
        time: the column of times, as `to_frame` names it.
    """

    batches: Iterable[BanditLog]
    batch_rows: int = sys.maxsize
    time: str | None = None

    name = "the log"
    num_bytes = sys.maxsize  # they are where their owner has them

    def __iter__(self) -> Iterator[BanditLog]:
        for batch in map(check_log, self.batches):
            if len(batch) <= self.batch_rows:
                yield batch
                continue
            for start in range(0, len(batch), self.batch_rows):
                yield batch[start : start + self.batch_rows]

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        return iter(self)

    def part_names(self) -> Iterable[str]:
        return (f"batch {number}" for number in itertools.count())

    def cut(self, by_workers: bool) -> list[Iterable[BanditLog]]:
        if by_workers and isinstance(self.batches, Sequence):
            return [[batch] for batch in self]
        return [self]

    def remarks(self) -> list[str]:
        return []

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        return times_of_batches(self.batches, name, self.name, {})


def times_of_batches(
    batches: Iterable[BanditLog], name: str, source: str, keys: Mapping[str, Key]
) -> Iterator[TimesOfRows]:
    """Yields the times of the rows of a log that no user's table holds.

    Args:
        batches: of the log, in order.
        name: of the column, as `to_frame` names it, or one of the keys.
        source: what the batches are of, in messages.
        keys: columns that have one value in all rows.
    """
    first_row = 0
    for batch in batches:
        _, columns = split_log(batch)
        if batch.time is not None:
            columns["time"] = (batch.time * 1e6).astype("M8[us]")
        for key, value in keys.items():
            columns[key] = np.array([value] * len(batch))
        if name not in columns:
            known = list(columns)[:20]
            raise ValueError(f"the log has no column {name!r}; it has {known}")
        place = functools.partial(name_row_of, source, first_row)
        yield TimesOfRows(columns[name], place)
        first_row += len(batch)


def are_parquet(parts: Parts[Part]) -> bool:
    """Returns whether columns can be read alone."""
    return all(is_parquet(part.name) for part in parts.found)
