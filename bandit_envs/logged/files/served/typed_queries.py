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


COLUMNS = {
    "decisions.number": ("the number of a decision", NUMBER),
    "decisions.id": ("the id of a decision", TEXT),
    "decisions.time": ("the time of a decision", TIME),
    "decisions.learned": ("the last number that the policy had seen", COUNT),
    "decisions.action": ("the action of a decision", ACTION),
    "decisions.probability": ("the probability of a decision", PROBABILITY),
    "decisions.available": ("the mask of a decision", BYTES.or_none()),
    "decisions.features": ("the context of a decision", BYTES),
    "events.number": ("the number of an event", NUMBER),
    "events.time": ("the time of an event", TIME),
    "events.kind": ("the kind of an event", TEXT),
    "events.decision": ("the decision of an event", NUMBER.or_none()),
    "events.action": ("the action of an event", ACTION.or_none()),
    "events.value": ("a reward", VALUE.or_none()),
    "events.warm": ("the warm start of an action", TEXT.or_none()),
    "measures.number": ("the number of a further reward", NUMBER),
    "measures.name": ("the name of a further reward", TEXT),
    "measures.value": ("a further reward", VALUE),
    "actions.action": ("the number of an action", ACTION),
    "actions.name": ("the name of an action", TEXT),
    "actions.added": ("when an action was added", COUNT),
    "actions.is_open": ("whether an action is open", FLAG),
    "items.item": ("the number of an item", ACTION),
    "items.name": ("the name of an item", TEXT),
    "policies.number": ("the number of an upgrade", COUNT),
    "policies.policy": ("a policy", TEXT),
    "policies.learns_after": ("where a policy learns from", COUNT),
    "policies.test": ("a test", TEXT.or_none()),
    "meta.name": ("a name in meta", TEXT),
    "meta.value": ("a value in meta", TEXT),
    "checkpoint.number": ("the number of the state", COUNT),
    "checkpoint.state": ("the state", BYTES),
}
"""What messages call each column of the tables, and what it may hold."""


@dataclasses.dataclass(frozen=True)
class TypedQuery:
    """A query whose rows are checked.

    Args:
        text: in SQL.
        columns: what each column of it may hold, by what messages call it.
    """

    text: str
    columns: Mapping[str, Cells]

    @classmethod
    def of(cls, columns: str, source: str, joined: str = "") -> TypedQuery:
        """Returns a query of some of `COLUMNS`.

        Args:
            columns: their names, separated by ", ".
            source: what follows them in SQL, from FROM on.
            joined: the table of a LEFT JOIN, any of whose cells may be NULL.
        """
        found = {}
        for name in columns.split(", "):
            title, cells = COLUMNS[name]
            found[title] = cells.or_none() if name.startswith(f"{joined}.") else cells
        return cls(f"SELECT {columns} {source}", found)

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
