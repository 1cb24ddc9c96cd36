"""Logs in files: .npz, .csv and .parquet."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write, check_format, load_state, save_state
from bandit_envs.logged.columns import COLUMNS
from bandit_envs.logged.files.column_layout import (
    FORMAT,
    TableLayout,
    check_layout,
    find_text_columns,
    has_plain_observation,
    join_columns,
    join_frame,
    labels_of,
    split_log,
    without_observation,
)
from bandit_envs.logged.files.frames import KEY, to_frame
from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, are_parquet, times_of_batches
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_plain_actions
from bandit_envs.tables.csv_files import read_first_line, scan_csv
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.parquet_files import read_metadata, scan_parquet
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.suffixes import TABLE_SUFFIXES, ends_with, is_parquet
from bandit_envs.tables.times import TimesOfRows

ARCHIVE = ".npz"
LOG_SUFFIXES = (ARCHIVE, *TABLE_SUFFIXES)
"""How the names of logs end that `read_log` reads, in capitals or not."""

WRITTEN_SUFFIXES = (ARCHIVE, ".csv", ".parquet")
"""How the names of logs end that `write_log` writes."""

DSJSON_SUFFIXES = (".dsjson", ".json")
"""How the names of Vowpal Wabbit's logs end."""

LAYOUT = "# {"
"""How the first line of a CSV file begins that `write_log` wrote."""

NOT_WRITTEN = "write_log did not write it, unlike the first file"


