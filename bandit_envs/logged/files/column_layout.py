"""Logs as tables of columns [n], which files and data frames have.

A table has one column a number: `action`, `observation.global[3]`, `available[0]` and so on. A
layout says which columns form which arrays. It is stored with the table, as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.saving import check_format
from bandit_envs.logged.columns import COLUMNS, BadValueError
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_plain_actions
from bandit_envs.names.notation import parse_literal
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.tables.cells import parse_number
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import name_row

FORMAT = 1
"""Raised whenever the layout of logs in files and frames changes."""

MAX_COLUMNS = 2**20
"""A table has at most so many columns of an array."""


class NamedLayout(TypedDict, total=False):
    """What the layout of a table may have."""

    encoding: dict[str, Any]  # plain values of the encoding of the log; left out if it has none
    estimated: str  # how propensities were estimated; left out if they were logged
    info: str  # as `observation`; left out if policies told nothing more


class TableLayout(NamedLayout):
    """What the columns of a table form."""

    format: int  # files without one are in the first
    rows: int
    num_actions: int
    observation: str  # the Python literal of a nest of the names of its arrays
    arrays: dict[str, tuple[str, Sequence[int]]]  # dtype and shape of a row, by name


def split_log(log: BanditLog) -> tuple[TableLayout, dict[str, Array]]:
    """Returns the layout of a log, and its columns [n] in the machine's byte order.

    Raises:
        TypeError: an array has a dtype that a table cannot hold.
        ValueError: two columns would have the same name, or actions are neither integers nor real
            numbers.
    """
    require_plain_actions(log)
    tree = _name_arrays("observation", log.observation)
    info = {} if log.info is None else log.info
    told = {name: _name_arrays(name, nest) for name, nest in info.items()}
    names = [*flatten(tree), *flatten(told)]
    leaves = [*flatten(log.observation), *flatten(info)]
    named = [*log.columns().items(), *zip(names, leaves)]
    arrays: dict[str, tuple[str, Sequence[int]]] = {}
    columns: dict[str, Array] = {}
    for name, array in named:
        shape = array.shape[1:]
        arrays[name] = (array.dtype.str, shape)
        table = _as_native(name, array).reshape(len(log), math.prod(shape))
        for place, label in enumerate(_column_names(name, shape)):
            if label in columns:
                raise ValueError(f"two columns have the name {label!r}; rename one of their keys")
            columns[label] = table[:, place]
    layout = TableLayout(
        format=FORMAT,
        rows=len(log),
        num_actions=log.num_actions,
        observation=repr(tree),
        arrays=arrays,
    )
    if log.encoding is not None:
        layout["encoding"] = log.encoding.plain()
    if log.estimated:
        layout["estimated"] = log.estimated
    if told:
        layout["info"] = repr(told)
    return layout, columns


def check_layout(layout: TableLayout) -> TableLayout:
    """Returns what stands beside a table; ValueError if another version wrote it."""
    check_format("it", "a log", layout.get("format", 1), FORMAT)
    return layout


def has_plain_observation(layout: TableLayout) -> bool:
    """Returns whether the observation is one array, so that it says nothing but features."""
    return isinstance(parse_literal(layout["observation"]), str)


def without_observation(layout: TableLayout) -> TableLayout:
    """Returns the layout of the same table with an observation of no features: [n, 0].

    Args:
        layout: of a table with a plain observation.
    """
    changed = layout.copy()
    name = str(parse_literal(layout["observation"]))
    changed["arrays"] = layout["arrays"].copy()
    changed["arrays"][name] = (np.dtype(np.float64).str, (0,))
    if "encoding" in layout:
        changed["encoding"] = {**layout["encoding"], "features": []}
    return changed


def join_columns(layout: TableLayout, columns: Mapping[str, Array]) -> BanditLog:
    """Returns the log of a layout and columns [n]; ValueError names a column that does not fit."""
    rows = layout["rows"]
    for label in labels_of(layout):
        if label not in columns:
            raise ValueError(f"it has no column {label!r}")
    if len(columns["action"]) != rows:
        raise ValueError(f"it has {len(columns['action'])} rows; expected {rows}")
    arrays: dict[str, Array] = {}
    for name, (dtype, shape) in layout["arrays"].items():
        table = np.empty((rows, math.prod(shape)), dtype)
        for place, label in enumerate(_column_names(name, shape)):
            table[:, place] = _convert(label, columns[label], table.dtype)
        arrays[name] = table.reshape(rows, *shape)
    observation = map_structure(arrays.__getitem__, parse_literal(layout["observation"]))
    known: dict[str, Any] = {name: arrays[name] for name in COLUMNS if name in arrays}
    if "info" in layout:
        known["info"] = map_structure(arrays.__getitem__, parse_literal(layout["info"]))
    encoding = None
    if "encoding" in layout:
        encoding = TableEncoding.from_plain(layout["encoding"])
    return BanditLog(
        observation,
        num_actions=layout["num_actions"],
        encoding=encoding,
        estimated=layout.get("estimated", ""),
        **known,
    )


def join_frame(layout: TableLayout, frame: Any) -> BanditLog:
    """Returns the log of a layout and a data frame; errors name the frame's row or line."""
    try:
        return join_columns(layout, {name: frame[name].to_numpy() for name in frame})
    except BadValueError as error:
        found = f"{error.name} is {error.value!r} in {name_row(frame, error.row)}"
        raise ValueError(f"{found}; expected {error.expected}") from error


