"""How the columns of a table become numbers: names of actions, levels of texts, times.

Experimental: these names may change in any minor version.

An encoding belongs to the table that it is found in, and to all that learns from it. What it knows
can be written as plain values.
"""

from __future__ import annotations

import abc
import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.names.visible import visible
from bandit_envs.tables.cells import as_numbers, as_times, cells_of, find_places, read_reals
from bandit_envs.tables.errors import check_column, name_some

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["NumberColumn", "TableEncoding", "TextColumn", "TimeColumn"]

LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # which cannot be printed or written
OTHER_DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2}"
    r"|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2})([T ,].*)?"
)
DAY = 86_400_000_000  # microseconds
ORIGIN = np.datetime64("2000-01-03", "us")  # a Monday
DAYS_OF_YEAR = 365.2425


@dataclasses.dataclass(frozen=True)
class TableColumn(abc.ABC):
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

    def read(self, frame: DataFrame) -> Floats:
        """Returns the features [n, width] of a data frame, which misses no value.

        Raises:
            ValueError: a cell is of another kind; the message has its row, or its line in a file.
        """
        return self.encode(cells_of(frame, self.name))

    def plain(self) -> dict[str, Any]:
        """Returns plain values that say what the column is."""
        return {"name": self.name, "kind": self.kind}


class NumberColumn(TableColumn):
    """A column of numbers, which are features as they are."""

    kind = "number"

    def labels(self) -> list[str]:
        return [self.name]

    def encode(self, cells: Array) -> Floats:
        return np.asarray(as_numbers(cells)[:, np.newaxis])

    def read(self, frame: DataFrame) -> Floats:
        return read_reals(frame, self.name)[:, np.newaxis]


@dataclasses.dataclass(frozen=True)
class TextColumn(TableColumn):
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


class TimeColumn(TableColumn):
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

    def read(self, frame: DataFrame) -> Floats:
        times = as_times(cells_of(frame, self.name))
        expected = "a date or a time, as in 2024-12-31 23:59"
        check_column(frame, self.name, ~np.isnat(times), expected)
        return self.encode(times)