def write_log(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes a log to a file whose suffix says the format: .npz, .csv, or .parquet.

    The last two need pandas and pyarrow. Texts are written as they are, to be read again: a
    spreadsheet takes one that begins with "=" in a CSV file for a formula.

    Raises:
        TypeError: the format cannot hold a column, which the message names; .npz holds them all.
        ValueError: the suffix is another, two columns would have the same name, or actions are
            neither integers nor real numbers.
    """
    require_plain_actions(log)
    file = Path(path)
    suffix = ends_with(check_suffix(file, WRITTEN_SUFFIXES).name, WRITTEN_SUFFIXES)
    if suffix == ARCHIVE:
        _write_npz(file, log)
    elif suffix == ".csv":
        _write_csv(file, log)
    else:
        _write_parquet(file, log)


def _read_npz(file: Path) -> BanditLog:
    """Returns the log in an archive that `write_log` wrote."""
    content = load_state(file)
    if not isinstance(content, dict) or not isinstance(content.get(KEY), dict):
        raise ValueError("it does not hold a log")
    return _make_log(content[KEY])


def _make_log(columns: dict[str, Any]) -> BanditLog:
    """Returns the log of the columns in an archive; ValueError if they are not those of a log."""
    check_format("it", "a log", columns.pop("format", 1), FORMAT)
    for name in ("observation", "action", "reward", "propensity"):
        if name not in columns:
            raise ValueError(f"it has no column {name!r}")
    for name in columns:
        if name not in ("observation", "num_actions", "encoding", "estimated", "info", *COLUMNS):
            raise ValueError(f"it has a column {name!r}, which logs do not have")
    encoding = None
    if "encoding" in columns:
        encoding = TableEncoding.from_plain(columns.pop("encoding"))
    return BanditLog(encoding=encoding, **columns)


def is_archive(name: str) -> bool:
    """Whether the name of a file is that of NumPy's archives."""
    return bool(ends_with(name, [ARCHIVE]))


def check_suffix(file: Path, suffixes: Sequence[str] = LOG_SUFFIXES) -> Path:
    """Returns a file; ValueError if it has none of the suffixes of logs."""
    if not ends_with(file.name, suffixes):
        expected = f"expected a name that ends in {', '.join(suffixes)}"
        raise ValueError(f"path is {file}; {expected}")
    return file


def is_written(part: FilePart) -> bool:
    """Whether `write_log` wrote a file, rather than that it is a user's table."""
    if is_archive(part.name):
        return True
    with part.reading():
        if is_parquet(part.name):
            return KEY.encode() in _read_texts(part.file)
        return read_first_line(part.file).startswith(LAYOUT)


def read_csv_layout(file: Path) -> TableLayout:
    """Returns the layout in the first line of a CSV file that `write_log` wrote."""
    first = read_first_line(file)
    if not first.startswith(LAYOUT):
        raise ValueError(NOT_WRITTEN)
    return check_layout(json.loads(first[2:]))


def csv_options(layout: TableLayout) -> dict[str, Any]:
    """Returns the options with which pandas reads a CSV file that has a layout."""
    texts = dict.fromkeys(find_text_columns(layout), str)
    return {"skiprows": 1, "dtype": texts, "na_filter": False}


def read_parquet_layout(file: Path) -> TableLayout:
    """Returns the layout in the metadata of a Parquet file that `write_log` wrote."""
    metadata = _read_texts(file)
    if KEY.encode() not in metadata:
        raise ValueError(NOT_WRITTEN)
    return check_layout(json.loads(metadata[KEY.encode()]))


def _read_texts(file: Path) -> dict[bytes, bytes]:
    """Returns what the writer of a Parquet file says of it."""
    return read_metadata(file).metadata or {}


def _write_npz(file: Path, log: BanditLog) -> None:
    content = {"num_actions": log.num_actions, "observation": log.observation, **log.columns()}
    if log.encoding is not None:
        content["encoding"] = log.encoding.plain()
    if log.info is not None:
        content["info"] = log.info
    if log.estimated:
        content["estimated"] = log.estimated
    save_state(file, {KEY: {"format": FORMAT, **content}})


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
    table = Table.from_pydict(values, metadata={KEY: json.dumps(layout)})
    parquet.write_table(table, buffer, write_page_checksum=True)
    atomic_write(file, [buffer.getvalue()])


@dataclasses.dataclass(frozen=True)
class WrittenScan(Scan):
    """A log in files that `write_log` wrote.

    Args:
        parts: the files, in order.
        batch_rows: the most rows of a batch.
        time: the column of times, named as `to_frame` names it, such as "step"; or a key of the
            folders.
        reads_observation: whether batches have the observation, rather than one of no features.
    """

    parts: Parts[FilePart]
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    reads_observation: bool = True

    def __iter__(self) -> Iterator[BanditLog]:
        first: BanditLog | None = None
        for number, part in enumerate(self.parts.found):
            for batch in self.scan_part(number):
                with errors_that_name(part.name):
                    first = batch[:0] if first is None else first
                    concatenate([first, batch[:0]])  # an error if their columns differ
                yield batch

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        part = self.parts.found[number]
        with part.reading():
            yield from _scan_written(part.file, self.batch_rows, self.reads_observation)

    def read(self) -> BanditLog:
        batches = list(dataclasses.replace(self, batch_rows=sys.maxsize))  # of whole files
        return batches[0] if len(batches) == 1 else concatenate(batches)

    def keep_features(self, names: Sequence[str]) -> WrittenScan:
        if names or not are_parquet(self.parts):
            return self
        for part in self.parts.found:
            with part.reading():
                layout = read_parquet_layout(part.file)
            if not has_plain_observation(layout):
                return self
        return dataclasses.replace(self, reads_observation=False)

    @property
    def unread(self) -> str:
        return "" if self.reads_observation else "observations are"

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for number, part in enumerate(self.parts.found):
            yield from times_of_batches(self.scan_part(number), name, part.name, part.keys)


def _scan_written(file: Path, batch_rows: int, reads_observation: bool) -> Iterator[BanditLog]:
    """Yields the batches of a file that `write_log` wrote.

    Args:
        file: which is read.
        batch_rows: the most rows of a batch.
        reads_observation: whether they have the observation, of which a file is read by column.
    """
    if is_archive(file.name):
        log = _read_npz(file)
        for start in range(0, max(len(log), 1), batch_rows):
            yield log[start : start + batch_rows]
        return
    if is_parquet(file):
        layout = read_parquet_layout(file)
        names = None
        if not reads_observation:
            layout = without_observation(layout)
            names = list(labels_of(layout))
        frames = scan_parquet(file, batch_rows, names)
    else:
        layout = read_csv_layout(file)
        frames = scan_csv(file, batch_rows, **csv_options(layout))
    rows = 0
    frame = None
    for frame in frames:
        rows += len(frame)
        layout_of_batch = layout.copy()
        layout_of_batch["rows"] = len(frame)
        yield join_frame(layout_of_batch, frame)
    if frame is None:  # of Parquet, where no rows are no batch
        yield join_columns(layout, dict.fromkeys(labels_of(layout), np.empty(0)))
    if rows != layout["rows"]:
        raise ValueError(f"it has {rows} rows; expected {layout['rows']}")
