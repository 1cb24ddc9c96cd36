"""Logs of any size, in batches: from a file, or from a folder of files."""

from __future__ import annotations

import abc
import collections
import dataclasses
import functools
import itertools
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from bandit_envs.base.checks import as_list, check_integer
from bandit_envs.datasets.encoding import TableEncoding, TextColumn
from bandit_envs.datasets.folders import (
    NAMED,
    TABLE_SUFFIXES,
    Key,
    Part,
    Parts,
    find_parts,
    is_parquet,
    refuse_changes,
)
from bandit_envs.datasets.tables import describe_unnamed, errors_that_name
from bandit_envs.logged.files.decision_tables import DECISION_SUFFIXES, is_decisions
from bandit_envs.logged.files.decisions import DecisionFile
from bandit_envs.logged.files.encoding_search import (
    Propensity,
    TableColumns,
    check_roles,
    separate_loggers,
)
from bandit_envs.logged.files.frame_batches import (
    names_in_table,
    scan_csv,
    scan_frames,
    scan_parquet,
)
from bandit_envs.logged.files.frames import check_column_names, encode_frame
from bandit_envs.logged.files.log_files import (
    LOG_SUFFIXES,
    check_suffix,
    csv_options,
    is_archive,
    is_written,
    read_csv_layout,
    read_file,
    read_parquet_layout,
)
from bandit_envs.logged.files.missing import MissingValues
from bandit_envs.logged.files.scan_encoding import find_encoding
from bandit_envs.logged.files.tables import (
    has_plain_observation,
    join_frame,
    labels_of,
    split_log,
    without_observation,
)
from bandit_envs.logged.files.times import TimesOfRows, count_rows_by_time
from bandit_envs.logged.log import BanditLog, check_log, concatenate
from bandit_envs.logged.summary import LogRows

ScanType = TypeVar("ScanType", bound="Scan")

BATCH_ROWS = 65_536


def scan_log(
    path: str | os.PathLike[str],
    batch_rows: int = BATCH_ROWS,
    *,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
    time: str | None = None,
    embedding: str | Sequence[str] = (),
    only: str | None = None,
    logger: str | None = None,
) -> FileScan:
    """Returns an iterable over the batches of a log.

    CSV and Parquet files are read one batch at a time; each npz file is read whole. Of the file of
    a `DecisionService`, the decisions are read that have a reward when this is called. Names,
    texts, dates and times become numbers as in `from_frame`: an extra pass over a table finds the
    names of its actions and the levels of its texts, which all batches have as their `encoding`.

    Args:
        path: a file that `write_log` wrote; or any CSV or Parquet file; or a folder of such files,
            also in folders inside it, which are taken in the order of their names; or a file of
            decisions, which ends in .sqlite, .sqlite3 or .db. Names of folders such as day=2, as
            pandas and Hive write them, are columns of a table; where they are numbers, these say
            the order.
        batch_rows: the most rows of a batch. The last batch of a file may have fewer.
        action: the column of the actions, as for `from_frame`.
        reward: the column of the rewards.
        propensity: the column of the propensities; None if they are not known. With `logger`, a
            dict as for `from_frame`.
        features: the columns of the observation; None for all that have no other role. Of Parquet
            files, no other columns are read.
        num_actions: the number of actions of a table. By default, the extra pass finds the largest
            action, or that some are numbers that are not whole. If it is given, and the first batch
            has numbers alone, there is no such pass. 0 says that actions are real numbers, such as
            prices, and propensities their densities.
        drop_missing: whether to drop rows of a table with missing values. By default, they raise a
            ValueError that counts them.
        time: a column that no batch has, such as the `time` of rewards.
            `earlier, later = scan.split("2024-12-31")` cuts the log there.
        embedding: the columns of the categories of the action, as for `from_frame`.
        only: a pattern, such as `*.csv` or `day=2/*`, of the files of a folder that are read. By
            default, a file that is not a log is an error, unless its name begins with "." or "_".
        logger: the column of a table that says which of several logging policies a row is of. The
            extra pass counts the rows of each. Propensities are those of the mixture of all, in
            proportion to these rows. A part of the log may have other proportions: `balance` counts
            those of some rows, as `evaluate` and `learn` do of the rows that they use.

    Raises:
        ValueError: there is no log, a folder has other files, or without `features`, the first file
            lacks a column of decisions; or, while batches are read, a file is damaged or changes,
            or its columns are not those of the first. The message names the file.

    >>> import tempfile
    >>> import numpy as np
    >>> from bandit_envs.logged import write_log
    >>> log = BanditLog(np.ones((5, 1)), [0, 1, 0, 1, 1], [1.0] * 5, [0.5] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(f"{folder}/part-0.npz", log)
    ...     [len(batch) for batch in scan_log(folder, batch_rows=2)]
    [2, 2, 1]
    """
    check_integer("batch_rows", batch_rows, minimum=1)
    if num_actions is not None:
        check_integer("num_actions", num_actions, minimum=0)
    single, loggers = separate_loggers(logger, propensity)
    decision = [action, reward, single]
    check_roles(decision, as_list(features or []))
    if is_decisions(path) and not Path(path).is_dir():
        if features is not None or loggers is not None:
            name = "features" if loggers is None else "logger"
            raise ValueError(f"{name} is given; {path} says itself what its features are")
        return _scan_decisions(Path(path), batch_rows, time)
    if features is None:
        if not Path(path).is_dir() and Path(path).exists():
            check_suffix(Path(path))
        parts = find_parts(Path(path), LOG_SUFFIXES, only)
        if is_written(parts.found[0]):
            if loggers is not None:
                raise ValueError(f"logger is for a table of your own; write_log wrote {path}")
            return WrittenScan(parts, batch_rows, time)
    parts = find_parts(Path(path), TABLE_SUFFIXES, only)
    found = names_in_table(parts.found[0])
    columns = TableColumns.of_roles(
        decision, features, found, time=time, embedding=embedding, loggers=loggers
    )
    with errors_that_name(parts.found[0].name):
        check_column_names("it", columns.names(), found)
    return TableScan(parts, columns, batch_rows, num_actions, drop_missing)


