"""Vowpal Wabbit's JSON features: which columns they form, and their numbers.

A feature is named by its path, such as "user^age": the keys of the objects that it is in. Objects
with the same keys and the same types of values have one `Shape`, by which they are read fast.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
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
        found: the texts, with their numbers in order of first sight.
    """

    are_words: bool
    found: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, text: str) -> int:
        """Adds a text; returns its number, or the last one if there are too many texts."""
        if len(self.found) <= MAX_LEVELS:
            return self.found.setdefault(text, len(self.found))
        return self.found.get(text, MAX_LEVELS)

    def make_columns(self, name: str) -> list[TableColumn]:
        """Returns the columns of the texts; none if they are too many."""
        if len(self.found) > MAX_LEVELS:
            return []
        levels = sorted(self.found)
        if self.are_words:
            return [NumberColumn(f"{name}={word}") for word in levels]
        return [TextColumn(name, tuple(levels))]


class CellsOfShape:
    """The features of some rows that have one shape, in arrays of few bytes.

    Args:
        shape: the shape.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.rows = array.array("q")
        self.numbers = array.array("d")
        self.levels = array.array("q")  # the numbers of the texts of each row

    @property
    def num_bytes(self) -> int:
        """How much memory the arrays take, about."""
        return 8 * (len(self.rows) + len(self.numbers) + len(self.levels))


class Features:
    """The features of contexts, or of items: what they have in common, and those of some rows.

    Rows may be dropped; what columns they form stays.

    Attributes:
        found: the texts of each feature by its name; None of numbers.
        names: of the features of no shape, with their numbers: a text is a feature of its own.
    """

    def __init__(self) -> None:
        self._shapes = Shapes()
        self.found: dict[str, Levels | None] = {}
        self.names: dict[str | tuple[str, str], int] = {}
        self.drop_rows()

    def drop_rows(self) -> None:
        """Drops the features of all rows."""
        self.of_shapes: dict[int, CellsOfShape] = {}  # by their ids: shapes stay
        self.rows = array.array("q")  # of features of no shape
        self.numbers = array.array("q")  # which `names` has
        self.values = array.array("d")

    @property
    def num_bytes(self) -> int:
        """How much memory the features of all rows take, about."""
        return 24 * len(self.rows) + sum(cells.num_bytes for cells in self.of_shapes.values())

    def add(self, row: int, features: Mapping[str, Any]) -> int:
        """Adds a context or an item; returns how many keys its objects have.

        Args:
            row: its number, larger than those before.
            features: of it.
        """
        keys = len(features)
        for shape, values in self._shapes.split(features):
            if shape is None:
                keys += count_keys(values) - 1
                self._add_each(row, flatten(values))
                continue
            keys += len(values)
            cells = self.of_shapes.get(id(shape)) or self._add_shape(shape)
            cells.rows.append(row)
            cells.numbers.extend(shape.get_numbers(values))
            for place, name in shape.texts:
                cells.levels.append(self._add_text(name, values[place]))
            for place, name in shape.truths:
                if values[place]:
                    self._add_number(row, name, 1.0)
        return keys

    def _add_shape(self, shape: Shape) -> CellsOfShape:
        """Adds the numbers of a shape; ValueError if one was a text before."""
        for name in shape.numbers:
            self._levels_of(name, None)
        cells = CellsOfShape(shape)
        self.of_shapes[id(shape)] = cells
        return cells

    def _add_each(self, row: int, features: Iterator[tuple[str, Any]]) -> None:
        for name, value in features:
            if isinstance(value, str):
                if self._add_text(name, value) < MAX_LEVELS:
                    self._add_cell(row, (name, value), 1.0)
            elif isinstance(value, Mapping):
                levels = self._levels_of(name, Levels(are_words=True))
                for word, count in value.items():
                    if levels.add(word) < MAX_LEVELS:
                        self._add_cell(row, f"{name}={word}", count)
            else:
                self._add_number(row, name, value)

    def _add_number(self, row: int, name: str, value: float) -> None:
        self._levels_of(name, None)
        self._add_cell(row, name, value)

    def _add_cell(self, row: int, name: str | tuple[str, str], value: float) -> None:
        self.rows.append(row)
        self.numbers.append(self.names.setdefault(name, len(self.names)))
        self.values.append(value)

    def _add_text(self, name: str, text: str) -> int:
        """Adds a text of a feature; returns its number."""
        levels = self.found.get(name)
        if levels is None:
            levels = self._levels_of(name, Levels(are_words=False))
        number = levels.found.get(text)
        return levels.add(text) if number is None else number

    def _levels_of(self, name: str, expected: Levels | None) -> Any:
        """Returns the levels of a feature, as they are, or else as expected."""
        known = self.found.setdefault(name, expected)
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
        for name, levels in self.found.items():
            found += [NumberColumn(name)] if levels is None else levels.make_columns(name)
        if len(found) > MAX_COLUMNS:
            problem = f"there are {len(found)} features, such as {short_repr(found[0].name)}"
            raise ValueError(f"{problem}; expected at most {MAX_COLUMNS}")
        return tuple(found)

    def left_out(self) -> list[str]:
        """Returns the names of features that have too many texts, or words, for columns."""
        known = self.found.items()
        return [name for name, levels in known if levels and not levels.make_columns(name)]


class FeatureWriter:
    """Writes the features of contexts, or of items, into tables.

    Args:
        features: which have rows.
        columns: of the tables.
    """

    def __init__(self, features: Features, columns: Sequence[TableColumn]) -> None:
        self._features = features
        self._places: dict[str | tuple[str, str], int] = {}
        place = 0
        for column in columns:
            if isinstance(column, TextColumn):
                names = [(column.name, level) for level in column.levels]
                self._places.update(zip(names, range(place, place + len(names))))
            else:
                self._places[column.name] = place
            place += len(column.labels())
        self.width = place

    def write(self, first_row: int, places: Indices, size: int) -> Floats:
        """Returns a table [size, width] of some rows, with zeros in others.

        Args:
            first_row: the number of the first of these rows, which follow each other.
            places: of these rows in the table.
            size: the number of the table's rows.
        """
        table = np.zeros((size, self.width + 1))  # the last column takes what has no place
        features = self._features
        stop = first_row + len(places)
        for cells in features.of_shapes.values():
            shape = cells.shape
            rows = np.asarray(cells.rows)
            first, last = np.searchsorted(rows, (first_row, stop))
            own = places[rows[first:last] - first_row]
            if shape.numbers:
                numbers = np.asarray(cells.numbers).reshape(len(rows), -1)
                table[own[:, np.newaxis], self._find(shape.numbers)] = numbers[first:last]
            for number, (_, name) in enumerate(shape.texts):
                levels = np.asarray(cells.levels)[number :: len(shape.texts)]
                table[own, self._find_levels(name)[levels[first:last]]] = 1.0
        rows = np.asarray(features.rows)
        first, last = np.searchsorted(rows, (first_row, stop))
        columns = self._find(features.names)[np.asarray(features.numbers)[first:last]]
        table[places[rows[first:last] - first_row], columns] = features.values[first:last]
        return table[:, :-1]

    def _find(self, names: Iterable[str | tuple[str, str]]) -> Indices:
        """Returns the columns of some features."""
        return np.array([self._places.get(name, self.width) for name in names], np.intp)

    def _find_levels(self, name: str) -> Indices:
        """Returns the columns of the texts of a feature."""
        levels = self._features.found[name]
        return self._find((name, level) for level in (levels.found if levels else ()))