def find_text_columns(layout: TableLayout) -> list[str]:
    """Returns the names of the columns of strings."""
    names: list[str] = []
    for name, (dtype, shape) in layout["arrays"].items():
        if np.dtype(dtype).kind == "U":
            names.extend(_column_names(name, shape))
    return names


def _name_arrays(name: str, nest: Nest) -> Nest:
    """Returns a nest of the names of the arrays of `nest`."""
    if isinstance(nest, np.ndarray):
        return name
    if type(nest) is dict:
        return {key: _name_arrays(f"{name}.{key}", item) for key, item in nest.items()}
    if type(nest) in (list, tuple):
        names = [_name_arrays(f"{name}.{place}", item) for place, item in enumerate(nest)]
        return type(nest)(names)
    raise TypeError(f"{name} is a {type(nest).__name__}; expected arrays, dicts, lists and tuples")


def _as_native(name: str, array: Array) -> Array:
    """Returns an array in the machine's byte order; TypeError if no table can hold its dtype."""
    dtype = array.dtype
    if dtype.kind not in "biufU" or (dtype.kind == "f" and dtype.itemsize > 8):
        expected = "strings, or numbers of at most 64 bits; .npz files hold the others"
        raise TypeError(f"{name} is {dtype}; expected {expected}")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _column_names(name: str, shape: Sequence[int]) -> Iterator[str]:
    """Yields the name of the column of every number in a row of an array, in order."""
    size = math.prod(shape)
    if size > MAX_COLUMNS:  # of a forged layout
        raise ValueError(f"{name} has {size} columns; expected at most {MAX_COLUMNS}")
    for place in range(size):
        index = np.unravel_index(place, tuple(shape))
        yield f"{name}[{','.join(map(str, index))}]" if index else name


def labels_of(layout: TableLayout) -> Iterator[str]:
    """Yields the names of all columns of a layout."""
    for name, (_, shape) in layout["arrays"].items():
        yield from _column_names(name, shape)


def _convert(label: str, values: Array, dtype: np.dtype[Any]) -> Array:
    """Returns a column as an array of `dtype`; BadValueError if that would change a value."""
    array = np.asarray(values)
    if dtype.kind in "biuf" and array.dtype.kind not in "biuf":
        numbers = [parse_number(value) for value in array.tolist()]
        _check_same(label, array, np.array([number is not None for number in numbers]), dtype)
        array = np.array(numbers)
    with np.errstate(invalid="ignore"):  # what does not fit is found below
        converted = array.astype(dtype)
    if dtype.kind != "f" and len(array):
        _check_same(label, array, np.asarray(converted == array), dtype)
    return converted


def _check_same(label: str, values: Array, is_same: Array, dtype: np.dtype[Any]) -> None:
    """Raises BadValueError for the first value of a column that `dtype` does not hold."""
    if not is_same.all():
        row = int(np.broadcast_to(is_same, values.shape).argmin())
        raise BadValueError(label, values.tolist()[row], row, str(dtype))