def read_log(
    path: str | os.PathLike[str],
    *,
    only: str | None = None,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
    embedding: str | Sequence[str] = (),
    logger: str | None = None,
) -> BanditLog:
    """Reads what `write_log` wrote, a table, or all such files in a folder, by their names' order.

    Nothing is unpickled. CSV may be compressed. Of the file of a `DecisionService`, the decisions
    are read that have a reward. The arguments are those of `scan_log`, whose batches it joins:
    those after `only` say what the columns of a table are.

    Raises:
        ValueError: a file is damaged, or changes while it is read; the message names it and the
            column.
    """
    scan = scan_log(
        path,
        action=action,
        reward=reward,
        propensity=propensity,
        features=features,
        num_actions=num_actions,
        drop_missing=drop_missing,
        embedding=embedding,
        only=only,
        logger=logger,
    )
    if not isinstance(scan, WrittenScan):
        batches = list(scan)
        if isinstance(scan, TableScan):
            for problem in scan.doubts:
                warnings.warn(problem, stacklevel=2)
        if isinstance(scan, DecisionScan) and not batches:
            raise ValueError(f"{path} has no decision that has a reward")
        return concatenate(batches)
    logs: list[BanditLog] = []
    for part in scan.parts.found:
        with errors_that_name(part.name), refuse_changes(part):
            logs.append(read_file(part.file))
            concatenate([logs[0][:0], logs[-1][:0]])  # an error if their columns differ
    return logs[0] if len(logs) == 1 else concatenate(logs)  # which is of native byte order


@dataclasses.dataclass(frozen=True)
class PartBatches:
    """The batches of a file of a scan. Every loop over them reads the file anew."""

    scan: Scan
    part: Part

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        return self.scan.scan_part(self.part)


