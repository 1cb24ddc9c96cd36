"""Errors of tables: they name the file, the line and the column."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Mask
from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.extras import import_extra
from bandit_envs.names.visible import visible, visible_lines
from bandit_envs.tables.suffixes import is_parquet

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = 5  # names that a message has at most

LIBRARY_ERRORS = {
    "csv": "Error",
    "lzma": "LZMAError",
    "pyarrow": "ArrowException",
    "zlib": "error",
    "zstandard": "ZstdError",
}
"""What libraries call their errors that are no `ValueError` and the like."""


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
        text = visible_lines(str(error).strip())
        raise ValueError(f"{visible(name)} cannot be read: {text}") from error


def is_of_reading(error: Exception) -> bool:
    """Whether an error is one that a library raises where it cannot read the content of a file.

    Others pass as they are: those of files that are missing, and what an application raises
    meanwhile, as a handler of a signal may.
    """
    if isinstance(error, (FileNotFoundError, PermissionError, TimeoutError)):
        return False
    imported = [name for name in LIBRARY_ERRORS if sys.modules.get(name) is not None]
    kinds = [getattr(sys.modules[name], LIBRARY_ERRORS[name]) for name in imported]
    is_encrypted = type(error) is RuntimeError  # an archive, as zipfile says
    return is_encrypted or isinstance(error, (*CONTENT_ERRORS, OSError, *kinds))


def name_row(frame: DataFrame, row: int, file: str = "") -> str:
    """Returns how messages call a row of a data frame, such as "line 3" of a file.

    Args:
        frame: whose index may say of which file of a folder a row is.
        row: its number.
        file: the name of the file of all rows; "" if it needs no name.
    """
    place = frame.index[row]
    kind = frame.index.name or "row"
    if frame.index.nlevels == 2:  # of a folder
        file, place = place
        kind = "row" if is_parquet(file) else "line"
    return f"{kind} {place} of {visible(file)}" if file else f"{kind} {place}"


def name_some(names: Sequence[str]) -> str:
    """Returns the first names for a message, and how many more there are."""
    text = ", ".join(map(repr, names[:SHOWN]))
    return f"{text} and {len(names) - SHOWN} more" if len(names) > SHOWN else text


def check_column(frame: DataFrame, name: str, is_good: Mask, expected: str) -> None:
    """Raises ValueError for the first value of a column that is not good, with its row or line."""
    if not is_good.all():
        raise bad_value(frame, name, int(is_good.argmin()), expected)


def bad_value(
    frame: DataFrame, name: str, position: int, expected: str, whole: str = ""
) -> ValueError:
    """Returns the error of a value of a column, with its row or its line in a file.

    Args:
        frame: the table.
        name: of the column.
        position: of the row.
        expected: what the value should be.
        whole: of which several rows the row is one, if it is one of several.
    """
    found = f"column {name!r} is {frame[name].tolist()[position]!r}"
    place = f"{name_row(frame, position)}, of {whole}" if whole else name_row(frame, position)
    return ValueError(f"{found} in {place}; expected {expected}")


def check_cells(frame: DataFrame, is_good: NDArray[np.bool_], expected: str) -> None:
    """Raises ValueError for the first cell of a data frame that is not good, [rows, columns].

    The message names the row by the frame's index, and says what is expected.
    """
    bad = np.argwhere(~is_good)
    if len(bad):
        row, column = bad[0]
        place = f"{name_row(frame, row)}, column {visible(str(frame.columns[column]))}"
        found = str(frame.iat[row, column])
        raise ValueError(f"{place} is {found!r}; expected {expected}")


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
        found = f"{name_row(frame, row)}, column {visible(name)} is {str(cells.iloc[row])!r} among"
        warnings.warn(
            f"{found} numbers; so all of the column counts as text", stacklevel=stacklevel + 1
        )
