"""How the columns of a table become numbers: names of actions, levels of texts, times.

Experimental: these names may change in any minor version.

An encoding belongs to the table that it is found in, and to all that learns from it. What it knows
can be written as plain values.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import datetime
import math
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats

__all__ = ["Column", "NumberColumn", "TableEncoding", "TextColumn", "TimeColumn"]

MAX_LEVELS = 256
"""A column of texts may have so many different ones, each of which becomes a feature."""

MAX_NAMES = 2**16
"""A table may have so many names of actions."""

NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.IGNORECASE
)
TRUTHS = {"true": 1, "false": 0}
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # which cannot be printed or written
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?)"
    r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
)
OTHER_DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2}"
    r"|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2})([T ,].*)?"
)
DAY = 86_400_000_000  # microseconds
ORIGIN = np.datetime64("2000-01-03", "us")  # a Monday
DAYS_OF_YEAR = 365.2425
SHOWN = 5  # names that a message has at most


def parse_number(value: Any) -> int | float | None:
    """Returns the number of a cell of a table, or the one that its text says; None if it has none.

    Booleans are 1 and 0, as pandas reads a column of them. Texts are as pandas reads columns of
    numbers: 1_000 is not a number, and neither are digits other than 0 to 9.

    >>> [parse_number(cell) for cell in (True, " 2.5", "1_0", "red")]
    [1, 2.5, None, None]
    """
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text) else TRUTHS.get(text.lower())
    if isinstance(value, (numbers.Integral, np.bool_)):
        return int(value)
    is_number = isinstance(value, numbers.Number) and not isinstance(value, numbers.Complex)
    if not is_number and not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # such as a large fraction, and Decimal("sNaN")
        return math.nan


def parse_time(value: Any) -> np.datetime64 | None:
    """Returns the time of a cell, as a clock showed it there; None if it has none.

    Texts are as in 2024-12-31, 2024-12-31 23:59 or 2024-12-31T23:59:30.5+01:00.

    >>> parse_time("2024-12-31 23:59+01:00")
    np.datetime64('2024-12-31T23:59:00.000000')
    """
    try:
        if isinstance(value, str):
            match = TIME.fullmatch(value.strip())
            return np.datetime64(match[1], "us") if match else None
        if isinstance(value, datetime.datetime):
            return np.datetime64(value.replace(tzinfo=None).isoformat(), "us")
        if isinstance(value, datetime.date):
            return np.datetime64(value.isoformat(), "us")
        if isinstance(value, np.datetime64):
            time: np.datetime64 = value.astype("M8[us]")
            return time
    except ValueError:  # such as of February 30
        pass
    return None


@dataclasses.dataclass(frozen=True)
class Column(abc.ABC):
    """A column of a table, and how its cells become features.

    Args:
        name: of the column.
    """

    name: str
    kind: ClassVar[str]  # as files call it

    @abc.abstractmethod
    def labels(self) -> list[str]:
        """Returns the names of the features."""

    @abc.abstractmethod
    def encode(self, cells: Array) -> Floats:
        """Returns the features [n, width] of cells [n], none of which is missing.

        Raises:
            ValueError: a cell is of another kind. A text that is not a level has features of 0.
        """

    def plain(self) -> dict[str, Any]:
        """Returns plain values that say what the column is."""
        return {"name": self.name, "kind": self.kind}


class NumberColumn(Column):
    """A column of numbers, which are features as they are."""

    kind = "number"

    def labels(self) -> list[str]:
        return [self.name]

    def encode(self, cells: Array) -> Floats:
        return np.asarray(as_numbers(cells)[:, np.newaxis])


@dataclasses.dataclass(frozen=True)
class TextColumn(Column):
    """A column of texts: a feature for each level, which is 1 where the text is this one, else 0.

    Args:
        levels: the texts, each once.
    """

    levels: tuple[str, ...] = ()
    kind = "text"

    def labels(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels]

    def encode(self, cells: Array) -> Floats:
        places = find_places(self.levels, cells)
        return np.asarray(places[:, np.newaxis] == np.arange(len(self.levels)), np.float64)

    def plain(self) -> dict[str, Any]:
        return {**super().plain(), "levels": list(self.levels)}


class TimeColumn(Column):
    """A column of dates or times: five features.

    They are the years since 2000, and the sine and the cosine of where the time is in its day and
    in its week, which begins on Monday.
    """

    kind = "time"

    def labels(self) -> list[str]:
        parts = ["years", "day_sin", "day_cos", "week_sin", "week_cos"]
        return [f"{self.name}.{part}" for part in parts]

    def encode(self, cells: Array) -> Floats:
        times = as_times(cells)
        days = (times - ORIGIN).astype(np.int64) / DAY
        days[np.isnat(times)] = np.nan
        of_day = 2.0 * np.pi * (days % 1.0)
        of_week = 2.0 * np.pi * (days % 7.0) / 7.0
        years = (days + 2.0) / DAYS_OF_YEAR
        circles = [np.sin(of_day), np.cos(of_day), np.sin(of_week), np.cos(of_week)]
        return np.column_stack([years, *circles])


KINDS: dict[str, type[Column]] = {
    "number": NumberColumn,
    "text": TextColumn,
    "time": TimeColumn,
}


@dataclasses.dataclass(frozen=True)
class TableEncoding:
    """How a table became the numbers of a log: the names of its actions, and its columns.

    Experimental: it may change in any minor version.

    Args:
        actions: the names of the actions, in the order of their numbers; () if they have none.
        features: the columns of the observation, in the order of their features.

    >>> encoding = TableEncoding(("hats", "shoes"), (TextColumn("country", ("DE", "FR")),))
    >>> encoding.labels()
    ['country=DE', 'country=FR']
    """

    actions: tuple[str, ...] = ()
    features: tuple[Column, ...] = ()

    @property
    def has_names(self) -> bool:
        """Whether another encoding would give the same numbers another meaning."""
        return bool(self.actions) or not all(isinstance(c, NumberColumn) for c in self.features)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the features."""
        return [column.name for column in self.features]

    def labels(self) -> list[str]:
        """Returns the names of the features."""
        return [label for column in self.features for label in column.labels()]

    def without(self, name: str) -> TableEncoding:
        """Returns the same encoding without a column of the features."""
        return self.keep([each for each in self.names if each != name])

    def keep(self, names: Sequence[str]) -> TableEncoding:
        """Returns the same encoding of some columns of the features alone."""
        kept = tuple(column for column in self.features if column.name in names)
        return dataclasses.replace(self, features=kept)

    def add_actions(self, names: Iterable[str]) -> TableEncoding:
        """Returns the same encoding with more names of actions behind its own."""
        new = sorted({*names} - {*self.actions})
        return dataclasses.replace(self, actions=(*self.actions, *new))

    def translate(self, features: Floats, other: TableEncoding) -> Floats:
        """Returns features in this encoding of rows that another one has encoded: [n, d].

        Columns and levels that this encoding lacks are left out: the features of a text that it
        lacks are 0.

        Raises:
            ValueError: the other one lacks a column, or has it as one of another kind.
        """
        known = {column.name: column for column in other.features}
        for column in self.features:
            if column.name not in known:
                raise ValueError(f"there is no column {column.name!r}; it has {other.names}")
            found = known[column.name]
            if found.kind != column.kind:
                problem = f"column {column.name!r} is of the kind {found.kind}"
                raise ValueError(f"{problem}; expected {column.kind}")
        places = {label: place for place, label in enumerate(other._labels_of_columns())}
        wanted = [places.get(label, -1) for label in self._labels_of_columns()]
        padded = np.concatenate([features, np.zeros((len(features), 1))], axis=1)
        return np.asarray(padded[:, wanted])

    def _labels_of_columns(self) -> list[tuple[str, str]]:
        """Returns the column and the name of each feature; two columns may have one such name."""
        return [(column.name, label) for column in self.features for label in column.labels()]

    def find_new(self, other: TableEncoding) -> list[str]:
        """Returns the levels of texts that another encoding has, and this one lacks, in words."""
        known = {column.name: column for column in other.features}
        found: list[str] = []
        for column in self.features:
            later = known.get(column.name)
            if isinstance(column, TextColumn) and isinstance(later, TextColumn):
                new = sorted({*later.levels} - {*column.levels})
                if new:
                    found.append(f"{column.name} {name_some(new)}")
        return found

    def find_other_dates(self) -> list[str]:
        """Returns which columns of texts have dates that are not written as 2024-12-31, in words.

        >>> TableEncoding((), (TextColumn("day", ("16.02.2026",)),)).find_other_dates()
        ["column 'day' is of texts, as '16.02.2026'; dates are written as 2024-12-31"]
        """
        found: list[str] = []
        for column in self.features:
            levels = column.levels if isinstance(column, TextColumn) else ()
            if levels and all(OTHER_DATE.fullmatch(level.strip()) for level in levels):
                problem = f"column {column.name!r} is of texts, as {levels[0]!r}"
                found.append(f"{problem}; dates are written as 2024-12-31")
        return found

    def plain(self) -> dict[str, Any]:
        """Returns plain values, of which `from_plain` makes the encoding again."""
        features = [column.plain() for column in self.features]
        return {"actions": list(self.actions), "features": features}

    @classmethod
    def from_plain(cls, plain: Any) -> TableEncoding:
        """Returns the encoding of what `plain` returns; ValueError if it is something else."""
        if not isinstance(plain, dict) or {*plain} != {"actions", "features"}:
            raise ValueError("encoding has other fields than actions and features")
        actions = _read_names("the names of actions", plain["actions"])
        if not isinstance(plain["features"], list):
            raise ValueError("the features of encoding are not a list")
        return cls(actions, tuple(_read_column(each) for each in plain["features"]))

    def __str__(self) -> str:
        texts = []
        for column in self.features:
            if isinstance(column, TextColumn):
                texts.append(f"{column.name} ({len(column.levels)} levels)")
            elif isinstance(column, TimeColumn):
                texts.append(f"{column.name} (time)")
            else:
                texts.append(column.name)
        return ", ".join(texts) or "none"


