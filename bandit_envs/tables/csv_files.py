"""CSV files of any size, as data frames of some rows each."""

from __future__ import annotations

import contextlib
import csv
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.roles import check_column_names
from bandit_envs.tables.suffixes import compression_of

if TYPE_CHECKING:
    from pandas import DataFrame


def scan_csv(
    file: Path, batch_rows: int, names: Sequence[str] | None = None, **options: Any
) -> Iterator[DataFrame]:
    """Yields the rows of a CSV file, whose numbers are read exactly.

    The index of the rows has the numbers of their lines, and is named "line". Columns that have one
    name keep it. All columns are parsed: with `usecols`, pandas would cut lines that are too long,
    such as those with a decimal comma, whose values are then in wrong columns.

    Args:
        file: which may be compressed, as its suffix says.
        batch_rows: the most rows of a data frame. The first may have none.
        names: of the columns that it has; None for all.
        options: of `pandas.read_csv`.
    """
    pandas = import_extra("pandas", "logged")
    skipped = options.get("skiprows", 0)
    header = read_names(file, skipped)
    if names is not None:
        check_column_names("it", names, header)
    next_line = 2 + skipped + sum(name.count("\n") for name in header)
    with _warnings_as_errors(next_line):
        frames = pandas.read_csv(
            file,
            chunksize=batch_rows,
            index_col=False,
            skip_blank_lines=False,
            float_precision="round_trip",
            compression=compression_of(file),
            **options,
        )
    with frames:
        while True:
            with _warnings_as_errors(next_line):
                frame = next(frames, None)
            if frame is None:
                return
            frame.columns = pandas.Index(header)
            lines = count_lines(frame)
            frame.index = pandas.Index(next_line + lines.cumsum() - lines, name="line")
            next_line += int(lines.sum())
            yield frame if names is None else frame[list(names)]


@contextlib.contextmanager
def _warnings_as_errors(line: int) -> Iterator[None]:
    """Turns pandas' warning of lines that are too long into an error.

    Args:
        line: the first that is read.
    """
    pandas = import_extra("pandas", "logged")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)  # errors name the cells
        warnings.simplefilter("ignore", DeprecationWarning)  # of float_precision, in pandas 3
        try:
            yield
        except pandas.errors.ParserWarning as error:
            raise ValueError(f"line {line} or a later one has more columns than names") from error


def read_names(file: Path, skipped: int = 0) -> list[str]:
    """Returns the names of the columns of a CSV file, as they are: pandas renames equal ones.

    Args:
        file: of the table.
        skipped: lines before the names.
    """
    first = _read_first(file, skiprows=skipped, index_col=False)
    names = first.iloc[0].tolist()
    return [name or f"Unnamed: {place}" for place, name in enumerate(names)]  # as pandas calls it


def read_first_line(file: Path) -> str:
    """Returns the first line of a text file, which may be compressed."""
    first = _read_first(file, sep="\x1f", quoting=csv.QUOTE_NONE)  # which no line has
    return str(first.iat[0, 0])


def _read_first(file: Path, **options: Any) -> DataFrame:
    """Returns the first row of a file as texts."""
    pandas = import_extra("pandas", "logged")
    first: DataFrame = pandas.read_csv(
        file,
        header=None,
        nrows=1,
        dtype=str,
        na_filter=False,
        skip_blank_lines=False,
        compression=compression_of(file),
        **options,
    )
    return first


def count_lines(frame: DataFrame) -> NDArray[np.intp]:
    """Returns how many lines each row of a CSV file takes; texts may have several."""
    lines = np.ones(len(frame), np.intp)
    for place in range(frame.shape[1]):
        cells = frame.iloc[:, place]
        if cells.dtype == "str":  # which searches a column in a tenth of the time of a loop
            has_breaks = cells.str.contains("\n", regex=False, na=False).to_numpy(np.bool_)
            lines[has_breaks] += cells[has_breaks].str.count("\n").to_numpy(np.intp)
        elif cells.dtype.kind not in "biufM":
            breaks = [cell.count("\n") if isinstance(cell, str) else 0 for cell in cells.tolist()]
            lines += np.array(breaks, np.intp)
    return lines
