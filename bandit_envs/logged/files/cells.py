"""Cells of users' tables as the numbers of a log. Errors name the first bad cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.datasets.encoding import (
    Column,
    NumberColumn,
    TableEncoding,
    TimeColumn,
    as_numbers,
    as_times,
    find_places,
)
from bandit_envs.datasets.tables import name_row

LARGEST = 2.0**63
"""What integers of 64 bits are below."""


def read_integers(frame: Any, name: str) -> Array:
    """Returns the actions or categories in a column, which must be whole numbers.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = frame[name].to_numpy()
    if cells.dtype.kind in "iu":
        return np.asarray(cells)
    numbers = as_numbers(cells)
    is_whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST)
    expected = "an integer"
    if not is_whole.all() and np.isfinite(numbers[is_whole.argmin()]):
        expected += "; num_actions=0 reads real numbers such as prices"
    check_column(frame, name, is_whole, expected)
    return numbers.astype(np.int64)


def has_fractions(cells: Array) -> bool:
    """Returns whether some cells are finite numbers that are not whole."""
    numbers = as_numbers(cells)
    return bool((np.isfinite(numbers) & (np.floor(numbers) != numbers)).any())


def read_numbers(frame: Any, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first value that is not a number.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = frame[name].to_numpy()
    numbers = as_numbers(cells)
    if cells.dtype.kind not in "biuf":
        check_column(frame, name, ~np.isnan(numbers), "a number")
    return numbers


def read_reals(frame: Any, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first cell without a finite one."""
    numbers = read_numbers(frame, name)
    check_column(frame, name, np.isfinite(numbers), "a finite number")
    return numbers


def read_names(frame: Any, name: str, names: Sequence[str]) -> Array:
    """Returns the numbers of the actions whose names a column has."""
    places = find_places(names, frame[name].to_numpy())
    check_column(frame, name, places >= 0, "the name of an action that was found before")
    return places


def read_embedding(frame: Any, names: Sequence[str]) -> Array | None:
    """Returns the categories [n, D] in some columns, integers from 0; None without columns."""
    if not names:
        return None
    columns = []
    for name in names:
        categories = read_integers(frame, name)
        check_column(frame, name, categories >= 0, "an integer from 0")
        columns.append(categories)
    return np.stack(columns, axis=1)


def read_features(frame: Any, encoding: TableEncoding) -> Floats:
    """Returns the observation [n, d] that an encoding makes of some columns."""
    parts = [np.empty((len(frame), 0))]
    parts.extend(_read_feature(frame, column) for column in encoding.features)
    return np.concatenate(parts, axis=1)


def _read_feature(frame: Any, column: Column) -> Floats:
    """Returns the features [n, width] of a column."""
    name = column.name
    if isinstance(column, NumberColumn):
        return read_reals(frame, name)[:, np.newaxis]
    cells = frame[name].to_numpy()
    if isinstance(column, TimeColumn):
        cells = as_times(cells)
        check_column(frame, name, ~np.isnat(cells), "a date or a time, as in 2024-12-31 23:59")
    return column.encode(cells)


def check_column(frame: Any, name: str, is_good: Mask, expected: str) -> None:
    """Raises ValueError for the first value of a column that is not good, with its row or line."""
    if not is_good.all():
        raise bad_value(frame, name, int(is_good.argmin()), expected)


def bad_value(frame: Any, name: str, position: int, expected: str) -> ValueError:
    """Returns the error of a value of a column, with its row or its line in a file."""
    found = f"column {name!r} is {frame[name].tolist()[position]!r}"
    return ValueError(f"{found} in {name_row(frame, position)}; expected {expected}")