class Scan(abc.ABC):
    """A log that can be read again. Every loop over its batches reads files anew."""

    parts: Parts
    batch_rows: int
    time: str | None

    features: Sequence[str] = ()
    """The columns of its features, in their order; () if they have no names."""

    condition = ""
    """What its rows must meet, in messages."""

    @abc.abstractmethod
    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""

    @abc.abstractmethod
    def scan_part(self, part: Part) -> Iterator[BanditLog]:
        """Yields the batches of one of the files."""

    @property
    def name(self) -> str:
        """Names it in messages."""
        return os.path.commonpath([part.file for part in self.parts.found])

    def part_names(self) -> Iterable[str]:
        """Returns what names the parts in messages."""
        return [part.name for part in self.parts.found]

    def cut(self, by_workers: bool) -> list[Iterable[BanditLog]]:
        """Returns the batches of each part; the parts are perhaps sent to workers."""
        return [PartBatches(self, part) for part in self.parts.found]

    @property
    def num_bytes(self) -> int:
        """How many bytes its files have."""
        return sum(part.version.size for part in self.parts.found)

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
            names = ", ".join(left_out[:NAMED])
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
        name = self._time_column()
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

    @property
    def unread(self) -> str:
        """Says which columns `keep_features` has left out; "" for none."""
        return ""

    def with_time(self: ScanType, name: str) -> ScanType:
        """Returns the same scan with a column of times, by which `split` cuts."""
        return self._replace(time=name)

    def _time_column(self) -> str | None:
        """Returns the name of the column of times."""
        return self.time

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

    def scan_part(self, part: Part) -> Iterator[BanditLog]:
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


@dataclasses.dataclass(frozen=True)
class WrittenScan(Scan):
    """A log in files that `write_log` wrote.

    Args:
        parts: the files, in order.
        batch_rows: the most rows of a batch.
        time: the column of times, named as `to_frame` names it, such as "step"; or a key of the
            folders.
        reads_observation: whether batches have the observation, rather than one of no features.
    """

    parts: Parts
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    reads_observation: bool = True

    def __iter__(self) -> Iterator[BanditLog]:
        first: BanditLog | None = None
        for part in self.parts.found:
            for batch in self.scan_part(part):
                with errors_that_name(part.name):
                    first = batch[:0] if first is None else first
                    concatenate([first, batch[:0]])  # an error if their columns differ
                yield batch

    def scan_part(self, part: Part) -> Iterator[BanditLog]:
        with errors_that_name(part.name), refuse_changes(part):
            yield from _scan_written(part.file, self.batch_rows, self.reads_observation)

    def keep_features(self, names: Sequence[str]) -> WrittenScan:
        if names or not _are_parquet(self.parts):
            return self
        for part in self.parts.found:
            with errors_that_name(part.name), refuse_changes(part):
                layout = read_parquet_layout(part.file)
            if not has_plain_observation(layout):
                return self
        return dataclasses.replace(self, reads_observation=False)

    @property
    def unread(self) -> str:
        return "" if self.reads_observation else "observations are"

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for part in self.parts.found:
            yield from times_of_batches(self.scan_part(part), name, part.name, part.keys)


@dataclasses.dataclass(frozen=True)
class DecisionScan(Scan):
    """The log in a file of decisions, as it was when the scan was made.

    Decisions without a reward are left out, and the others are in the order of their rewards: a
    log that grows begins with the rows that it had.

    Args:
        parts: the file.
        decisions: what it held.
        batch_rows: the most rows of a batch.
        time: the column of times: `time`, when the rewards came, in UTC; or one that `to_frame`
            names.
    """

    parts: Parts
    decisions: DecisionFile
    batch_rows: int = BATCH_ROWS
    time: str | None = None

    condition = " of decisions that have a reward"

    def __iter__(self) -> Iterator[BanditLog]:
        return self.decisions.scan(self.batch_rows)

    def scan_part(self, part: Part) -> Iterator[BanditLog]:
        return iter(self)

    def remarks(self) -> list[str]:
        size, pending = self.decisions.count_decisions()
        left_out = f"{pending} of {size} decisions have no reward, and are left out"
        return [*super().remarks(), left_out]

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        source = self.parts.found[0].name
        if name == "time":
            return self.decisions.scan_times(self.batch_rows, source)
        return times_of_batches(self, name, source, {})


def _scan_decisions(
    path: Path, batch_rows: int = BATCH_ROWS, time: str | None = None
) -> DecisionScan:
    """Returns a scan of what a file of decisions holds now."""
    decisions = DecisionFile.open(path)
    return DecisionScan(find_parts(path, DECISION_SUFFIXES), decisions, batch_rows, time)


