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
    """The cells of a text file, which may be compressed by gzip, or the `member` of a zip.

    Cells may stand in quotes, which are left out, but have no delimiter in them.

    Args:
        count: of the columns; by default, the first line has their names.

    Raises:
        ValueError: the file is damaged, has no rows, or a line has another number of columns.
    """

    def __init__(
        self, path: Path, count: int | None = None, delimiter: str = ",", member: str = ""
    ) -> None:
        content = path.read_bytes()
        try:
            if content.startswith(b"PK"):
                content = zipfile.ZipFile(path).read(member)
            elif content.startswith(b"\x1f\x8b"):
                content = gzip.decompress(content)
            lines = content.decode("utf-8-sig").replace('"', "").rstrip().splitlines()
        except Exception as error:  # damaged archives make their modules raise almost anything
            raise ValueError(f"{path.name} cannot be read: {error}") from error
        self._file, self._delimiter, self._first = path.name, delimiter, 1 if count else 2
        if len(lines) < self._first:
            raise ValueError(f"{path.name} has no rows")
        self._names = lines[0].split(delimiter)
        expected = count or len(self._names)
        for number, line in enumerate(lines, 1):
            found = line.count(delimiter) + bool(line)
            if found != expected:
                where = f"{path.name}, line {number}"
                raise ValueError(f"{where} has {found} columns; expected {expected}")
        self._lines = lines[self._first - 1 :]

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
        table = np.char.strip(self._load(np.loadtxt, np.str_, columns))
        self.check(table != "", "a value", columns)
        return table

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
            row, index = np.argwhere(~good)[0]
            column = index if columns is None else columns[index]
            text = self._lines[row].split(self._delimiter)[column].strip()
            place = f"{self._file}, line {row + self._first}, column {column + 1}"
            raise ValueError(f"{place} is {text!r}; expected {expected}")

    def _load(self, read: Any, dtype: Any, columns: Sequence[int] | None) -> NDArray[Any]:
        options = {"dtype": dtype, "usecols": columns, "comments": None, "ndmin": 2}
        return np.asarray(read(self._lines, delimiter=self._delimiter, **options))
