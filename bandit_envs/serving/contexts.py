"""Contexts of decisions as features: one at a time, without arrays of columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Array, Floats, as_numbers, read_only
from bandit_envs.base.checks import MAX_REWARD, short_repr
from bandit_envs.logged.files.served.seen import CellColumns
from bandit_envs.names.visible import visible
from bandit_envs.policies import Policy
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT, has_constant
from bandit_envs.tables.cells import PLAIN, as_times, parse_number
from bandit_envs.tables.encoding import KINDS, NumberColumn, TableColumn, TableEncoding, TextColumn

Features: TypeAlias = TableEncoding | Mapping[str, str | Sequence[str]] | None
"""How contexts become features: an encoding; or the kind of each column, or its texts."""

Label: TypeAlias = Callable[[int], str]
"""Returns what messages call a row, by its number."""

WIDEST = MAX_REWARD
"""The largest size of a feature, so that no square of it overflows."""

FEWEST = 100
"""From so many contexts it is found whether they have a constant."""

CONSTANT = read_only(np.ones(1))
"""The features of a decision without a context."""

TOLD = 100
"""Warnings name at most so many unknown texts."""


def make_encoding(features: Features, argument: str = "features") -> TableEncoding:
    """Returns the encoding that a user describes, in an argument.

    Raises:
        TypeError, ValueError: it describes none.

    >>> make_encoding({"age": "number", "country": ["DE", "FR"]}).labels()
    ['age', 'country=DE', 'country=FR']
    """
    if features is None:
        return TableEncoding()
    if isinstance(features, TableEncoding):
        return features
    if not isinstance(features, Mapping):
        expected = "a TableEncoding, or a dict of the kinds of columns"
        raise TypeError(f"{argument} is {short_repr(features)}; expected {expected}")
    columns = [_make_column(argument, *item) for item in features.items()]
    return TableEncoding(features=tuple(columns))


def _make_column(argument: str, name: Any, kind: Any) -> TableColumn:
    if not isinstance(name, str):
        raise TypeError(f"{argument} names a column {name!r}; expected a str")
    if isinstance(kind, str) and kind in KINDS and kind != TextColumn.kind:
        return KINDS[kind](name)
    is_list = isinstance(kind, Sequence) and not isinstance(kind, str)
    if is_list and all(isinstance(level, str) for level in kind) and len({*kind}) == len(kind):
        return TextColumn(name, tuple(kind))
    expected = "'number', 'time', or the list of its texts"
    raise ValueError(f"{argument}[{name!r}] is {short_repr(kind)}; expected {expected}")


def describe_columns(columns: Sequence[TableColumn]) -> dict[str, str | list[str]]:
    """Returns columns as a user writes them.

    >>> describe_columns(make_encoding({"age": "number", "country": ["DE", "FR"]}).features)
    {'age': 'number', 'country': ['DE', 'FR']}
    """
    return {
        column.name: [*column.levels] if isinstance(column, TextColumn) else column.kind
        for column in columns
    }


class CellReader:
    """Reads the cells of dicts as one number each, as `CellColumns` keeps them.

    Args:
        columns: of which each dict has a cell.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._columns = tuple(columns)
        self._names = {column.name for column in columns}
        is_number = [isinstance(column, NumberColumn) for column in columns]
        self._numbers = [each.name for each, is_one in zip(columns, is_number) if is_one]
        self._number_places = np.flatnonzero(is_number)
        self._others = [
            (place, column) for place, column in enumerate(columns) if not is_number[place]
        ]
        self._places = {
            column.name: {level: place for place, level in enumerate(column.levels)}
            for column in columns
            if isinstance(column, TextColumn)
        }
        self._warned: set[tuple[str, str]] = set()

    def read(self, rows: Sequence[Any], label: Label) -> Floats:
        """Returns the cells of n rows: [n, C].

        Args:
            rows: dicts with the cell of each column.
            label: returns what messages call a row, by its number.

        Raises:
            TypeError, ValueError: a row does not fit.
        """
        for number, row in enumerate(rows):
            if type(row) is not dict and not isinstance(row, Mapping):
                names = ", ".join(visible(column.name) for column in self._columns)
                found = f"{label(number)} is {short_repr(row)}"
                raise TypeError(f"{found}; expected a dict of {names}")
            if row.keys() != self._names:
                self._refuse_names(label(number), row)
        table = np.empty((len(rows), len(self._columns)))
        table[:, self._number_places] = self._read_numbers(rows, label)
        for place, column in self._others:
            cells = [row[column.name] for row in rows]
            if isinstance(column, TextColumn):
                table[:, place] = self._read_texts(column.name, cells, label)
            else:
                table[:, place] = _read_times(column, cells, label)
        return table

    def _read_numbers(self, rows: Sequence[Any], label: Label) -> Floats:
        """Returns the cells of the columns of numbers."""
        names = self._numbers
        cells = [row[name] for row in rows for name in names]
        if {*map(type, cells)} != {float}:  # the common kind
            cells = [_number_of(cell) for cell in cells]
        numbers = np.array(cells, np.float64)
        is_good = np.abs(numbers) <= WIDEST
        if not is_good.all():
            row, place = divmod(int(np.argmin(is_good)), len(names))
            found = f"{label(row)}[{names[place]!r}] is {short_repr(rows[row][names[place]])}"
            raise ValueError(f"{found}; expected a finite number, at most {WIDEST:g} in size")
        return numbers.reshape(len(rows), len(names))

    def _refuse_names(self, label: str, row: Mapping[Any, Any]) -> None:
        """Raises ValueError for a row with too few columns or too many."""
        for name in self._names - row.keys():
            raise ValueError(f"{label} has no {name!r}; it has {[*row]}")
        for name in row.keys() - self._names:
            expected = [column.name for column in self._columns]
            raise ValueError(f"{label} has {name!r}; expected {expected}")

    def _read_texts(self, column: str, cells: Sequence[Any], label: Label) -> list[int]:
        """Returns the places of the levels; -1 for a text that is not known, with a warning."""
        found = []
        places = self._places[column]
        for row, cell in enumerate(cells):
            if type(cell) is not str and (not isinstance(cell, PLAIN) or cell != cell):
                name = f"{label(row)}[{column!r}]"
                raise ValueError(f"{name} is {short_repr(cell)}; expected a text")
            text = str(cell)
            place = places.get(text, -1)
            found.append(place)
            is_new = place < 0 and (column, text) not in self._warned
            if is_new and len(self._warned) < TOLD:
                self._warned.add((column, text))
                problem = f"{label(row)}[{column!r}] is {text!r}, which is not a known text"
                warnings.warn(f"{problem}: its features are 0", stacklevel=4)
        return found


