"""CSV and Parquet files of any size, as data frames of some rows each."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bandit_envs.datasets.tables import import_extra
from bandit_envs.logged.frames import check_names

BUFFER = 2**16  # bytes of a column that are read at a time


def scan_frames(file: Path, batch_rows: int, names: Sequence[str] | None = None) -> Iterator[Any]:
    """Yields the rows of a table as pandas DataFrames.

    The index has the lines of a CSV file, and is named "line"; or the rows of a Parquet file, and
    is named "row".

    Args:
        file: its suffix is .parquet, or else it is CSV, which may be compressed.
        batch_rows: the most rows of a frame.
        names: of the columns to read; by default all.

    Raises:
        ModuleNotFoundError: pandas or pyarrow is not installed.
        ValueError: a column is missing.
    """
    if file.suffix == ".parquet":
        return scan_parquet(file, batch_rows, names)
    return scan_csv(file, batch_rows, names)


def scan_csv(
    file: Path, batch_rows: int, names: Sequence[str] | None = None, **options: Any
) -> Iterator[Any]:
    """Yields the rows of a CSV file; `options` are those of `pandas.read_csv`.

    All columns are parsed: with `usecols`, pandas would cut lines that are too long, such as those
    with a decimal comma, whose values are then in wrong columns.
    """
    pandas = import_extra("pandas", "logged")
    if names is not None:
        check_names("it", names, _read_names(file))
    with _heed_warnings(pandas):
        frames = pandas.read_csv(
            file,
            chunksize=batch_rows,
            index_col=False,
            skip_blank_lines=False,
            float_precision="round_trip",
            **options,
        )
    first_line = 2 + options.get("skiprows", 0)
    with frames:
        while True:
            with _heed_warnings(pandas):
                frame = next(frames, None)
            if frame is None:
                return
            frame.index = (frame.index + first_line).rename("line")
            yield frame if names is None else frame[list(names)]


def _read_names(file: Path) -> list[str]:
    """Returns the names of the columns of a CSV file; pandas would rename those it has twice."""
    pandas = import_extra("pandas", "logged")
    options = {"index_col": False, "na_filter": False, "skip_blank_lines": False}
    first = pandas.read_csv(file, header=None, nrows=1, dtype=str, **options).iloc[0].tolist()
    return [name or f"Unnamed: {place}" for place, name in enumerate(first)]  # as pandas calls it


@contextlib.contextmanager
def _heed_warnings(pandas: Any) -> Iterator[None]:
    """Turns pandas' warning of lines that are too long into an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)  # of any column
        warnings.simplefilter("ignore", DeprecationWarning)  # of float_precision, in pandas 3
        try:
            yield
        except pandas.errors.ParserWarning as error:
            raise ValueError("a line has more columns than names") from error


def scan_parquet(file: Path, batch_rows: int, names: Sequence[str] | None = None) -> Iterator[Any]:
    """Yields the rows of a Parquet file."""
    pandas = import_extra("pandas", "logged")
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    row = 0
    with parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER) as table:
        if names is not None:
            check_names("it", names, table.schema_arrow.names)
        for batch in table.iter_batches(batch_rows, columns=names, use_threads=False):
            frame = batch.to_pandas(ignore_metadata=True)  # which makes an index of some columns
            frame.index = pandas.RangeIndex(row, row + len(frame), name="row")
            row += len(frame)
            yield frame
