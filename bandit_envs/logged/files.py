"""Logs in files: .npz, .csv and .parquet."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

from bandit_envs.base.saving import atomic_write, load_state, save_state
from bandit_envs.datasets.tables import errors_that_name, import_extra, read_table
from bandit_envs.logged.frames import KEY, to_frame
from bandit_envs.logged.layout import Layout, find_text_columns, join_columns, split_log
from bandit_envs.logged.log import BanditLog, concatenate

SUFFIXES = (".npz", ".csv", ".parquet")
NOT_WRITTEN = (
    "write_log did not write it; scan_log and from_frame read tables whose features are named"
)


def write_log(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes a log to a file whose suffix says the format: .npz, .csv, or .parquet.

    The last two need pandas and pyarrow.

    Raises:
        TypeError: the format cannot hold a column, which the message names; .npz holds them all.
        ValueError: the suffix is another, or two columns would have the same name.
    """
    file = Path(path)
    suffix = check_suffix(file).suffix
    if suffix == ".npz":
        _write_npz(file, log)
    elif suffix == ".csv":
        _write_csv(file, log)
    else:
        _write_parquet(file, log)


def read_log(path: str | os.PathLike[str]) -> BanditLog:
    """Reads what `write_log` wrote, or all such files in a folder, in the order of their names.

    Nothing is unpickled. The ValueError of a damaged file names it and the column.
    """
    file = Path(path)
    if file.is_dir():
        return _read_folder(file)
    suffix = check_suffix(file).suffix
    try:
        if suffix == ".npz":
            return BanditLog(**load_state(file)[KEY])
        if suffix == ".csv":
            return _read_csv(file)
        return _read_parquet(file)
    except (OSError, ImportError):
        raise
    except KeyError as error:
        raise ValueError(f"{path} does not hold a log: it has no {error}") from error
    except Exception as error:  # damaged files make the libraries raise almost anything
        raise ValueError(f"{path} does not hold a log: {error}") from error


def find_log_files(folder: Path, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """Returns the logs in a folder, but no hidden files: a killed process leaves such."""
    return [file for file in sorted(folder.glob("[!._]*")) if file.name.endswith(suffixes)]


def require_log_files(folder: Path, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """Returns the logs in a folder, at least one, in the order of their names.

    Raises:
        ValueError: there is none; or two differ in their suffixes alone, as a table and what
            compressed it do, so that their rows would count twice.
    """
    files = find_log_files(folder, suffixes)
    if not files:
        problem = f"{folder} has no files that end in {', '.join(suffixes)}"
        raise ValueError(f"{problem}; those in folders inside it are not read")
    known: dict[str, str] = {}
    for file in files:
        suffix = next(suffix for suffix in suffixes if file.name.endswith(suffix))
        stem = file.name.removesuffix(suffix)
        if stem in known:
            problem = f"{folder} has {known[stem]} and {file.name}"
            raise ValueError(f"{problem}, whose rows would count twice; expected one of them")
        known[stem] = file.name
    return files


def check_suffix(file: Path) -> Path:
    """Returns a file; ValueError if its suffix is not that of a log."""
    if file.suffix not in SUFFIXES:
        raise ValueError(f"path is {file}; expected a name that ends in {', '.join(SUFFIXES)}")
    return file


def read_csv_layout(file: Path) -> Layout:
    """Returns the layout in the first line of a CSV file that `write_log` wrote."""
    with file.open(encoding="utf-8", newline="") as lines:
        first = lines.readline()
    if not first.startswith("# {"):
        raise ValueError(NOT_WRITTEN)
    layout: Layout = json.loads(first[2:])
    return layout


def csv_options(layout: Layout) -> dict[str, Any]:
    """Returns the options with which pandas reads a CSV file that has a layout."""
    texts = dict.fromkeys(find_text_columns(layout), str)
    return {"skiprows": 1, "dtype": texts, "na_filter": False}


def read_parquet_layout(file: Path) -> Layout:
    """Returns the layout in the metadata of a Parquet file that `write_log` wrote."""
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    metadata = parquet.read_metadata(file).metadata or {}
    if KEY.encode() not in metadata:
        raise ValueError(NOT_WRITTEN)
    layout: Layout = json.loads(metadata[KEY.encode()])
    return layout


def _read_folder(folder: Path) -> BanditLog:
    """Returns the log in all files of a folder."""
    files = require_log_files(folder)
    logs = [read_log(file) for file in files]
    for file, log in zip(files, logs):
        with errors_that_name(file):
            concatenate([logs[0][:0], log[:0]])  # an error if their columns differ
    return concatenate(logs)


def _write_npz(file: Path, log: BanditLog) -> None:
    content = {"num_actions": log.num_actions, "observation": log.observation, **log.columns()}
    save_state(file, {KEY: content})


def _write_csv(file: Path, log: BanditLog) -> None:
    """Writes the layout as a comment, and the table below it."""
    frame = to_frame(log)
    for name in find_text_columns(frame.attrs[KEY]):
        if any("\0" in text for text in frame[name]):  # it would end the text
            problem = f"{name} has a string with NUL, which .csv cannot hold"
            raise ValueError(f"{problem}; .npz and .parquet can")
    layout = json.dumps(frame.attrs[KEY])
    table = frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    atomic_write(file, [f"# {layout}\n{table}".encode()])


def _read_csv(file: Path) -> BanditLog:
    layout = read_csv_layout(file)
    frame = read_table(file, **csv_options(layout))
    return join_columns(layout, {name: frame[name].to_numpy() for name in frame})


def _write_parquet(file: Path, log: BanditLog) -> None:
    import_extra("pyarrow", "logged")
    from pyarrow import Table, parquet  # noqa: PLC0415

    layout, columns = split_log(log)
    # pyarrow cuts the strings of NumPy's arrays at the first NUL, but not Python's.
    values: dict[str, Any] = {
        name: column.tolist() if column.dtype.kind == "U" else column
        for name, column in columns.items()
    }
    buffer = io.BytesIO()
    parquet.write_table(Table.from_pydict(values, metadata={KEY: json.dumps(layout)}), buffer)
    atomic_write(file, [buffer.getvalue()])


def _read_parquet(file: Path) -> BanditLog:
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    layout = read_parquet_layout(file)
    table = parquet.read_table(io.BytesIO(file.read_bytes()))
    return join_columns(layout, {name: table[name].to_numpy() for name in table.column_names})