@dataclasses.dataclass(frozen=True)
class CellCounts:
    """What kinds of cells a part of a column has. Those of parts merge.

    Args:
        numbers: how many are numbers, or say one.
        times: how many are dates or times, or say one.
        texts: how many are neither.
        names: the different cells as texts; None if they are too many.
        is_whole: whether `names` are all of them, as they stand in the table.
        limit: `names` has at most so many.
    """

    numbers: int = 0
    times: int = 0
    texts: int = 0
    names: frozenset[str] | None = frozenset()
    is_whole: bool = True
    limit: int = MAX_LEVELS

    @classmethod
    def from_cells(
        cls, cells: Array, limit: int = MAX_LEVELS, as_texts: bool = False
    ) -> CellCounts:
        """Returns the counts of cells [n], none of which is missing.

        Args:
            cells: of a part of a column.
            limit: of different cells that are kept.
            as_texts: whether it is known that the column is of texts, so that all are kept.
        """
        size = len(cells)
        if cells.dtype.kind in "biuf" and not as_texts:
            return cls(numbers=size, is_whole=not size, limit=limit)
        if cells.dtype.kind == "M" and not as_texts:
            return cls(times=size, is_whole=not size, limit=limit)
        counts = collections.Counter(_as_list(cells))
        of_numbers = 0
        of_times = 0
        for cell, count in counts.items():
            if parse_number(cell) is not None:
                of_numbers += count
            elif parse_time(cell) is not None:
                of_times += count
        texts = size - of_numbers - of_times
        is_whole = as_texts or all(isinstance(cell, str) for cell in counts)
        if not texts and not (of_numbers and of_times) and not as_texts:
            return cls(of_numbers, of_times, is_whole=not size, limit=limit)  # of very many names
        names = frozenset(map(str, counts))
        return cls(
            numbers=of_numbers,
            times=of_times,
            texts=texts,
            names=names if len(names) <= limit else None,
            is_whole=is_whole,
            limit=limit,
        )

    def merge(self, other: CellCounts) -> CellCounts:
        """Returns the counts of the cells of both."""
        limit = max(self.limit, other.limit)
        names = None
        if self.names is not None and other.names is not None:
            names = self.names | other.names
            names = names if len(names) <= limit else None
        return CellCounts(
            numbers=self.numbers + other.numbers,
            times=self.times + other.times,
            texts=self.texts + other.texts,
            names=names,
            is_whole=self.is_whole and other.is_whole,
            limit=limit,
        )

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.numbers + self.times + self.texts

    @property
    def is_number(self) -> bool:
        """Whether all cells are numbers."""
        return self.texts + self.times == 0

    @property
    def is_time(self) -> bool:
        """Whether all cells are dates or times."""
        return self.times > 0 and self.numbers + self.texts == 0

    @property
    def is_text(self) -> bool:
        """Whether most cells are texts, so that others are not mistakes."""
        return 2 * self.texts > self.size

    @property
    def is_named(self) -> bool:
        """Whether most cells are not numbers: they may be names."""
        return 2 * (self.texts + self.times) > self.size

    def levels(self, name: str, advice: str) -> tuple[str, ...]:
        """Returns the different cells as texts, sorted; ValueError if they are too many.

        Args:
            name: of the column.
            advice: what to do then, in the message.
        """
        if self.names is None:
            problem = f"column {name!r} has more than {self.limit} different texts"
            raise ValueError(f"{problem}; {advice}")
        return tuple(sorted(self.names))

    def column(self, name: str) -> Column:
        """Returns how a column of features becomes numbers: of texts if any cell is one."""
        if self.is_number:
            return NumberColumn(name)
        if self.is_time:
            return TimeColumn(name)
        advice = (
            "leave it out: features=[...] or --features names the others; or put its rare texts"
            " into one; dates are written as 2024-12-31 or 2024-12-31 23:59"
        )
        return TextColumn(name, self.levels(name, advice))

    def likely_column(self, name: str) -> Column:
        """Returns how a column of features becomes numbers, if what is rare in it is a mistake."""
        if self.is_text:
            return self.column(name)
        return TimeColumn(name) if self.times > self.numbers else NumberColumn(name)


