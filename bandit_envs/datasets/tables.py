"""Tables in files, as pandas data frames, and checks of their cells."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import os
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame

PathLike = str | os.PathLike[str]

ROWS_PER_BATCH = 20_000

LONGEST_LINE = 2**20
"""The most bytes of a first line. A longer one is not of a table, and could fill the memory."""


def read_table(path: PathLike, extra: str = "logged", **options: Any) -> DataFrame:
    """Reads a CSV file, a Parquet file, or a folder of Parquet files as a pandas DataFrame.

    CSV may be compressed, as the suffix says. Its numbers are read exactly. The index of its rows
    has the numbers of their lines in the file, and is named "line".

    Args:
        path: of the file or folder.
        extra: the extra of this package that installs pandas, for the error if it is missing.
        options: of `pandas.read_csv`, for CSV.

    Raises:
        ModuleNotFoundError: pandas or pyarrow is not installed.
        ValueError: the file is damaged; the message names it.
    """
    file = Path(path)
    first_line = 2 + options.get("skiprows", 0)
    pandas = import_extra("pandas", extra)
    with errors_that_name(file):
        if file.is_dir() or file.suffix == ".parquet":
            import_extra("pyarrow", "logged")
            return pandas.read_parquet(file)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # of float_precision, in pandas 3
            try:
                frame = pandas.read_csv(
                    file,
                    index_col=False,
                    skip_blank_lines=False,
                    float_precision="round_trip",
                    **options,
                )
            except pandas.errors.ParserWarning as error:
                raise ValueError(f"line {first_line} has more columns than names") from error
    frame.index = pandas.Index(_line_numbers(frame, first_line), name="line")
    return frame


def _line_numbers(frame: DataFrame, first_line: int) -> NDArray[np.intp]:
    """Returns the line of a CSV file in which each row begins; texts may have several lines."""
    lines = np.ones(len(frame), np.intp)
    for _, cells in frame.items():
        if cells.dtype.kind not in "biuf":
            breaks = cells.astype(str).str.count("\n")
            lines += breaks.fillna(0).to_numpy(np.intp)  # what is missing has none
    return first_line + lines.cumsum() - lines


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
    return f"{frame.index.name or 'row'} {frame.index[row]}"


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
def errors_that_name(file: Path) -> Iterator[None]:
    """Turns errors of reading a file into a ValueError that names it.

    Damaged files make the libraries raise almost anything. What says itself which file or module is
    missing stays as it is.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, ImportError):
        raise
    except Exception as error:
        raise ValueError(f"{file.name} cannot be read: {str(error).strip()}") from error


def import_extra(name: str, extra: str) -> ModuleType:
    """Returns a module that an extra of the package installs; the error without it says which."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        advice = f'{name} is not installed; in a checkout: pip install ".[{extra}]"'
        raise ModuleNotFoundError(advice, name=error.name) from error


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