class ContextEncoder:
    """Reads the features of contexts.

    Args:
        columns: of a context; () if contexts are arrays.
        width: the number of features, D; None if any number will do.
    """

    def __init__(self, columns: Sequence[TableColumn], width: int | None) -> None:
        self._reader = CellReader(columns)
        self._columns = CellColumns(columns)
        self.width = width  #: D

    def read(self, context: Any) -> Floats:
        """Returns the features of a context: [D].

        Args:
            context: a dict with the cell of each column; or if there are no columns, an array [D],
                or None for the constant feature.

        Raises:
            TypeError, ValueError: it does not fit.
        """
        if self._columns.number:
            cells = self._reader.read([context], lambda _: "context")
            features = self._columns.expand(cells)[0]
        elif context is not None and isinstance(context, Mapping):
            raise TypeError(
                f"context is {short_repr(context)}; expected an array, as the service has no "
                "features with names: the argument features of the service gives them"
            )
        else:
            features = _read_array(context)
        return features if self.width is None else check_width(features, self.width)


class FirstContexts:
    """Looks at the first contexts, and warns if a linear policy lacks a constant among them.

    Args:
        policy: of the service.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._kept: list[Floats] = []
        self._size = 0
        self.is_done = not isinstance(policy, ContextualPolicy) or not policy.model.needs_constant
        """Whether it has looked at enough."""

    def add(self, features: Floats) -> None:
        """Looks at more features [n, D], of contexts or of items, until there are enough."""
        self._kept.append(features)
        self._size += len(features)
        if self._size < max(FEWEST, 2 * features.shape[1]):
            return
        self.is_done = True
        if not has_constant(np.concatenate(self._kept)):
            warnings.warn(f"policy is {self._policy!r}, which {LACKS_CONSTANT}", stacklevel=5)
        self._kept = []


def check_width(features: Floats, width: int) -> Floats:
    """Returns the features of a context; ValueError if they are too few or too many."""
    if len(features) != width:
        raise ValueError(f"context has {len(features)} features; expected {width}")
    return features


def _number_of(cell: Any) -> float:
    """Returns the number of a cell; NaN if it has none."""
    number = parse_number(cell)
    return float(number) if number is not None and abs(number) <= WIDEST else math.nan


def _read_times(column: TableColumn, cells: Sequence[Any], label: Label) -> Array:
    """Returns times in microseconds since 1970."""
    table = np.empty(len(cells), object)
    table[:] = [cell if isinstance(cell, Hashable) else None for cell in cells]
    times = as_times(table)
    for row, cell in enumerate(cells):
        if np.isnat(times[row]):
            found = f"{label(row)}[{column.name!r}] is {short_repr(cell)}"
            raise ValueError(f"{found}; expected a {column.kind}")
    return times.astype(np.int64)


def _read_array(context: Any) -> Floats:
    """Returns a context without names as features: [D]."""
    if context is None:
        return CONSTANT
    array: Array = as_numbers("context is", context)
    if array.ndim != 1:
        raise ValueError(f"context has shape {array.shape}; expected one row of features")
    features = array.astype(np.float64)
    if not (np.abs(features) <= WIDEST).all():
        raise ValueError(
            f"context is {short_repr(context)}; expected finite numbers, at most {WIDEST:g} in size"
        )
    return features
