"""Queries of files of decisions that check what they find, as SQLite does not.

A cell of an SQLite database may be of any type, whatever the type of its column is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bandit_envs.base.checks import MAX_REWARD, short_repr

if TYPE_CHECKING:
    import sqlite3

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""What a query takes in place of `?`, or of names such as `:after`."""

MAX_NUMBER = 2**62
"""The largest number of a row, so that there is always a next one."""

LAST_TIME = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970. Times of a file are from 0 to it."""

MANY = 16
"""From so many rows on, whole columns are checked at once, which takes less time."""


class Cells(NamedTuple):
    """What a column may hold.

    Fields:
        type: of its cells.
        low: the smallest number; None if they are not numbers.
        high: the largest number.
        may_miss: whether a cell may be empty.
    """

    type: type
    low: float | None = None
    high: float = math.inf
    may_miss: bool = False

    def is_good(self, cell: Any) -> bool:
        """Whether a cell is one that the column may hold."""
        if cell is None:
            return self.may_miss
        is_typed = type(cell) is self.type
        return is_typed and (self.low is None or self.low <= cell <= self.high)

    def are_good(self, cells: Sequence[Any]) -> bool:
        """Whether the column may hold all of many cells; it takes less time than one by one."""
        types = {*map(type, cells)}
        if types == {self.type} and self.low is not None:
            return bool(self.low <= min(cells) and max(cells) <= self.high)
        if types == {type(None)}:
            return self.may_miss
        return types == {self.type} or all(map(self.is_good, cells))

    def or_none(self) -> Cells:
        """Returns the same for a column whose cells may be empty."""
        return self._replace(may_miss=True)


NUMBER = Cells(int, 1, MAX_NUMBER)
COUNT = Cells(int, 0, MAX_NUMBER)
ACTION = Cells(int, 0, 2**31 - 1)
FLAG = Cells(int, 0, 1)
TIME = Cells(float, 0.0, LAST_TIME)
PROBABILITY = Cells(float, 0.0, 1.0)
VALUE = Cells(float, -MAX_REWARD, MAX_REWARD)
TEXT = Cells(str)
BYTES = Cells(bytes)


@dataclasses.dataclass(frozen=True)
class TypedQuery:
    """A query whose rows are checked.

    Args:
        text: in SQL.
        columns: what each column of it may hold, by what messages call it.
    """

    text: str
    columns: Mapping[str, Cells]

    def fetch(
        self, connection: sqlite3.Connection, path: Path, parameters: Parameters = ()
    ) -> list[Any]:
        """Returns all rows; ValueError for a cell that its column may not hold."""
        rows: list[Any] = connection.execute(self.text, parameters).fetchall()
        if len(rows) < MANY or not self._are_good(rows):
            for row in rows:
                self._check(row, path)
        return rows

    def _are_good(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Returns whether the columns may hold all cells of some rows."""
        columns = zip(self.columns.values(), zip(*rows))
        return all(cells.are_good(column) for cells, column in columns)

    def scan(
        self, connection: sqlite3.Connection, path: Path, parameters: Parameters = ()
    ) -> Iterator[Any]:
        """Yields the rows one by one, and raises as `fetch` does."""
        for row in connection.execute(self.text, parameters):
            self._check(row, path)
            yield row

    def _check(self, row: Sequence[Any], path: Path) -> None:
        """Raises ValueError for a cell of a row that its column may not hold."""
        for (name, cells), cell in zip(self.columns.items(), row):
            if not cells.is_good(cell):
                raise damage(path, f"{name} is {short_repr(cell)}")


def damage(path: Path, problem: str) -> ValueError:
    """Returns the error that says that a file is damaged, and by what."""
    return ValueError(f"{path} is damaged: {problem}")
