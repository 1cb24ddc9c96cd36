"""Columns whose cells are lists: JSON in CSV, lists of Parquet, or lists in a data frame."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Mask
from bandit_envs.base.extras import import_extra
from bandit_envs.tables.cells import read_integers, read_names
from bandit_envs.tables.errors import bad_value, check_column

if TYPE_CHECKING:
    from pandas import DataFrame, Series

EXPECTED = 'a list as JSON writes it, such as ["a", "b"]'


def are_lists(column: Series) -> bool:
    """Whether a column has lists, as its first cell that is not missing says."""
    if type(column.dtype).__name__ == "ArrowDtype":
        return True  # as only columns of lists have it
    present = column.dropna()
    if not len(present):
        return False
    first = present.iloc[0]
    if isinstance(first, str) and first.lstrip().startswith("["):
        first = _parse(first)
    return isinstance(first, (list, tuple, np.ndarray))


def flatten(frame: DataFrame, name: str) -> tuple[NDArray[np.intp], Any]:
    """Returns the lengths of the lists of a column, [n], -1 where one is missing, and all entries.

    The entries are an array of one for each; of lists of records a dict of such arrays, by field.
    """
    column = frame[name]
    if type(column.dtype).__name__ == "ArrowDtype":
        return _flatten_arrow(column)
    is_missing = column.isna().to_numpy(np.bool_)
    cells: list[Any] = []
    for row, cell in enumerate(column.tolist()):
        if is_missing[row]:
            cells.append(())
            continue
        entries = _parse(cell) if isinstance(cell, str) else cell
        if not isinstance(entries, (list, tuple, np.ndarray)):
            raise bad_value(frame, name, row, EXPECTED)
        cells.append(entries)
    sizes = np.where(is_missing, -1, np.array([len(cell) for cell in cells], np.intp))
    entries = list(itertools.chain.from_iterable(cells))
    pandas = import_extra("pandas", "logged")
    if any(isinstance(entry, dict) for entry in entries):
        for row, cell in enumerate(cells):
            if not all(isinstance(entry, dict) for entry in cell):
                raise bad_value(frame, name, row, "a list of records")
        records = pandas.DataFrame(entries)
        return sizes, {field: records[field].array for field in records}
    return sizes, pandas.Series(entries, dtype=None if entries else object).array


def flatten_column(frame: DataFrame, name: str) -> DataFrame:
    """Returns the entries of the lists of a column, which misses none, one a row.

    The index says of which row of the table each entry is.

    Raises:
        ValueError: a cell is not a list, or one of records.
    """
    pandas = import_extra("pandas", "logged")
    sizes, entries = flatten(frame, name)
    if isinstance(entries, dict):
        raise ValueError(f"column {name!r} has lists of records; expected lists of names")
    index = frame.index[np.repeat(np.arange(len(frame)), sizes)]
    flat: DataFrame = pandas.DataFrame({name: entries}, index=index)
    return flat


def read_sets(frame: DataFrame, name: str, actions: Sequence[str], num_actions: int) -> Mask:
    """Returns which actions are in the lists of a column, which misses none: [n, K].

    Args:
        frame: that has the column.
        name: of the column.
        actions: their names; () if the lists have their numbers.
        num_actions: how many there are.

    Raises:
        ValueError: a list has an entry that is not an action.
    """
    entries = flatten_column(frame, name)
    if actions:
        numbers = read_names(entries, name, actions)
    else:
        numbers = read_integers(entries, name)
        is_good = (numbers >= 0) & (numbers < num_actions)
        check_column(entries, name, is_good, f"0 to {num_actions - 1}")
    mask = np.zeros((len(frame), num_actions), np.bool_)
    mask[np.repeat(np.arange(len(frame)), flatten(frame, name)[0]), numbers] = True
    return mask


def _parse(text: str) -> Any:
    """Returns the list that a text says as JSON; None if it says none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _flatten_arrow(column: Series) -> tuple[NDArray[np.intp], Any]:
    """Does what `flatten` does with a column of Parquet's lists."""
    pyarrow = import_extra("pyarrow", "logged")
    from pyarrow import compute  # noqa: PLC0415

    lists = pyarrow.array(column.array)
    if isinstance(lists, pyarrow.ChunkedArray):
        lists = lists.combine_chunks()
    sizes = compute.fill_null(compute.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
    values = compute.list_flatten(lists)
    if pyarrow.types.is_struct(values.type):
        fields = [field.name for field in values.type]
        columns = {n: cells.to_pandas().array for n, cells in zip(fields, values.flatten())}
        return sizes.astype(np.intp), columns
    return sizes.astype(np.intp), values.to_pandas().array


def fill_lists(cells: Any, own: NDArray[np.intp], sizes: NDArray[np.intp]) -> Any:
    """Returns entries of lists, with missing ones for the lists that are missing.

    Args:
        cells: the entries.
        own: [n], the lengths of the lists; -1 where one is missing.
        sizes: [n], how many entries there are then.
    """
    pandas = import_extra("pandas", "logged")
    is_present = np.repeat(own >= 0, sizes)
    places = np.where(is_present, np.cumsum(is_present) - 1, -1)
    return pandas.Series(cells).reindex(places).array  # -1 is no place
