"""Contexts of decisions as features: one at a time, without arrays of columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Array, Floats, as_numbers
from bandit_envs.base.checks import MAX_REWARD, short_repr
from bandit_envs.names.visible import visible
from bandit_envs.policies import Policy
from bandit_envs.policies.contextual import ContextualPolicy, lacks_constant
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT
from bandit_envs.tables.cells import PLAIN, parse_number
from bandit_envs.tables.encoding import KINDS, NumberColumn, TableColumn, TableEncoding, TextColumn

Features: TypeAlias = TableEncoding | Mapping[str, str | Sequence[str]] | None
"""How contexts become features: an encoding; or the kind of each column, or its texts."""

WIDEST = MAX_REWARD
"""The largest size of a feature, so that no square of it overflows."""

FEWEST = 100
"""From so many contexts it is found whether they have a constant."""

TOLD = 100
"""Warnings name at most so many unknown texts."""


def make_encoding(features: Features) -> TableEncoding:
    """Returns the encoding that a user describes.

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
        raise TypeError(f"features is {short_repr(features)}; expected {expected}")
    return TableEncoding(features=tuple(_make_column(*item) for item in features.items()))


def _make_column(name: Any, kind: Any) -> TableColumn:
    if not isinstance(name, str):
        raise TypeError(f"features names a column {name!r}; expected a str")
    if isinstance(kind, str) and kind in KINDS and kind != TextColumn.kind:
        return KINDS[kind](name)
    is_list = isinstance(kind, Sequence) and not isinstance(kind, str)
    if is_list and all(isinstance(level, str) for level in kind) and len({*kind}) == len(kind):
        return TextColumn(name, tuple(kind))
    expected = "'number', 'time', or the list of its texts"
    raise ValueError(f"features[{name!r}] is {short_repr(kind)}; expected {expected}")


def describe_columns(columns: Sequence[TableColumn]) -> dict[str, str | list[str]]:
    """Returns columns as a user writes them.

    >>> describe_columns(make_encoding({"age": "number", "country": ["DE", "FR"]}).features)
    {'age': 'number', 'country': ['DE', 'FR']}
    """
    return {
        column.name: [*column.levels] if isinstance(column, TextColumn) else column.kind
        for column in columns
    }


class ContextEncoder:
    """Reads the features of contexts.

    Args:
        columns: of a context; () if contexts are arrays.
        width: the number of features, D; None if any number will do.
    """

    def __init__(self, columns: Sequence[TableColumn], width: int | None) -> None:
        self._columns = tuple(columns)
        self._names = {column.name for column in columns}
        self._places = [_places_of(column) for column in columns]
        self.width = width  #: D
        self._warned: set[tuple[str, str]] = set()

    def read(self, context: Any) -> Floats:
        """Returns the features of a context: [D].

        Args:
            context: a dict with the cell of each column; or if there are no columns, an array [D],
                or None for the constant feature.

        Raises:
            TypeError, ValueError: it does not fit.
        """
        if self._columns:
            features = self._read_cells(context)
        elif isinstance(context, Mapping):
            raise TypeError(
                f"context is {short_repr(context)}; expected an array, as the service has no "
                "features with names: the argument features of the service gives them"
            )
        else:
            features = _read_array(context)
        return features if self.width is None else check_width(features, self.width)

    def _read_cells(self, context: Any) -> Floats:
        if not isinstance(context, Mapping):
            expected = f"a dict of {', '.join(visible(column.name) for column in self._columns)}"
            raise TypeError(f"context is {short_repr(context)}; expected {expected}")
        if context.keys() != self._names:
            self._refuse_names(context)
        features: list[float] = []
        for column, places in zip(self._columns, self._places):
            cell = context[column.name]
            if isinstance(column, NumberColumn):
                features.append(_read_number(column.name, cell))
            elif isinstance(column, TextColumn):
                features.extend(self._read_text(column, places, cell))
            else:
                features.extend(_read_other(column, cell))
        return np.array(features)

    def _refuse_names(self, context: Mapping[Any, Any]) -> None:
        """Raises ValueError for a context with too few columns or too many."""
        for name in self._names - context.keys():
            raise ValueError(f"context has no {name!r}; it has {[*context]}")
        for name in context.keys() - self._names:
            expected = [column.name for column in self._columns]
            raise ValueError(f"context has {name!r}; expected {expected}")

    def _read_text(self, column: TextColumn, places: dict[str, int], cell: Any) -> list[float]:
        if not isinstance(cell, PLAIN) or cell != cell:
            raise ValueError(f"context[{column.name!r}] is {short_repr(cell)}; expected a text")
        text = str(cell)
        features = [0.0] * len(column.levels)
        place = places.get(text)
        if place is not None:
            features[place] = 1.0
        elif (column.name, text) not in self._warned and len(self._warned) < TOLD:
            self._warned.add((column.name, text))
            problem = f"context[{column.name!r}] is {text!r}, which is not a known text"
            warnings.warn(f"{problem}: its features are 0", stacklevel=4)
        return features


class FirstContexts:
    """Looks at the first contexts, and warns if a linear policy lacks a constant among them.

    Args:
        policy: of the service.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._kept: list[Floats] = []
        self._is_done = not isinstance(policy, ContextualPolicy) or not policy.model.needs_constant

    def add(self, contexts: Sequence[Floats]) -> None:
        """Looks at more contexts [D], until there are enough."""
        if self._is_done:
            return
        self._kept.extend(contexts)
        if not self._kept or len(self._kept) < max(FEWEST, 2 * len(self._kept[0])):
            return
        self._is_done = True
        if lacks_constant(self._policy, np.stack(self._kept)):
            warnings.warn(f"policy is {self._policy!r}, which {LACKS_CONSTANT}", stacklevel=4)
        self._kept = []


def check_width(features: Floats, width: int) -> Floats:
    """Returns the features of a context; ValueError if they are too few or too many."""
    if len(features) != width:
        raise ValueError(f"context has {len(features)} features; expected {width}")
    return features


def _places_of(column: TableColumn) -> dict[str, int]:
    """Returns the place of each level of a column of texts; nothing of others."""
    levels = column.levels if isinstance(column, TextColumn) else ()
    return {level: place for place, level in enumerate(levels)}


def _read_number(name: str, cell: Any) -> float:
    number = cell if type(cell) is float else parse_number(cell)
    if number is None or not abs(number) <= WIDEST:
        raise ValueError(f"context[{name!r}] is {short_repr(cell)}; expected a finite number")
    return float(number)


def _read_other(column: TableColumn, cell: Any) -> list[float]:
    """Returns the features of a cell of a column that reads arrays, such as of times."""
    cells = np.empty(1, object)
    cells[0] = cell if isinstance(cell, Hashable) else None
    features: list[float] = column.encode(cells)[0].tolist()
    if not all(map(math.isfinite, features)):
        raise ValueError(
            f"context[{column.name!r}] is {short_repr(cell)}; expected a {column.kind}"
        )
    return features


def _read_array(context: Any) -> Floats:
    """Returns a context without names as features: [D]."""
    if context is None:
        return np.ones(1)
    array: Array = as_numbers("context is", context)
    if array.ndim != 1:
        raise ValueError(f"context has shape {array.shape}; expected one row of features")
    features = array.astype(np.float64)
    if not (np.abs(features) <= WIDEST).all():
        raise ValueError(f"context is {short_repr(context)}; expected finite numbers")
    return features
