"""Text files as tables, whose errors name the file, the line and the column."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Cells:
    """The cells of a text file, which may be the `member` of a zip, or compressed by gzip.

    Args:
        columns: how many a line has; by default, the first line names them.

    Raises:
        ValueError: the file is empty, or a line has another number of columns.
    """

    def __init__(
        self, path: Path, columns: int = 0, delimiter: str = ",", member: str = ""
    ) -> None:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                content = archive.read(member)
        else:
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
        lines = content.decode().rstrip().splitlines()
        if not lines:
            raise ValueError(f"{path.name} is empty")
        self._names = [] if columns else lines[0].split(delimiter)
        count = columns or len(self._names)
        for number, line in enumerate(lines, 1):
            found = line.count(delimiter) + 1 if line else 0
            if found != count:
                raise ValueError(
                    f"{path.name}, line {number} has {found} columns; expected {count}"
                )
        self._file, self._delimiter = path.name, delimiter
        self._lines = lines if columns else lines[1:]

    def find(self, *starts: str) -> list[int]:
        """Returns the columns whose names start with each of `starts`, in this order."""
        found: list[int] = []
        for start in starts:
            columns = [k for k, name in enumerate(self._names) if name.startswith(start)]
            if not columns:
                raise ValueError(f"{self._file} has no column {start}")
            found += columns
        return found

    def texts(self, columns: Sequence[int] | None = None) -> NDArray[np.str_]:
        """Returns some columns, or all, without the spaces around their texts: [n, ...]."""
        return np.char.strip(self._load(np.loadtxt, np.str_, columns))

    def numbers(self, columns: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Returns some columns, or all: [n, ...], finite."""
        try:
            table = self._load(np.loadtxt, np.float64, columns)
        except ValueError:  # genfromtxt is slow, and has NaN where there is no number
            table = self._load(np.genfromtxt, np.float64, columns)
        self.check(np.isfinite(table), "a number", columns)
        return table

    def check(
        self, good: NDArray[np.bool_], expected: str, columns: Sequence[int] | None = None
    ) -> None:
        """Raises ValueError for the first cell of some columns that is not `good` [n, ...]."""
        if not good.all():
            row, place = np.argwhere(~good)[0]
            column = place if columns is None else columns[place]
            text = self._lines[row].split(self._delimiter)[column].strip()
            line = row + (2 if self._names else 1)
            found = f"{self._file}, line {line}, column {column + 1} is {text!r}"
            raise ValueError(f"{found}; expected {expected}")

    def _load(self, read: Any, dtype: Any, columns: Sequence[int] | None) -> NDArray[Any]:
        options = {"dtype": dtype, "usecols": columns, "comments": None, "ndmin": 2}
        return np.asarray(read(self._lines, delimiter=self._delimiter, **options))