@dataclasses.dataclass(frozen=True)
class TableScan(Scan):
    """A log in users' tables.

    Args:
        parts: the files, in order; CSV or Parquet.
        columns: which columns are those of a log.
        batch_rows: the most rows of a batch.
        num_actions: by default, the files are read once to find the largest action.
        drop_missing: whether rows that miss values are left out; by default, they are an error.
        encoding: how columns become numbers; by default, the files are read once to find it.
        num_unread: how many columns of features `keep_features` has left out.
    """

    parts: Parts
    columns: TableColumns
    batch_rows: int = BATCH_ROWS
    num_actions: int | None = None
    drop_missing: bool = False
    encoding: TableEncoding = None  # type: ignore[assignment]  # __post_init__ finds it
    num_unread: int = 0

    def __post_init__(self) -> None:
        """Finds the encoding, and the number of actions."""
        if self.encoding is None:
            columns, encoding, num_actions = find_encoding(
                self.parts, self.columns, self.batch_rows, self.num_actions
            )
            object.__setattr__(self, "columns", columns)
            object.__setattr__(self, "encoding", encoding)
            object.__setattr__(self, "num_actions", num_actions)

    def __iter__(self) -> Iterator[BanditLog]:
        for part in self.parts.found:
            yield from self.scan_part(part)

    def scan_part(self, part: Part) -> Iterator[BanditLog]:
        for frame in self._scan_frames(part, self.columns.names()):
            yield self._make_batch(part, frame)

    @property
    def features(self) -> Sequence[str]:  # type: ignore[override]
        return self.columns.features

    @property
    def condition(self) -> str:  # type: ignore[override]
        return " without missing values" if self.drop_missing else ""

    @property
    def doubts(self) -> list[str]:
        """Columns that are perhaps read in another way than they are meant, in words."""
        unnamed = self.columns.unnamed
        found = [describe_unnamed(unnamed)] if unnamed else []
        return [*found, *self.encoding.find_other_dates()]

    def remarks(self) -> list[str]:
        lines = super().remarks()
        if self.drop_missing:
            missing = self.find_missing()
            lines.append(f"{missing.rows} of {missing.size} rows miss values, and are left out")
        lines += self.doubts
        if self.columns.loggers is not None:
            found = f"logging policies: {self.columns.loggers}"
            lines.append(f"{found}; propensities are of their mixture in the rows that are used")
        return lines

    def limit(self, rows: int, numbers: int) -> TableScan:
        # No batch is read first, which may have too many features.
        width = max(self.num_actions or 0, len(self.encoding.labels()), 1)
        return self._replace(batch_rows=min(self.batch_rows, rows, max(1, numbers // width)))

    def _make_batch(self, part: Part, frame: Any) -> BanditLog:
        """Returns the log of some rows of a file; ValueError if values are missing or wrong."""
        complete = self._drop_missing(frame)
        with errors_that_name(part.name):
            return encode_frame(complete, self.columns, self.encoding, self.num_actions)

    def _drop_missing(self, frame: Any) -> Any:
        """Returns the rows that miss no value; ValueError if others may not be left out."""
        complete = frame.dropna()
        if len(complete) < len(frame) and not self.drop_missing:
            self.find_missing().check_none()
        return complete

    def find_missing(self) -> MissingValues:
        """Returns which values the columns miss."""
        names = self.columns.names()
        found = MissingValues(size=0, rows=0, columns={})
        for part in self.parts.found:
            for frame in self._scan_frames(part, names):
                found = found.merge(MissingValues.from_frame(frame, names, part.name))
        return found

    def keep_features(self, names: Sequence[str]) -> TableScan:
        if self.drop_missing or not _are_parquet(self.parts):
            return self
        kept = [name for name in self.columns.features if name in names]
        return dataclasses.replace(
            self,
            columns=dataclasses.replace(self.columns, features=tuple(kept)),
            encoding=self.encoding.keep(kept),
            num_unread=self.num_unread + len(self.columns.features) - len(kept),
        )

    @property
    def unread(self) -> str:
        if not self.num_unread:
            return ""
        return f"{self.num_unread} {'feature is' if self.num_unread == 1 else 'features are'}"

    def balance(self, start: int, stop: int) -> TableScan:
        loggers = self.columns.loggers
        if loggers is None:
            return self
        names = self.columns.names() if self.drop_missing else [loggers.logger]
        counts: collections.Counter[str] = collections.Counter()
        row = 0
        for part in self.parts.found:
            for frame in self._scan_frames(part, names):
                complete = self._drop_missing(frame)
                own = complete.iloc[max(start - row, 0) : max(stop - row, 0)]
                counts.update(loggers.count(own))
                row += len(complete)
        mixed = dataclasses.replace(loggers, rows=dict(counts), counted=(start, stop))
        columns = dataclasses.replace(self.columns, loggers=mixed)
        return dataclasses.replace(self, columns=columns)

    def with_time(self, name: str) -> TableScan:
        columns = self.columns.with_time(name)
        encoding = self.encoding
        if name not in columns.features:
            encoding = encoding.without(name)
        return dataclasses.replace(self, columns=columns, encoding=encoding)

    def _time_column(self) -> str | None:
        return self.columns.time

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        # If rows are left out, all columns decide which.
        names = self.columns.names() if self.drop_missing else [name]
        for part in self.parts.found:
            for frame in self._scan_frames(part, names):
                complete = self._drop_missing(frame)
                place = functools.partial(_place_in_frame, part.name, complete.index)
                yield TimesOfRows(complete[name].to_numpy(), place)

    def _scan_frames(self, part: Part, names: Sequence[str]) -> Iterator[Any]:
        """Yields some columns of a file as data frames."""
        with errors_that_name(part.name), refuse_changes(part):
            yield from scan_frames(part, self.batch_rows, names, self._texts())

    def _texts(self) -> list[str]:
        """Returns the columns of names and texts, whose cells are not to be read as numbers."""
        texts = [each.name for each in self.encoding.features if isinstance(each, TextColumn)]
        texts += [self.columns.action] if self.encoding.actions else []
        return self.columns.texts(texts)


FileScan: TypeAlias = WrittenScan | TableScan | DecisionScan
"""A log in files, as `scan_log` returns it."""


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
        for key, value in keys.items():
            columns[key] = np.array([value] * len(batch))
        if name not in columns:
            known = list(columns)[:20]
            raise ValueError(f"the log has no column {name!r}; it has {known}")
        place = functools.partial(_place_of_row, source, first_row)
        yield TimesOfRows(columns[name], place)
        first_row += len(batch)


def _place_of_row(source: str, first_row: int, row: int) -> str:
    """Says where a row of a batch is in a log."""
    return f"row {first_row + row} of {source}"


def _place_in_frame(name: str, index: Any, row: int) -> str:
    """Says where a row of a data frame is in a file."""
    return f"{index.name} {index[row]} of {name}"


def _are_parquet(parts: Parts) -> bool:
    """Returns whether columns can be read alone."""
    return all(is_parquet(part.name) for part in parts.found)


def _scan_written(file: Path, batch_rows: int, reads_observation: bool) -> Iterator[BanditLog]:
    """Yields the batches of a file that `write_log` wrote.

    Args:
        file: which is read.
        batch_rows: the most rows of a batch.
        reads_observation: whether they have the observation, of which a file is read by column.
    """
    if is_archive(file.name):
        log = read_file(file)
        for start in range(0, len(log), batch_rows):
            yield log[start : start + batch_rows]
        return
    if is_parquet(file):
        layout = read_parquet_layout(file)
        names = None
        if not reads_observation:
            layout = without_observation(layout)
            names = list(labels_of(layout))
        frames = scan_parquet(file, batch_rows, names)
    else:
        layout = read_csv_layout(file)
        frames = scan_csv(file, batch_rows, **csv_options(layout))
    rows = 0
    for frame in frames:
        rows += len(frame)
        layout_of_batch = layout.copy()
        layout_of_batch["rows"] = len(frame)
        yield join_frame(layout_of_batch, frame)
    if rows != layout["rows"]:
        raise ValueError(f"it has {rows} rows; expected {layout['rows']}")
