"""Logs in files and in data frames.

Every format has one column a number: `action`, `observation.global[3]`, `available[0]` and so on. A
layout says which columns form which arrays. It is stored with them, as JSON.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import as_numbers
from bandit_envs.base.checks import as_list
from bandit_envs.base.saving import atomic_write, load_state, save_state
from bandit_envs.logged.log import COLUMNS, BanditLog, check_each, concatenate
from bandit_envs.nests import Nest, flatten, map_structure

KEY = "bandit_envs.log"
SUFFIXES = ".npz", ".csv", ".parquet"


def write_log(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes a log to a file whose suffix says the format: .npz, .csv, or .parquet (with pyarrow).

    Raises:
        TypeError: the format cannot hold a column, which the message names; .npz holds them all.
    """
    file = Path(path)
    if _suffix(file) == ".npz":
        content = {"num_actions": log.num_actions, "observation": log.observation}
        save_state(file, {KEY: {**content, **log.columns()}})
        return
    layout, columns = _flat(log)
    if file.suffix == ".csv":
        text = io.StringIO(newline="")
        text.write(f"# {json.dumps(layout)}\n")
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values())))
        atomic_write(file, [text.getvalue().encode()])
        return
    from pyarrow import Table, parquet  # noqa: PLC0415

    buffer = io.BytesIO()
    parquet.write_table(Table.from_pydict(columns, metadata={KEY: json.dumps(layout)}), buffer)
    atomic_write(file, [buffer.getvalue()])


def read_log(path: str | os.PathLike[str]) -> BanditLog:
    """Reads what `write_log` wrote, or all parts that a `LogRecorder` wrote to a folder.

    Nothing is unpickled. The ValueError of a damaged file names it and the column.
    """
    file = Path(path)
    if file.is_dir():
        return concatenate([read_log(part) for part in sorted(file.glob("part-*"))])
    suffix = _suffix(file)
    try:
        if suffix == ".npz":
            return BanditLog(**load_state(file)[KEY])
        return _nested(*(_read_csv(file) if suffix == ".csv" else _read_parquet(file)))
    except (OSError, ImportError):
        raise
    except Exception as error:  # damaged files make the libraries raise almost anything
        detail = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} does not hold a log: {detail}") from error


def to_frame(log: BanditLog) -> Any:
    """Returns a log as a pandas DataFrame, which `from_frame` reads."""
    import pandas  # noqa: PLC0415

    layout, columns = _flat(log)
    frame = pandas.DataFrame(columns)
    frame.attrs[KEY] = layout
    return frame


def from_frame(
    frame: Any,
    action: str = "action",
    reward: str = "reward",
    propensity: str = "propensity",
    *,
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
) -> BanditLog:
    """Returns the log in a pandas DataFrame, which has one row a decision.

    The names are those of its columns; the observation [n, d] has the `features`, all numbers, or
    what it had if `to_frame` made the frame. Actions are integers from 0 to `num_actions` - 1,
    which by default is the largest of them.
    """
    if features is None:
        if KEY not in frame.attrs:
            raise ValueError("features is None, and frame was not made by to_frame()")
        layout = {**frame.attrs[KEY], "rows": len(frame)}
        return _nested(layout, {name: frame[name].to_numpy() for name in frame})
    chosen = as_list(features)
    for name in (action, reward, propensity, *chosen):
        if name not in frame:
            raise ValueError(f"frame has no column {name!r}; it has {list(frame)[:20]}")
        check_each(f"column {name!r}", frame[name].to_numpy(), frame[name].notna(), "a value")
    actions, rewards, chances = (frame[name].to_numpy() for name in (action, reward, propensity))
    columns = [as_numbers(f"column {name!r} is", frame[name].to_numpy()) for name in chosen]
    observation = np.array(columns).reshape(len(chosen), len(frame)).T
    if actions.dtype.kind not in "iu":
        whole = [isinstance(each, (int, float)) and each % 1 == 0 for each in actions.tolist()]
        check_each(f"column {action!r}", actions, np.array(whole), "an integer")
        actions = actions.astype(np.int64)
    if num_actions is None and len(actions) and actions.min() == 1:
        problem = f"column {action!r} counts actions from 1, or has no action 0"
        raise ValueError(f"{problem}; subtract 1, or give num_actions")
    try:
        return BanditLog(observation, actions, rewards, chances, num_actions)
    except (TypeError, ValueError) as error:
        found = f"action is column {action!r}, reward {reward!r}, propensity {propensity!r}"
        raise type(error)(f"{error} ({found})") from error


