"""Tables in files, as pandas data frames, and checks of their cells."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.folders import (
    TABLE_SUFFIXES,
    Part,
    compression_of,
    find_parts,
    is_of_reading,
    is_parquet,
    refuse_changes,
)

if TYPE_CHECKING:
    from pandas import DataFrame

PathLike = str | os.PathLike[str]

ROWS_PER_BATCH = 20_000

UNNAMED = re.compile(r"Unnamed: [0-9]+(\.[0-9]+)?|__index_level_[0-9]+__")
"""What pandas calls a column without a name, such as the index that it writes to CSV or Parquet."""

LONGEST_LINE = 2**20
"""The most bytes of a first line. A longer one is not of a table, and could fill the memory."""


def read_table(
    path: PathLike, extra: str = "logged", only: str | None = None, **options: Any
) -> DataFrame:
    """Reads a CSV file, a Parquet file, or a folder of such files as a pandas DataFrame.

    CSV may be compressed, as the suffix says. Its numbers are read exactly. The index of its rows
    has the numbers of their lines in the file, and is named "line"; that of a Parquet file is named
    "row"; and that of a folder has the names of the files before. Columns that have one name keep
    it.

    Args:
        path: of the file or folder, as for `find_parts`. What the names of folders say, such as
            day=2, becomes columns.
        extra: the extra of this package that installs pandas, for the error if it is missing.
        only: a pattern of the files of a folder that are read, as for `find_parts`.
        options: of `pandas.read_csv`, for CSV.

    Raises:
        ModuleNotFoundError: pandas or pyarrow is not installed.
        ValueError: a file is damaged, or has other columns than the first; the message names it.
    """
    pandas = import_extra("pandas", extra)
    folder = Path(path)
    parts = find_parts(folder, TABLE_SUFFIXES, only).found
    frames = []
    for part in parts:
        with errors_that_name(part.name), refuse_changes(part):
            frames.append(_read_part(part, options))
            _check_same_columns(frames[-1], frames[0])
    if not folder.is_dir():
        return frames[0]
    named = {part.name: frame[frames[0].columns] for part, frame in zip(parts, frames)}
    filled = {name: frame for name, frame in named.items() if len(frame)}  # others have no dtypes
    return pandas.concat(filled or named, names=["file", "line"])


def _read_part(part: Part, options: dict[str, Any]) -> DataFrame:
    """Returns the rows of a file, with columns of the keys of its folders."""
    frame = _read_parquet(part.file) if is_parquet(part.name) else read_csv(part.file, options)
    refuse_keys(part, frame.columns)
    return frame.assign(**part.keys) if part.keys else frame


def refuse_keys(part: Part, names: Iterable[str]) -> None:
    """Raises ValueError if a column of a file has the name of a key of its folders."""
    for name in names:
        if name in part.keys:
            found = f"it has a column {name!r}, and its folder says {name}={part.keys[name]}"
            raise ValueError(f"{found}; rename one of them")


def _check_same_columns(frame: DataFrame, first: DataFrame) -> None:
    """Raises ValueError if two parts of a table differ in the names of their columns."""
    for name in sorted({*frame.columns} ^ {*first.columns}):
        which = "has" if name in frame.columns else "lacks"
        raise ValueError(f"it {which} the column {name!r}, unlike the first file of the folder")


def _read_parquet(file: Path) -> DataFrame:
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    with parquet.ParquetFile(file) as table:
        # An index that has a name is a column, as in CSV; pandas gives others such names.
        found = table.read().to_pandas(ignore_metadata=True)
    unnamed = [name for name in found.columns if re.fullmatch(r"__index_level_\d+__", name)]
    frame: DataFrame = found.drop(columns=unnamed)
    frame.index.name = "row"
    return frame


def read_csv(file: Path, options: dict[str, Any]) -> DataFrame:
    """Returns the rows of a CSV file, as `read_table` does; its errors do not name the file."""
    pandas = import_extra("pandas", "logged")
    names = read_names(file, options.get("skiprows", 0))
    first_line = 2 + options.get("skiprows", 0) + sum(name.count("\n") for name in names)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)  # errors name the cells
        warnings.simplefilter("ignore", DeprecationWarning)  # of float_precision, in pandas 3
        try:
            frame: DataFrame = pandas.read_csv(
                file,
                index_col=False,
                skip_blank_lines=False,
                float_precision="round_trip",
                compression=compression_of(file),
                **options,
            )
        except pandas.errors.ParserWarning as error:
            raise ValueError(f"line {first_line} has more columns than names") from error
    frame.columns = pandas.Index(names)
    lines = count_lines(frame)
    frame.index = pandas.Index(first_line + lines.cumsum() - lines, name="line")
    return frame


def read_names(file: Path, skipped: int = 0) -> list[str]:
    """Returns the names of the columns of a CSV file, as they are: pandas renames equal ones.

    Args:
        file: of the table.
        skipped: lines before the names.
    """
    pandas = import_extra("pandas", "logged")
    first = pandas.read_csv(
        file,
        header=None,
        nrows=1,
        skiprows=skipped,
        dtype=str,
        index_col=False,
        na_filter=False,
        skip_blank_lines=False,
        compression=compression_of(file),
    )
    names = first.iloc[0].tolist()
    return [name or f"Unnamed: {place}" for place, name in enumerate(names)]  # as pandas calls it


def find_unnamed(names: Iterable[str]) -> list[str]:
    """Returns the columns without a name of their own, as pandas calls them.

    >>> find_unnamed(["Unnamed: 0", "age", "__index_level_0__"])
    ['Unnamed: 0', '__index_level_0__']
    """
    texts = dict.fromkeys(name for name in names if isinstance(name, str))
    return [name for name in texts if UNNAMED.fullmatch(name)]


def describe_unnamed(names: Sequence[str]) -> str:
    """Returns the line that says why columns without names are not features."""
    found = ", ".join(map(repr, names))
    return f"columns without a name, such as an index, are not features: {found}"


def read_first_line(file: Path) -> str:
    """Returns the first line of a text file, which may be compressed."""
    pandas = import_extra("pandas", "logged")
    first = pandas.read_csv(
        file,
        header=None,
        nrows=1,
        sep="\x1f",  # which no line has, so a line is a cell
        quoting=csv.QUOTE_NONE,
        dtype=str,
        na_filter=False,
        skip_blank_lines=False,
        compression=compression_of(file),
    )
    return str(first.iat[0, 0])


def count_lines(frame: DataFrame) -> NDArray[np.intp]:
    """Returns how many lines each row of a CSV file takes; texts may have several."""
    lines = np.ones(len(frame), np.intp)
    for place in range(frame.shape[1]):
        cells = frame.iloc[:, place]
        if cells.dtype.kind not in "biufM":
            breaks = [cell.count("\n") if isinstance(cell, str) else 0 for cell in cells.tolist()]
            lines += np.array(breaks, np.intp)
    return lines


def scan_cells(
    path: PathLike, num_columns: int, delimiter: str = ",", member: str = "", **options: Any
) -> Iterator[DataFrame]:
    """Yields the rows of a text file without a header as pandas DataFrames, a batch at a time.

    The index of the rows has the numbers of their lines, from 1, and is named "line". The names of
    the columns are their numbers, from 1. A cell that a line lacks is an empty text. Empty lines
    are left out.

    Args:
        path: of the file, which may be compressed by gzip, or be in a zip archive.
        num_columns: the number of columns.
        delimiter: between the columns.
        member: the name of the file in a zip archive.
        options: of `pandas.read_csv`.

    Raises:
        ModuleNotFoundError: pandas is not installed.
        ValueError: the file is damaged, or a line has too many columns; the message does not name
            the file, so that a caller can use `errors_that_name` for all of its errors.
    """
    pandas = import_extra("pandas", "datasets")
    with _open_binary(Path(path), member) as content:
        if len(content.readline(LONGEST_LINE)) == LONGEST_LINE:
            raise ValueError(f"line 1 is longer than {LONGEST_LINE} bytes")
        content.seek(0)
        batches = pandas.read_csv(
            content,
            sep=delimiter,
            header=None,
            names=None,
            na_filter=False,
            skip_blank_lines=False,
            low_memory=False,  # else columns of numbers and texts warn
            chunksize=ROWS_PER_BATCH,
            **options,
        )
        for frame in batches:
            found = frame.shape[1]
            if found != num_columns:
                raise ValueError(f"line 1 has {found} columns; expected {num_columns}")
            frame.columns = range(1, num_columns + 1)
            frame.index = (frame.index + 1).rename("line")
            yield frame[(frame != "").any(axis=1)]


def check_cells(frame: DataFrame, is_good: NDArray[np.bool_], expected: str) -> None:
    """Raises ValueError for the first cell of a data frame that is not good, [rows, columns].

    The message names the row by the frame's index, and says what is expected.
    """
    bad = np.argwhere(~is_good)
    if len(bad):
        row, column = bad[0]
        place = f"{name_row(frame, row)}, column {frame.columns[column]}"
        found = str(frame.iat[row, column])
        raise ValueError(f"{place} is {found!r}; expected {expected}")


def name_row(frame: DataFrame, row: int) -> str:
    """Returns how messages call a row of a data frame, such as "line 3" of a file."""
    place = frame.index[row]
    if frame.index.nlevels == 2:  # of a folder
        file, number = place
        return f"{'row' if is_parquet(file) else 'line'} {number} of {file}"
    return f"{frame.index.name or 'row'} {place}"


def warn_of_texts_among_numbers(frame: DataFrame, name: str, stacklevel: int) -> None:
    """Warns if a few cells of a column are not numbers, so that all count as texts.

    Args:
        frame: the table.
        name: of the column.
        stacklevel: of the warning, as for `warnings.warn`.
    """
    pandas = import_extra("pandas", "datasets")
    cells = frame[name]
    if cells.dtype.kind in "biufcmM":
        return
    is_text = pandas.to_numeric(cells, errors="coerce").isna() & cells.notna()
    if 0 < is_text.sum() < len(cells) / 2:
        row = int(is_text.to_numpy().argmax())
        found = f"{name_row(frame, row)}, column {name} is {str(cells.iloc[row])!r} among numbers"
        warnings.warn(f"{found}; so all of the column counts as text", stacklevel=stacklevel + 1)


def to_numbers(frame: DataFrame) -> NDArray[np.float64]:
    """Returns the cells of a data frame, which must be finite numbers."""
    pandas = import_extra("pandas", "datasets")
    columns = [pandas.to_numeric(frame[name], errors="coerce") for name in frame]
    numbers = np.column_stack(columns).astype(np.float64)
    check_cells(frame, np.isfinite(numbers), "a number")
    return numbers


def to_texts(frame: DataFrame) -> NDArray[np.object_]:
    """Returns the cells of a data frame as texts without spaces around them; none may be empty."""
    columns = [frame[name].astype(str).str.strip() for name in frame]
    texts = np.column_stack(columns).astype(object)
    check_cells(frame, texts != "", "a value")
    return texts


@contextlib.contextmanager
def errors_that_name(name: str) -> Iterator[None]:
    """Turns errors of reading a file into a ValueError that has its name.

    What `is_of_reading` does not know stays as it is.
    """
    try:
        yield
    except Exception as error:
        if not is_of_reading(error):
            raise
        raise ValueError(f"{name} cannot be read: {str(error).strip()}") from error


@contextlib.contextmanager
def _open_binary(file: Path, member: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Opens a file, or one that is compressed, as its first bytes say."""
    with file.open("rb") as content:
        start = content.read(2)
        content.seek(0)
        if start == b"PK":
            with zipfile.ZipFile(content) as archive, archive.open(member) as decompressed:
                yield decompressed
        elif start == b"\x1f\x8b":
            with gzip.open(content) as decompressed:
                yield decompressed
        else:
            yield content
