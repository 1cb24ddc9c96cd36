"""The log in a file of decisions, as it is at one moment."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.logged.files.served.decision_tables import (
    find_last_number,
    open_to_read,
    read_actions,
    read_items,
)
from bandit_envs.logged.files.served.seen import Seen, SeenActions, SeenItems
from bandit_envs.logged.files.served.typed_queries import COUNT, TypedQuery, damage
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.decisions.candidate_rows import size_of_batches
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.times import TimesOfRows, name_row_of

if TYPE_CHECKING:
    import sqlite3

OF_REWARDS = """
    FROM events CROSS JOIN decisions ON decisions.number = events.decision
    WHERE events.number > :after AND events.number <= :until AND value IS NOT NULL
    ORDER BY events.number LIMIT :rows
"""
"""In the order in which they came: a log that grows begins with the rows that it had."""

OF_MEASURES = """
    FROM measures CROSS JOIN decisions ON decisions.number = measures.decision
    WHERE measures.number > :after AND measures.number <= :measured AND measures.name = :name
        AND decisions.number > :since AND decisions.number <= :until
    ORDER BY measures.number LIMIT :rows
"""
"""The further rewards of one name, of decisions after `since`, in the order in which they came."""

ROW = (
    "{0}.number, decisions.number, decisions.action, decisions.probability, decisions.available, "
    "decisions.features, {0}.value, decisions.time"
)
ROWS = TypedQuery.of(ROW.format("events"), OF_REWARDS)
MEASURED_ROWS = TypedQuery.of(ROW.format("measures"), OF_MEASURES)
TIMES = TypedQuery.of("events.number, events.time", OF_REWARDS)
MEASURED_TIMES = TypedQuery.of("measures.number, decisions.time", OF_MEASURES)
LAST_MEASURE = TypedQuery(
    "SELECT coalesce(max(number), 0) FROM measures", {"the number of a measure": COUNT}
)
MEASURE_NAMES = TypedQuery.of(
    "measures.name",
    """FROM measures JOIN decisions ON decisions.number = measures.decision
    WHERE measures.number <= ? AND decisions.number <= ?
    GROUP BY measures.name ORDER BY measures.name""",
)
WIDEST = TypedQuery(
    "SELECT coalesce(max(length(available)), 0) FROM decisions WHERE available IS NOT NULL",
    {"the size of a mask": COUNT},
)
FIRST_DECISION = TypedQuery.of(
    "decisions.id, decisions.time", "FROM decisions ORDER BY number LIMIT 1"
)
ENCODING = TypedQuery.of("meta.value", "FROM meta WHERE name = 'encoding'")


@dataclasses.dataclass(frozen=True)
class DecisionFile:
    """A file of decisions, as it was when its last row had a number.

    Services may go on writing: later decisions and rewards are not part of it.

    Args:
        path: of the file.
        until: the number of the last row.
        measured: the number of the last further reward; 0 without any.
        encoding: of the features, with the names of the actions or of the items.
        is_open: whether each action may be chosen.
        num_actions: K; the most items of a decision.
        seen: reads what decisions have seen.
    """

    path: Path
    until: int
    measured: int
    encoding: TableEncoding
    is_open: tuple[bool, ...]
    num_actions: int
    seen: Seen

    @classmethod
    def open(cls, path: Path) -> DecisionFile:
        """Returns what a file holds now.

        Raises:
            OSError, ValueError: it cannot be read, or is something else.
        """
        with open_to_read(path) as connection:
            until = find_last_number(connection, path)
            ((measured,),) = LAST_MEASURE.fetch(connection, path)
            actions = [each for each in read_actions(connection, path) if each.added <= until]
            ((widest,),) = WIDEST.fetch(connection, path)  # later rows may be wider
            encoding = read_encoding(connection, path)
            items = read_items(connection, path)
        num_first = sum(not each.added for each in actions)
        if bool(actions) == bool(encoding.item_features):
            raise damage(path, f"it has {len(actions)} actions, and columns of items or no actions")
        return cls(
            path=path,
            until=until,
            measured=measured,
            encoding=dataclasses.replace(
                encoding, actions=tuple(each.name for each in actions), items=items
            ),
            is_open=tuple(each.is_open for each in actions),
            num_actions=len(actions) or max(1, widest // 4),
            seen=(
                SeenActions(path, num_first, is_masked=widest > 0 or num_first < len(actions))
                if actions
                else SeenItems(path, encoding)
            ),
        )

    def scan(
        self, batch_rows: int, has_dates: bool = False, reward: str = "reward"
    ) -> Iterator[BanditLog]:
        """Yields the decisions that have rewards in batches, in the order of the rewards.

        Args:
            batch_rows: the most rows of a batch. Batches of items are smaller if there are many
                numbers in a row.
            has_dates: whether batches have the times of the decisions, in UTC.
            reward: the name of a further reward, or "reward".
        """
        most = size_of_batches(self.encoding, self.num_actions, batch_rows)
        query = ROWS if reward == "reward" else MEASURED_ROWS
        for rows in self.scan_rows(query, most, name=reward):
            with errors_that_name(str(self.path)):
                batch = self._make_batch(rows, has_dates)
            yield batch

    def scan_times(self, batch_rows: int, name: str, reward: str) -> Iterator[TimesOfRows]:
        """Yields the times of the rewards, in UTC; of further rewards, those of their decisions."""
        first_row = 0
        query = TIMES if reward == "reward" else MEASURED_TIMES
        for rows in self.scan_rows(query, batch_rows, name=reward):
            seconds = np.array([time for _, time in rows])
            times = (seconds * 1e6).astype("M8[us]")
            yield TimesOfRows(times, functools.partial(name_row_of, name, first_row))
            first_row += len(rows)

    def count_decisions(self, reward: str) -> tuple[int, int]:
        """Returns how many decisions there are, and how many of them do not have a reward."""
        parameters = {**self._snapshot, "name": reward, "after": 0, "rows": -1}
        source = OF_REWARDS if reward == "reward" else OF_MEASURES
        with open_to_read(self.path) as connection:
            query = "SELECT count(*) FROM decisions WHERE number <= :until"
            ((decisions,),) = connection.execute(query, parameters)
            ((rewards,),) = connection.execute(f"SELECT count(*) {source}", parameters)
        return decisions, decisions - rewards

    def read_measure_names(self) -> list[str]:
        """Returns the names of the further rewards."""
        with open_to_read(self.path) as connection:
            rows = MEASURE_NAMES.fetch(connection, self.path, (self.measured, self.until))
        return [name for (name,) in rows]

    def find_first_decision(self) -> tuple[str, float] | None:
        """Returns the id and the time of the first decision; None if the file is empty."""
        with open_to_read(self.path) as connection:
            rows = FIRST_DECISION.fetch(connection, self.path)
        return tuple(rows[0]) if rows else None

    def scan_rows(
        self, query: TypedQuery, batch_rows: int, after: int = 0, **others: Any
    ) -> Iterator[list[Any]]:
        """Yields the rows of a query in batches. No transaction stays open between them.

        Args:
            query: its first column is the number of the row. Its parameters are `after`, the number
                before the first row, `until`, that of the last row, or `measured`, that of the last
                further reward, and `rows`, how many rows are read.
            batch_rows: the most rows of a batch.
            after: rows with larger numbers are read.
            **others: other parameters of the query.
        """
        parameters = {**self._snapshot, "after": after, "rows": batch_rows, **others}
        while True:
            with open_to_read(self.path) as connection:
                rows = query.fetch(connection, self.path, parameters)
            if not rows:
                return
            yield rows
            parameters["after"] = rows[-1][0]

    @property
    def _snapshot(self) -> dict[str, Any]:
        """The parameters that limit queries to what the file held when it was opened."""
        return {"until": self.until, "measured": self.measured, "since": 0}

    def _make_batch(self, rows: list[Any], has_dates: bool) -> BanditLog:
        _, numbers, actions, probabilities, available, features, rewards, times = zip(*rows)
        seen = self.seen.unpack(available, features, self.num_actions)
        return BanditLog(
            observation=seen.observation,
            action=np.array(actions),
            reward=np.array(rewards, np.float64),
            propensity=np.array(probabilities, np.float64),
            num_actions=self.num_actions,
            available=seen.available,
            item=seen.item,
            step=np.array(numbers),
            time=np.array(times) if has_dates else None,
            encoding=self.encoding,
        )


def read_encoding(connection: sqlite3.Connection, path: Path) -> TableEncoding:
    """Returns the encoding of the features in a file of decisions."""
    rows = ENCODING.fetch(connection, path)
    if not rows:
        raise damage(path, "it has no encoding")
    try:
        return TableEncoding.from_plain(parse_json(rows[0][0]))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse_json(text: str) -> Any:
    """Returns what a text of JSON says; None if it is something else."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return None


def parse_range(text: str, path: Path) -> tuple[float, float]:
    """Returns the range of rewards that a file has; ValueError if it has none."""
    try:
        low, high = map(float, parse_json(text))
        if low < high:
            return low, high
    except (OverflowError, TypeError, ValueError):
        pass
    raise damage(path, f"its reward_range is {short_repr(text)}; expected two numbers")