def _suffix(file: Path) -> str:
    if file.suffix not in SUFFIXES:
        raise ValueError(f"path is {file}; expected a name that ends in {', '.join(SUFFIXES)}")
    return file.suffix


def _flat(log: BanditLog) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Returns the layout of a log, and its columns [n]."""
    tree = _names("observation", log.observation)
    leaves = dict(zip(flatten(tree), flatten(log.observation)))
    arrays: dict[str, NDArray[Any]] = {**log.columns(), **leaves}
    shapes = {name: [array.dtype.str, array.shape[1:]] for name, array in arrays.items()}
    layout = {"rows": len(log), "num_actions": log.num_actions, "observation": repr(tree)}
    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufU":
            raise TypeError(f"{name} is {array.dtype}; expected numbers or strings")
        for label, index in _labels(name, array.shape[1:]):
            columns[label] = array[(..., *index)]
    return {**layout, "arrays": shapes}, columns


def _nested(layout: Any, columns: Mapping[str, NDArray[Any]]) -> BanditLog:
    """Returns the log of a layout and columns [n]."""
    arrays, rows, found = {}, layout["rows"], len(columns["action"])
    if found != rows:
        raise ValueError(f"it has {found} rows; expected {rows}")
    for name, (kind, shape) in layout["arrays"].items():
        arrays[name] = array = np.empty((rows, *shape), kind)
        for label, index in _labels(name, shape):
            values: Any = columns[label]
            try:
                if array.dtype == np.bool_ and values.dtype.kind == "U":
                    values = [("False", "True").index(value) for value in values]
                array[(..., *index)] = values
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{label} does not hold {array.dtype}: {error}") from error
    observation = map_structure(arrays.__getitem__, ast.literal_eval(layout["observation"]))
    known = {name: arrays[name] for name in COLUMNS if name in arrays}
    return BanditLog(observation, num_actions=layout["num_actions"], **known)


def _names(name: str, nest: Nest) -> Nest:
    """Returns a nest of the names of the arrays of `nest`."""
    if isinstance(nest, np.ndarray):
        return name
    if type(nest) is dict:
        return {key: _names(f"{name}.{key}", item) for key, item in nest.items()}
    if type(nest) in (list, tuple):
        return type(nest)(_names(f"{name}.{place}", item) for place, item in enumerate(nest))
    raise TypeError(f"{name} is a {type(nest).__name__}; expected arrays, dicts, lists and tuples")


def _labels(name: str, shape: Sequence[int]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yields the name of the column of every index of one row of an array, and the index."""
    for index in np.ndindex(*shape):
        yield f"{name}[{','.join(map(str, index))}]" if index else name, index


def _read_csv(file: Path) -> tuple[Any, dict[str, NDArray[np.str_]]]:
    with file.open(encoding="utf-8", newline="") as lines:
        first = lines.readline()
        if not first.startswith("# {"):
            raise ValueError("write_log did not write it; use from_frame(pandas.read_csv(...))")
        names, *rows = csv.reader(lines, strict=True)
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"a row has not {len(names)} columns")
    columns = np.array(rows, np.str_).reshape(len(rows), len(names)).T
    return json.loads(first[2:]), dict(zip(names, columns))


def _read_parquet(file: Path) -> tuple[Any, dict[str, Any]]:
    from pyarrow import parquet  # noqa: PLC0415

    table = parquet.read_table(io.BytesIO(file.read_bytes()))
    layout = json.loads((table.schema.metadata or {})[KEY.encode()])
    return layout, {name: table[name].to_numpy() for name in table.column_names}
