"""Text files without a header, as publishers distribute them."""

from __future__ import annotations

import contextlib
import gzip
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.whole_table import PathLike

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_PER_BATCH = 20_000

LONGEST_LINE = 2**20
"""The most bytes of a first line. A longer one is not of a table, and could fill the memory."""


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
