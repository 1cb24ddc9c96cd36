"""Columns of data frames as arrays. Errors name the first bad cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.extras import import_extra
from bandit_envs.tables.cells import as_numbers, find_places
from bandit_envs.tables.errors import check_cells, check_column

if TYPE_CHECKING:
    from pandas import DataFrame

LARGEST = 2.0**63
"""What integers of 64 bits are below."""


def read_integers(frame: DataFrame, name: str) -> Array:
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
        expected += "; num_actions=0, or --continuous, reads real numbers such as prices"
    check_column(frame, name, is_whole, expected)
    return numbers.astype(np.int64)


def read_categories(frame: DataFrame, names: Sequence[str]) -> Array | None:
    """Returns the categories [n, D] in some columns, integers from 0; None without columns."""
    if not names:
        return None
    columns = []
    for name in names:
        categories = read_integers(frame, name)
        check_column(frame, name, categories >= 0, "an integer from 0")
        columns.append(categories)
    return np.stack(columns, axis=1)


def read_numbers(frame: DataFrame, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first value that is not a number.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = frame[name].to_numpy()
    numbers = as_numbers(cells)
    if cells.dtype.kind not in "biuf":
        check_column(frame, name, ~np.isnan(numbers), "a number")
    return numbers


def read_reals(frame: DataFrame, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first cell without a finite one."""
    numbers = read_numbers(frame, name)
    check_column(frame, name, np.isfinite(numbers), "a finite number")
    return numbers


def read_names(frame: DataFrame, name: str, names: Sequence[str]) -> Array:
    """Returns the numbers of the actions whose names a column has."""
    places = find_places(names, frame[name].to_numpy())
    check_column(frame, name, places >= 0, "the name of an action that was found before")
    return places


def to_numbers(frame: DataFrame) -> NDArray[np.float64]:
    """Returns the cells of a data frame, which must be finite numbers."""
    pandas = import_extra("pandas", "datasets")
    columns = [pandas.to_numeric(frame[name], errors="coerce") for name in frame]
    numbers = np.column_stack(columns).astype(np.float64)
    check_cells(frame, np.isfinite(numbers), "a number")
    return numbers


def to_costs(frame: DataFrame) -> Floats:
    """Returns the cells of a data frame, which must be numbers that are at least 0."""
    costs = to_numbers(frame)
    check_cells(frame, costs >= 0.0, "a cost of at least 0")
    return costs


def to_texts(frame: DataFrame) -> NDArray[np.object_]:
    """Returns the cells of a data frame as texts without spaces around them; none may be empty."""
    columns = [frame[name].astype(str).str.strip() for name in frame]
    texts = np.column_stack(columns).astype(object)
    check_cells(frame, texts != "", "a value")
    return texts