def as_numbers(cells: Array) -> Floats:
    """Returns the numbers of cells, or of their texts; NaN where a cell has no number."""
    if cells.dtype.kind in "biuf":
        return np.asarray(cells, np.float64)
    parsed = [parse_number(cell) for cell in cells.tolist()]
    return np.array([np.nan if number is None else number for number in parsed], np.float64)


def as_times(cells: Array) -> NDArray[np.datetime64]:
    """Returns the times of cells in microseconds; NaT where a cell has none."""
    if cells.dtype.kind == "M":
        return np.asarray(cells.astype("M8[us]"))
    known: dict[Any, np.datetime64] = {}
    nothing = np.datetime64("NaT", "us")
    for cell in dict.fromkeys(cells.tolist()):
        known[cell] = parse_time(cell) or nothing
    return np.array([known[cell] for cell in cells.tolist()], "M8[us]")


def find_places(names: Sequence[str], cells: Array) -> NDArray[np.int64]:
    """Returns the places of cells [n] among names: [n]; -1 where a cell is not a name."""
    places = {name: place for place, name in enumerate(names)}
    texts = _as_list(cells)
    found = {cell: places.get(str(cell), -1) for cell in dict.fromkeys(texts)}
    return np.fromiter(map(found.__getitem__, texts), np.int64, len(texts))


