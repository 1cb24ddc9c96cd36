"""Tables in memory: a data frame, or files that are read into one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.folders import find_parts
from bandit_envs.tables.suffixes import TABLE_SUFFIXES

if TYPE_CHECKING:
    from pandas import DataFrame

PathLike: TypeAlias = str | os.PathLike[str]

AnyTable: TypeAlias = Union[PathLike, "DataFrame"]
"""A data frame, or the path of a CSV or Parquet file, or of a folder of such files."""


@contextlib.contextmanager
def table_in_memory(
    source: AnyTable, extra: str, only: str | None = None, **options: Any
) -> Iterator[DataFrame]:
    """Yields a data frame, or what is read of a path; errors of what is done with it name the path.

    Args:
        source: the data frame or the path.
        extra: as for `read_table`.
        only: as for `read_table`; of a path alone.
        options: as for `read_table`.
    """
    if isinstance(source, (str, os.PathLike)):
        frame = read_table(source, extra, only, **options)
        with errors_that_name(Path(source).name):
            yield frame
    elif only is not None:
        raise ValueError(f"only is {only!r}, and the table is not a folder; expected None")
    else:
        yield source


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
        with part.reading():
            frames.append(part.whole(**options))
            _check_same_columns(frames[-1], frames[0])
    if not folder.is_dir():
        return frames[0]
    named = {part.name: frame[frames[0].columns] for part, frame in zip(parts, frames)}
    filled = {name: frame for name, frame in named.items() if len(frame)}  # others have no dtypes
    table: DataFrame = pandas.concat(filled or named, names=["file", "line"])
    return table


def _check_same_columns(frame: DataFrame, first: DataFrame) -> None:
    """Raises ValueError if two parts of a table differ in the names of their columns."""
    for name in sorted({*frame.columns} ^ {*first.columns}):
        which = "has" if name in frame.columns else "lacks"
        raise ValueError(f"it {which} the column {name!r}, unlike the first file of the folder")
