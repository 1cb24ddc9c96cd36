"""CSV and Parquet files of any size, as data frames of some rows each."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.folders import Part, compression_of, is_parquet, refuse_changes
from bandit_envs.datasets.tables import count_lines, errors_that_name, read_names, refuse_keys
from bandit_envs.logged.files.frames import check_column_names

BUFFER = 2**16  # bytes of a column that are read at a time


def scan_frames(
    part: Part, batch_rows: int, names: Sequence[str], texts: Sequence[str] = ()
) -> Iterator[Any]:
    """Yields the rows of a table as pandas DataFrames.

    The index has the lines of a CSV file, and is named "line"; or the rows of a Parquet file, and
    is named "row".

    Args:
        part: a Parquet file, or else CSV, which may be compressed.
        batch_rows: the most rows of a frame.
        names: of the columns to read. Those that are keys of its folders have their values.
        texts: columns whose cells are texts, even where they look like numbers.

    Raises:
        ModuleNotFoundError: pandas or pyarrow is not installed.
        ValueError: a column is missing, or is both in the file and a key.
    """
    own = [name for name in names if name not in part.keys]
    keys = {name: part.keys[name] for name in names if name in part.keys}
    if keys:
        refuse_keys(part, [name for name in _names_in_file(part) if name in keys])
    if is_parquet(part.name):
        frames = scan_parquet(part.file, batch_rows, own)
    else:
        kinds = {name: str for name in texts if name in own}
        frames = scan_csv(part.file, batch_rows, own, dtype=kinds)
    for frame in frames:
        yield frame.assign(**keys)[list(names)] if keys else frame


def scan_csv(
    file: Path, batch_rows: int, names: Sequence[str] | None = None, **options: Any
) -> Iterator[Any]:
    """Yields the rows of a CSV file; `options` are those of `pandas.read_csv`.

    All columns are parsed: with `usecols`, pandas would cut lines that are too long, such as those
    with a decimal comma, whose values are then in wrong columns.
    """
    pandas = import_extra("pandas", "logged")
    skipped = options.get("skiprows", 0)
    header = read_names(file, skipped)
    check_column_names("it", header if names is None else names, header)
    next_line = 2 + skipped + sum(name.count("\n") for name in header)
    with _heed_warnings(pandas):
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
            with _heed_warnings(pandas):
                frame = next(frames, None)
            if frame is None:
                return
            lines = count_lines(frame)
            frame.index = pandas.Index(next_line + lines.cumsum() - lines, name="line")
            next_line += int(lines.sum())
            yield frame if names is None else frame[list(names)]


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
        known = table.schema_arrow.names
        wanted = known if names is None else list(names)
        check_column_names("it", wanted, known)
        read = wanted or known[:1]  # which say how many rows there are
        for batch in table.iter_batches(batch_rows, columns=read, use_threads=False):
            # The metadata would make an index of some columns; blocks would be copies of columns.
            frame = batch.to_pandas(ignore_metadata=True, split_blocks=True)
            frame.index = pandas.RangeIndex(row, row + len(frame), name="row")
            row += len(frame)
            yield frame if list(frame) == wanted else frame[wanted]


def names_in_table(part: Part) -> list[str]:
    """Returns the names of the columns of a table: of a file, and of the keys of its folders."""
    with errors_that_name(part.name), refuse_changes(part):
        own = _names_in_file(part)
    return [*own, *(key for key in part.keys if key not in own)]


def _names_in_file(part: Part) -> list[str]:
    """Returns the names of the columns of a file."""
    if not is_parquet(part.name):
        return read_names(part.file)
    return list(parquet_metadata(part).schema.to_arrow_schema().names)


def parquet_metadata(part: Part) -> Any:
    """Returns what a Parquet file says of its columns, and of their parts."""
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    return parquet.read_metadata(part.file)