def _as_list(cells: Array) -> list[Any]:
    """Returns cells as Python's objects; times as texts, which pandas keeps as numbers."""
    objects: list[Any] = (cells.astype(np.str_) if cells.dtype.kind == "M" else cells).tolist()
    return objects


def name_some(names: Sequence[str]) -> str:
    """Returns the first names for a message, and how many more there are."""
    text = ", ".join(map(repr, names[:SHOWN]))
    return f"{text} and {len(names) - SHOWN} more" if len(names) > SHOWN else text


def _read_names(what: str, names: Any) -> tuple[str, ...]:
    """Returns names, each once; ValueError if they are something else."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} are not texts")
    if any(LONE_SURROGATE.search(name) for name in names):
        raise ValueError(f"{what} have characters that no text has")
    if len({*names}) < len(names):
        raise ValueError(f"{what} are not all different")
    return tuple(names)


def _read_column(plain: Any) -> Column:
    """Returns a column of what `plain` returns; ValueError if it is something else."""
    if not isinstance(plain, dict) or not isinstance(plain.get("name"), str):
        raise ValueError("encoding has a column without a name")
    _read_names("the columns of encoding", [plain["name"]])
    kind = KINDS.get(plain["kind"]) if isinstance(plain.get("kind"), str) else None
    if kind is None or {*plain} - {"name", "kind"} != ({"levels"} if kind is TextColumn else set()):
        raise ValueError(f"the column {plain['name']!r} of encoding has an unknown kind")
    if kind is TextColumn:
        levels = _read_names(f"the levels of {plain['name']!r}", plain["levels"])
        return TextColumn(plain["name"], levels)
    return kind(plain["name"])
