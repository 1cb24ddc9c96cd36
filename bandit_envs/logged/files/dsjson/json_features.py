"""Vowpal Wabbit's JSON features: which columns they form, and their numbers.

A feature is named by its path, such as "user^age": the keys of the objects that it is in. Objects
with the same keys and the same types of values have one `Shape`, by which they are read fast.
"""

from __future__ import annotations

import collections
import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.files.dsjson.lines import NUMBERS, check_field, count_keys, read_number
from bandit_envs.tables.cell_counts import MAX_LEVELS
from bandit_envs.tables.encoding import NumberColumn, TableColumn, TextColumn

WORDS = "_text"
"""The key of a text of which each word is a feature."""

OF_ACTIONS = frozenset(("_multi", "_tag"))
"""The keys of a context or an item that are no features of it."""

MAX_COLUMNS = 2**14
"""A context or an item has at most so many columns of features."""


class Shape(NamedTuple):
    """What objects have in common that have the same keys and the same types of values.

    Fields:
        numbers: the names of their features that are numbers.
        texts: the names of those that are texts, by their places.
        truths: the names of those that are true or false, by their places.
        get_numbers: returns the numbers of the values.
    """

    numbers: tuple[str, ...]
    texts: Sequence[tuple[int, str]]
    truths: Sequence[tuple[int, str]]
    get_numbers: Callable[[Sequence[Any]], Sequence[float]]


def find_shape(key: str, features: Mapping[str, Any]) -> Shape | None:
    """Returns the shape of an object; None if it has a list, another object, or words.

    Args:
        key: of the object, which names its features.
        features: what is in it.
    """
    found: dict[type, list[tuple[int, str]]] = {float: [], str: [], bool: []}
    for place, (name, value) in enumerate(features.items()):
        if name == WORDS or isinstance(value, (dict, list)):
            return None
        if name.startswith("_"):
            check_field(name)
        elif value is not None:
            kind = float if type(value) in NUMBERS else type(value)
            found[kind].append((place, f"{key}^{name}"))
    places = [place for place, _ in found[float]]
    return Shape(
        numbers=tuple(name for _, name in found[float]),
        texts=found[str],
        truths=found[bool],
        get_numbers=operator.itemgetter(*places) if len(places) > 1 else _getter(places),
    )


def _getter(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[float]]:
    """Returns a function that returns the values at some places."""
    return lambda values: [values[place] for place in places]


class Shapes:
    """The shapes of the objects of a log that were met."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Shape | None] = {}
        self._last: tuple[Any, ...] = ()  # signature, which many items of a line have
        self._last_shape: Shape | None = None

    def split(self, features: Mapping[str, Any]) -> Iterator[tuple[Shape | None, Any]]:
        """Yields the shape and the values of each object of a context or an item.

        Without a shape, it yields the feature or object itself, in an object with its key alone.
        """
        for key, value in features.items():
            if key in OF_ACTIONS:
                continue
            shape = None
            if type(value) is dict:
                values = [*value.values()]
                shape = self._find(key, value, values)
            yield (None, {key: value}) if shape is None else (shape, values)

    def _find(self, key: str, features: Mapping[str, Any], values: Sequence[Any]) -> Shape | None:
        """Returns what `find_shape` does; `values` are those of the features."""
        signature = (key, *features, *map(type, values))
        if signature == self._last:
            return self._last_shape
        if signature not in self._known:
            self._known[signature] = None if key.startswith("_") else find_shape(key, features)
        self._last = signature
        self._last_shape = self._known[signature]
        return self._last_shape


def flatten(features: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the features of an object by name: numbers, texts, and the counts of words.

    `false` and `null` are no features, nor is a key that begins with "_", but for "_text".
    """
    for key, value in features.items():
        name = f"{prefix}{key}"
        if key == WORDS:
            yield name, collections.Counter(str(value).split())
        elif str(key).startswith("_"):
            check_field(key)
        elif isinstance(value, list):
            yield from flatten(dict(enumerate(value)), f"{name}^")
        elif isinstance(value, dict):
            yield from flatten(value, f"{name}^")
        elif isinstance(value, str):
            yield name, value
        elif value is True:
            yield name, 1.0
        elif value is not None and value is not False:
            yield name, read_number(f"the feature {short_repr(name)}", value)


@dataclasses.dataclass
class Levels:
    """The texts of a column, or its words. There are no more than one too many.

    Args:
        are_words: whether each is a feature that counts how often it is in a text.
        found: the texts.
    """

    are_words: bool
    found: set[str] = dataclasses.field(default_factory=set)

    def add(self, text: str) -> None:
        """Adds a text."""
        if len(self.found) <= MAX_LEVELS:
            self.found.add(text)

    def make_columns(self, name: str) -> list[TableColumn]:
        """Returns the columns of the texts; none if they are too many."""
        if len(self.found) > MAX_LEVELS:
            return []
        levels = sorted(self.found)
        if self.are_words:
            return [NumberColumn(f"{name}={word}") for word in levels]
        return [TextColumn(name, tuple(levels))]