KINDS: dict[str, type[TableColumn]] = {
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
        features: the columns of the observation, in the order of their features; if actions are
            items, those of the context, `global`.
        item_features: the columns of the items, `per_arm`, in the order of their features; () if
            actions are no items with features.
        items: the names of the items, in the order of their numbers. No model needs them.

    >>> encoding = TableEncoding(("hats", "shoes"), (TextColumn("country", ("DE", "FR")),))
    >>> encoding.labels()
    ['country=DE', 'country=FR']
    """

    actions: tuple[str, ...] = ()
    features: tuple[TableColumn, ...] = ()
    item_features: tuple[TableColumn, ...] = ()
    items: tuple[str, ...] = ()

    @property
    def has_names(self) -> bool:
        """Whether another encoding would give the same numbers another meaning."""
        columns = (*self.features, *self.item_features)
        is_plain = all(isinstance(column, NumberColumn) for column in columns)
        return bool(self.actions or self.items) or not is_plain

    @property
    def names_features(self) -> bool:
        """Whether it has columns, of contexts or of items."""
        return bool(self.features or self.item_features)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the features."""
        return [column.name for column in self.features]

    @property
    def texts(self) -> list[TextColumn]:
        """The columns of texts, of contexts and of items."""
        columns = (*self.features, *self.item_features)
        return [column for column in columns if isinstance(column, TextColumn)]

    def labels(self) -> list[str]:
        """Returns the names of the features."""
        return [label for column in self.features for label in column.labels()]

    def of_items(self) -> TableEncoding:
        """Returns the encoding of the features of an item alone, as those of an observation."""
        return TableEncoding(features=self.item_features)

    def read(self, frame: DataFrame) -> Floats:
        """Returns the features [n, d] of a data frame, as the columns read them."""
        parts = [np.empty((len(frame), 0))]
        parts.extend(column.read(frame) for column in self.features)
        return np.concatenate(parts, axis=1)

    def keep(self, names: Sequence[str]) -> TableEncoding:
        """Returns the same encoding of some columns of the features alone."""
        kept = tuple(column for column in self.features if column.name in names)
        return dataclasses.replace(self, features=kept)

    def add_actions(self, names: Iterable[str]) -> TableEncoding:
        """Returns the same encoding with more names of actions behind its own."""
        new = sorted({*names} - {*self.actions})
        return dataclasses.replace(self, actions=(*self.actions, *new))

    def join(self, other: TableEncoding) -> TableEncoding:
        """Returns an encoding of the rows of both: of all names and levels, its own first.

        Raises:
            ValueError: the other one has other columns, or a column of another kind.
        """
        joined = self.add_actions(other.actions)
        return dataclasses.replace(
            joined,
            features=_join_columns(self.features, other.features),
            item_features=_join_columns(self.item_features, other.item_features),
            items=tuple(dict.fromkeys((*self.items, *other.items))),
        )

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
                    found.append(f"{visible(column.name)} {name_some(new)}")
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
        plain: dict[str, Any] = {"actions": list(self.actions), "features": features}
        if self.item_features:
            plain["item_features"] = [column.plain() for column in self.item_features]
        if self.items:
            plain["items"] = list(self.items)
        return plain

    @classmethod
    def from_plain(cls, plain: Any) -> TableEncoding:
        """Returns the encoding of what `plain` returns; ValueError if it is something else."""
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(plain, dict) or not {"actions", "features"} <= {*plain} <= fields:
            raise ValueError(f"encoding has other fields than {', '.join(sorted(fields))}")
        return cls(
            actions=_read_names("the names of actions", plain["actions"]),
            features=_read_columns("the features", plain["features"]),
            item_features=_read_columns("the features of items", plain.get("item_features", [])),
            items=_read_names("the names of items", plain.get("items", [])),
        )

    def __str__(self) -> str:
        text = _describe_columns(self.features)
        if self.item_features:
            return f"{text}; of items: {_describe_columns(self.item_features)}"
        return text


def _describe_columns(columns: Iterable[TableColumn]) -> str:
    """Returns the names of columns, with how many levels texts have; "none" without columns."""
    texts = []
    for column in columns:
        name = visible(column.name)
        if isinstance(column, TextColumn):
            texts.append(f"{name} ({len(column.levels)} levels)")
        elif isinstance(column, TimeColumn):
            texts.append(f"{name} (time)")
        else:
            texts.append(name)
    return ", ".join(texts) or "none"


def _join_columns(
    columns: Sequence[TableColumn], others: Sequence[TableColumn]
) -> tuple[TableColumn, ...]:
    """Returns columns with the levels of the same columns of another encoding, too."""
    found = {column.name: column for column in others}
    names = [column.name for column in columns]
    if {*names} != {*found}:
        raise ValueError(f"the columns of features are {[*found]}; expected {names}")
    joined: list[TableColumn] = []
    for column in columns:
        other = found[column.name]
        if other.kind != column.kind:
            problem = f"column {column.name!r} is of the kind {other.kind}"
            raise ValueError(f"{problem}; expected {column.kind}")
        if isinstance(column, TextColumn) and isinstance(other, TextColumn):
            levels = dict.fromkeys((*column.levels, *other.levels))
            joined.append(TextColumn(column.name, tuple(levels)))
        else:
            joined.append(column)
    return tuple(joined)


def _read_names(what: str, names: Any) -> tuple[str, ...]:
    """Returns names, each once; ValueError if they are something else."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} are not texts")
    if any(LONE_SURROGATE.search(name) for name in names):
        raise ValueError(f"{what} have characters that no text has")
    if len({*names}) < len(names):
        raise ValueError(f"{what} are not all different")
    return tuple(names)


def _read_columns(what: str, plain: Any) -> tuple[TableColumn, ...]:
    """Returns columns of a list of what their `plain` returns; ValueError if it is no such list."""
    if not isinstance(plain, list):
        raise ValueError(f"{what} of encoding are not a list")
    return tuple(_read_column(each) for each in plain)


def _read_column(plain: Any) -> TableColumn:
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
