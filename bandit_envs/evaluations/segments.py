"""Segments of a log: its rows by the values of a column."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.checks import short_repr
from bandit_envs.evaluations.sources import Source
from bandit_envs.logged import BanditLog
from bandit_envs.logged.columns import COLUMNS
from bandit_envs.logged.files.column_layout import split_log
from bandit_envs.logged.files.scan import Scan
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.tables.encoding import TableEncoding, TextColumn

MAX_SEGMENTS = 50
"""A log has at most so many segments."""

MAX_PERIODS = 60
"""A log has at most so many weeks, months and so on."""

PERIODS = {"day": "D", "week": "D", "month": "M", "year": "Y"}
"""In which periods time is cut, with the unit of NumPy by whose first date a period is known."""

OTHER = "(other)"  # texts that are not levels
SECONDS_OF_DAY = 86_400
FIRST_WEEKDAY = 3  # 1970-01-01 was a Thursday
SHOWN = 20  # names that a message has at most


class Segment(NamedTuple):
    """Some rows of a batch.

    Fields:
        name: the value that the column has in them.
        rows: their indices in the batch.
    """

    name: str
    rows: Indices


@dataclasses.dataclass(frozen=True)
class Segmentation:
    """Cuts a log by a column.

    Args:
        column: its name: of a feature; or as `to_frame` names it, such as `step` or
            `observation.country`, of which the last part is enough.
    """

    column: str
    most: ClassVar[int] = MAX_SEGMENTS

    @classmethod
    def of(cls, by: str, scan: Scan | None = None) -> Segmentation:
        """Returns what cuts a log by a column, or by a period such as "month" or "day:month".

        Args:
            by: as a user gives it.
            scan: the log, of which a feature may be called so; None if it has no features.
        """
        column, _, period = by.rpartition(":") if isinstance(by, str) else ("", "", "")
        if period in PERIODS and by not in _features_of(scan):
            return TimePeriods(by, column, period)
        return cls(by)

    def date(self, source: Source) -> Source:
        """Returns a log whose batches have what it is cut by."""
        return source

    def __post_init__(self) -> None:
        """Raises TypeError if the column has no name."""
        if not (isinstance(self.column, str) and self.column):
            raise TypeError(f"by is {short_repr(self.column)}; expected the name of a column")

    def find_feature(self, features: Sequence[str]) -> list[str] | None:
        """Returns which feature it needs of a log; [] for none; None if that is not known.

        Args:
            features: the columns of the features of the log.
        """
        if self.column in features:
            return [self.column]
        return [] if self.column.partition("[")[0] in COLUMNS else None

    def check(self, batch: BanditLog) -> None:
        """Raises ValueError if the batches of a log have no such column."""
        self._find(batch)

    def cut(self, batch: BanditLog | SlateLog) -> Iterator[Segment]:
        """Yields the segments of a batch.

        Raises:
            ValueError: there is no such column, or it has other values than whole numbers and
                texts, or too many.
        """
        column = self._find(batch)
        if column.dtype.kind == "f":
            is_whole = np.isfinite(column) & (column == np.floor(column))
            if not is_whole.all():
                problem = f"the column {self.column} has {column[is_whole.argmin()]:g}"
                raise ValueError(f"{problem}; segments are of whole numbers or texts")
            column = column.astype(np.int64)
        values, places = np.unique(column, return_inverse=True)
        self.check_number(len(values))
        for place, value in enumerate(values.tolist()):
            yield Segment(str(value), np.flatnonzero(places == place))

    def check_number(self, segments: int) -> None:
        """Raises ValueError if a log has too many segments."""
        if segments > self.most:
            problem = f"the column {self.column} has more than {self.most} values"
            raise ValueError(f"{problem}; segments are of fewer")

    def _find(self, batch: BanditLog | SlateLog) -> Array:
        """Returns the column [n]."""
        encoding = batch.encoding
        if encoding is not None and self.column in encoding.names:
            contexts: Any = batch.observation
            if encoding.item_features:
                contexts = contexts["global"]
            return _decode(encoding, self.column, contexts)
        columns = {} if isinstance(batch, SlateLog) else split_log(batch)[1]
        for name in (self.column, f"observation.{self.column}"):
            if name in columns:
                return columns[name]
        found = f"by is {short_repr(self.column)}"
        known = list(columns)
        if encoding is not None and encoding.item_features:
            known = [name for name in known if "[" not in name]  # others are of places of items
            if self.column in encoding.of_items().names:
                found += ", a feature of items, of which a decision has several"
        names = [] if encoding is None else encoding.names
        expected = f"expected a column of {[*names, *known][:SHOWN]}"
        raise ValueError(f"{found}; {expected}, or of dates with a period, as day:month")


@dataclasses.dataclass(frozen=True)
class TimePeriods(Segmentation):
    """Cuts a log by the week, month and so on of its times.

    Args:
        column: names the periods.
        times: the column of the times of a table; "" for the one that is named already.
        period: "day", "week", which begins on Monday and is known by its date, "month" or "year".
    """

    times: str
    period: str
    most: ClassVar[int] = MAX_PERIODS

    def find_feature(self, features: Sequence[str]) -> list[str]:
        return []

    def date(self, source: Source) -> Source:
        return dataclasses.replace(source, scan=source.scan.with_dates(self.times))

    def _find(self, batch: BanditLog | SlateLog) -> Array:
        """Returns the periods of the rows as texts: [n]."""
        seconds = None if isinstance(batch, SlateLog) else batch.time
        if seconds is None:
            problem = f"by is {short_repr(self.column)}, and the log has no times"
            raise ValueError(f"{problem}; expected a column of dates, as in day:month")
        days = np.floor(seconds / SECONDS_OF_DAY).astype(np.int64)
        if self.period == "week":
            days -= (days + FIRST_WEEKDAY) % 7
        different, places = np.unique(days, return_inverse=True)
        dates = different.astype("M8[D]").astype(f"M8[{PERIODS[self.period]}]")
        return np.asarray(np.datetime_as_string(dates)[places.reshape(-1)])


def _features_of(scan: Scan | None) -> Sequence[str]:
    """Returns the columns of the features of a log; () if they have no names."""
    if scan is None:
        return ()
    if scan.features:
        return scan.features
    first = next(iter(scan), None)
    return () if first is None or first.encoding is None else first.encoding.names


def _decode(encoding: TableEncoding, name: str, features: Floats) -> Array:
    """Returns a column of a table [n], of its features [n, d]; ValueError if it is of times."""
    start = 0
    for column in encoding.features:
        width = len(column.labels())
        if column.name == name:
            break
        start += width
    own = features[:, start : start + width]
    if isinstance(column, TextColumn):
        levels = np.array([*column.levels, OTHER])
        return np.asarray(levels[np.where(own.any(axis=1), own.argmax(axis=1), width)])
    if width > 1:
        raise ValueError(f"the column {name} is of times; segments are of whole numbers or texts")
    return own[:, 0]


def order_names(names: Sequence[str]) -> list[str]:
    """Returns the names of segments as numbers if they are all of them, or else as texts.

    >>> order_names(["10", "9"]), order_names(["b", "9", "10"])
    (['9', '10'], ['10', '9', 'b'])
    """
    try:
        return sorted(names, key=int)
    except ValueError:
        return sorted(names)