class ColumnSearch:
    """Finds the columns of contexts, or of items."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        self._added: set[int] = set()  # the ids of shapes whose numbers were added
        self._found: dict[str, Levels | None] = {}  # by name; None of numbers

    def add(self, features: Mapping[str, Any]) -> int:
        """Adds a context or an item; returns how many keys its objects have."""
        keys = len(features)
        for shape, values in self._shapes.split(features):
            if shape is None:
                keys += count_keys(values) - 1
                self._add_each(flatten(values))
                continue
            keys += len(values)
            if id(shape) not in self._added:
                self._add_numbers(shape)
            for place, name in shape.texts:
                levels = self._found.get(name)
                if levels is None or values[place] not in levels.found:
                    self._add_text(name, values[place])
            for place, name in shape.truths:
                if values[place]:
                    self._levels_of(name, None)
        return keys

    def _add_numbers(self, shape: Shape) -> None:
        """Adds the numbers of a shape; ValueError if one was a text before."""
        self._added.add(id(shape))  # which stays as long as the shapes do
        for name in shape.numbers:
            self._levels_of(name, None)

    def _add_each(self, features: Iterator[tuple[str, Any]]) -> None:
        for name, value in features:
            if isinstance(value, str):
                self._add_text(name, value)
            elif isinstance(value, Mapping):
                levels = self._levels_of(name, Levels(are_words=True))
                for word in value:
                    levels.add(word)
            else:
                self._levels_of(name, None)

    def _add_text(self, name: str, text: str) -> None:
        levels = self._found.get(name)
        if levels is None:
            levels = self._levels_of(name, Levels(are_words=False))
        levels.add(text)

    def _levels_of(self, name: str, expected: Levels | None) -> Any:
        """Returns the levels of a feature, as they are, or else as expected."""
        known = self._found.setdefault(name, expected)
        if (known is None) != (expected is None):
            kinds = ("a number", "a text") if known is None else ("a text", "a number")
            problem = (
                f"the feature {short_repr(name)} is {kinds[1]}, and {kinds[0]} in lines before"
            )
            raise ValueError(f"{problem}; expected one kind")
        return known

    def columns(self) -> tuple[TableColumn, ...]:
        """Returns the columns, in the order in which they were met."""
        found: list[TableColumn] = []
        for name, levels in self._found.items():
            found += [NumberColumn(name)] if levels is None else levels.make_columns(name)
        if len(found) > MAX_COLUMNS:
            problem = f"there are {len(found)} features, such as {short_repr(found[0].name)}"
            raise ValueError(f"{problem}; expected at most {MAX_COLUMNS}")
        return tuple(found)

    def left_out(self) -> list[str]:
        """Returns the names of features that have too many texts, or words, for columns."""
        known = self._found.items()
        return [name for name, levels in known if levels and not levels.make_columns(name)]


class CellsOfShape:
    """What is known of the features of some rows that have one shape.

    Args:
        columns: the places of the numbers in the table: [m].
        levels: the place of each text in the object, and those of its levels in the table.
    """

    def __init__(
        self, columns: Sequence[int], levels: Sequence[tuple[int, Mapping[str, int]]]
    ) -> None:
        self.columns = np.array(columns, np.intp)
        self.levels = levels
        self.rows: list[int] = []
        self.numbers: list[float] = []
        self.places: list[int] = []  # of the levels of each row


class FeatureWriter:
    """Writes the features of contexts, or of items, into tables, a row each.

    Args:
        columns: of the features.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._shapes = Shapes()
        self._places: dict[str, int] = {}
        self._levels: dict[str, dict[str, int]] = {}
        place = 0
        for column in columns:
            if isinstance(column, TextColumn):
                places = range(place, place + len(column.levels))
                self._levels[column.name] = dict(zip(column.levels, places))
            else:
                self._places[column.name] = place
            place += len(column.labels())
        self.width = place
        self._cells: dict[int, CellsOfShape] = {}
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []

    def add(self, row: int, features: Mapping[str, Any]) -> None:
        """Adds a context or an item, which `write` writes into a row of the next table."""
        for shape, values in self._shapes.split(features):
            if shape is None:
                self._add_each(row, flatten(values))
                continue
            cells = self._cells.get(id(shape)) or self._add_cells(shape)
            cells.rows.append(row)
            cells.numbers.extend(shape.get_numbers(values))
            for place, levels in cells.levels:
                cells.places.append(levels.get(values[place], self.width))
            for place, name in shape.truths:
                if values[place]:
                    self._add_number(row, name, 1.0)

    def _add_cells(self, shape: Shape) -> CellsOfShape:
        """Returns the cells of a shape, which has none. Shapes stay, and so do their ids."""
        cells = CellsOfShape(
            [self._places.get(name, self.width) for name in shape.numbers],
            [(place, self._levels.get(name, {})) for place, name in shape.texts],
        )
        self._cells[id(shape)] = cells
        return cells

    def _add_each(self, row: int, features: Iterator[tuple[str, Any]]) -> None:
        for name, value in features:
            if isinstance(value, str):
                self._add_at(row, self._levels.get(name, {}).get(value, self.width), 1.0)
            elif isinstance(value, Mapping):
                for word, count in value.items():
                    self._add_number(row, f"{name}={word}", count)
            else:
                self._add_number(row, name, value)

    def _add_number(self, row: int, name: str, value: float) -> None:
        self._add_at(row, self._places.get(name, self.width), value)

    def _add_at(self, row: int, place: int, value: float) -> None:
        self._rows.append(row)
        self._columns.append(place)
        self._values.append(value)

    def write(self, size: int) -> Floats:
        """Returns the table [size, width] of what was added, which is kept no longer."""
        table = np.zeros((size, self.width + 1))  # the last column takes what has no place
        for cells in self._cells.values():
            rows = np.array(cells.rows, np.intp)
            if len(cells.columns):
                numbers = np.array(cells.numbers, np.float64).reshape(len(rows), -1)
                table[rows[:, np.newaxis], cells.columns] = numbers
            if cells.levels:
                table[rows[:, np.newaxis], np.reshape(cells.places, (len(rows), -1))] = 1.0
        table[self._rows, self._columns] = self._values
        self._cells = {}
        self._rows = []
        self._columns = []
        self._values = []
        return table[:, :-1]
