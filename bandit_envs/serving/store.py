"""The file of a service: what is read from its tables, and written to them."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import decode_state, encode_state
from bandit_envs.logged.files.served.decision_file import read_encoding
from bandit_envs.logged.files.served.decision_tables import (
    ActionRow,
    PolicyRow,
    check_tables,
    create_tables,
    errors_of,
    read_actions,
    read_policies,
)
from bandit_envs.logged.files.served.typed_queries import LAST_TIME, TypedQuery, damage
from bandit_envs.serving.stored_rows import (
    DECISIONS,
    EVENTS,
    ITEM,
    ITEM_NAME,
    LAST_ROWS,
    META,
    NEXT_ITEM,
    ONE_DECISION,
    SAVED,
    STATE,
    WAITS,
    DecisionRow,
    Event,
    SeenEvent,
)
from bandit_envs.tables.encoding import TableEncoding

WAIT = 10.0
"""For how many seconds a process waits while others write."""

MOST_ITEMS = 2**17
"""So many numbers of items are kept in memory."""


class Store:
    """A connection to a file of decisions. A `with` block of it is a transaction.

    Args:
        path: of the file.
        synchronous: how SQLite waits for the disk.
        database: what SQLite opens in place of the file, such as ":memory:"; None for the file.

    Raises:
        OSError, ValueError: the file cannot be used, or is something else.
    """

    def __init__(self, path: Path, synchronous: str, database: str | None = None) -> None:
        self.path = path
        self.number = 0
        """Of the last row, as `find_last` has found it in this transaction."""
        self.event_number = 0
        """Of the last event."""
        self._last_number = 0
        self.time = 0.0
        """Of this transaction, in seconds since 1970."""
        self._ahead = 0.0
        """By how many seconds the times of the file are ahead of the clock."""
        self._items: dict[str, int] = {}
        """The numbers of items, as the file has them."""
        self._files = (str(path), f"{path}-wal")
        self._places: list[tuple[int, int] | None] = []
        """Of the files on the disk, as the first transaction has found them."""
        with errors_of(path):
            self._connection = sqlite3.connect(
                database or path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
        try:
            with errors_of(path):
                self._connection.execute(f"PRAGMA synchronous = {synchronous}")
                if not self.is_empty():
                    check_tables(self._connection, path)
                self._write_ahead()
        except BaseException:
            self._connection.close()
            raise

    def _write_ahead(self) -> None:
        """Lets others read while one writes. SQLite does not wait here for one that begins."""
        until = time.monotonic() + WAIT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def is_empty(self) -> bool:
        """Returns whether there are no tables yet."""
        return not self._value("SELECT count(*) FROM sqlite_master")

    def __enter__(self) -> None:
        """Begins a transaction: no other process writes until its end, which commits."""
        with errors_of(self.path):
            self._roll_back()  # what an interrupt has left open
            self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Commits; after an error, it leaves the file as it was before.

        Raises:
            OSError: the file cannot be written, or is not at its path any more.
        """
        with errors_of(self.path):
            try:
                if error is not None:
                    raise error
                self._check_places()
                self._connection.execute("COMMIT")
            except BaseException:
                self._items.clear()  # some may be new
                self._roll_back()
                raise

    def _check_places(self) -> None:
        """Raises OSError if a file was removed or replaced: what is written would be lost."""
        found = [_place_of(file) for file in self._files]
        if found == self._places:
            return
        self._places = self._places or found
        for file, place, known in zip(self._files, found, self._places):
            if place != known:
                what = "removed" if place is None else "replaced"
                raise OSError(f"{file} was {what} while a service had it open: open it anew")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def create(
        self,
        actions: Sequence[str],
        encoding: TableEncoding,
        meta: Mapping[str, str],
        policy: PolicyRow,
        state: Any,
    ) -> None:
        """Creates the tables.

        Args:
            actions: their names; () if each call offers items.
            encoding: of the features, also of items.
            meta: what else the file says of itself.
            policy: what describes the first policy.
            state: of the policy at first.
        """
        create_tables(self._connection)
        for action, name in enumerate(actions):
            self.add_action(action, name, 0)
        self.add_policy(policy)
        plain = dataclasses.replace(encoding, actions=(), items=()).plain()
        for name, value in {**meta, "encoding": json.dumps(plain)}.items():
            self._connection.execute("INSERT INTO meta VALUES (?, ?)", (name, value))
        self.save_state(0, state)

    def read_meta(self, name: str) -> str:
        """Returns what the file says of itself under a name."""
        (text,) = self._read_row(META, name)
        return str(text)

    def change_meta(self, name: str, value: str) -> None:
        """Changes what the file says of itself under a name."""
        self._connection.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))

    def read_policies(self) -> list[PolicyRow]:
        """Returns the policies that have been at work, the last of which is still."""
        return read_policies(self._connection, self.path)

    def add_policy(self, row: PolicyRow) -> None:
        """Writes which policy is at work from now on."""
        self._connection.execute("INSERT INTO policies VALUES (?, ?, ?, ?)", row)

    def read_encoding(self) -> TableEncoding:
        """Returns the encoding of the features."""
        return read_encoding(self._connection, self.path)

    def read_actions(self) -> list[ActionRow]:
        """Returns the actions, in the order of their numbers."""
        return read_actions(self._connection, self.path)

    def read_width(self) -> int | None:
        """Returns how many features contexts have; None if there are no decisions."""
        size = self._value("SELECT length(features) FROM decisions LIMIT 1")
        return None if size is None else size // 8

    def find_last(self) -> None:
        """Sets `number` and `time` for a transaction.

        Times never decrease. If the clock goes back, they go on from the last one as fast as the
        clock, so that no wait becomes longer.

        Raises:
            ValueError: the file is damaged, or the clock tells no time.
        """
        clock = time.time()
        if not 0.0 <= clock + self._ahead <= LAST_TIME:
            raise ValueError(f"the clock is at {clock}; expected 0 to {LAST_TIME:.0f} seconds")
        self.number = 0
        self.event_number = 0
        self.time = clock + self._ahead
        for is_event, last_number, last_time in LAST_ROWS.fetch(self._connection, self.path):
            self.number = max(self.number, last_number)
            if is_event:
                self.event_number = last_number
            if last_time > self.time:
                self.time = last_time
                self._ahead = last_time - clock
        self._last_number = self.number

    @property
    def has_new_rows(self) -> bool:
        """Whether decisions or events were written since `find_last`."""
        return self.number != self._last_number

    def find_decision(self, name: str) -> DecisionRow | None:
        """Returns the decision of an id."""
        found = ONE_DECISION.fetch(self._connection, self.path, (name,))
        return DecisionRow(*found[0]) if found else None

    def scan_decisions(self, after: int) -> Iterator[DecisionRow]:
        """Yields the decisions whose numbers are larger than one, in order."""
        for row in DECISIONS.scan(self._connection, self.path, (after,)):
            yield DecisionRow(*row)

    def scan_waits(self, after: int) -> Iterator[tuple[int, float, int]]:
        """Yields the number and the time of each later decision, and whether its wait has ended."""
        return WAITS.scan(self._connection, self.path, (after,))

    def has_ended(self, decision: int) -> bool:
        """Returns whether a decision has its reward, or waits no more."""
        query = "SELECT number FROM events WHERE decision = ?"
        return self._value(query, decision) is not None

    def scan_events(self, after: int, until: int) -> Iterator[SeenEvent]:
        """Yields the events with numbers above one, and up to another, in order."""
        for row in EVENTS.scan(self._connection, self.path, (after, until)):
            number, seconds, kind, decision, action, value, warm, *of_decision = row
            if kind in ("reward", "timeout") and of_decision[0] is None:
                raise damage(self.path, f"event {number}, a {kind}, is of no decision")
            if kind not in ("reward", "timeout") and value is not None:
                raise damage(self.path, f"event {number} is a {short_repr(kind)} with a value")
            event = Event(kind, decision, action, value, warm)
            yield SeenEvent(number, seconds, event, *of_decision)

    def add_decision(self, row: DecisionRow) -> None:
        """Writes a decision behind the last row."""
        query = "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, row)
        self.number = row.number

    def add_event(self, event: Event) -> None:
        """Writes an event behind the last row."""
        query = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, (self.number + 1, self.time, *event))
        self.number += 1
        self.event_number = self.number

    def add_measure(self, decision: int, name: str, value: float) -> bool:
        """Writes a further reward, and returns whether it is the first of its decision and name."""
        query = "INSERT OR IGNORE INTO measures VALUES (NULL, ?, ?, ?)"
        return self._connection.execute(query, (decision, name, value)).rowcount == 1

    def add_action(self, action: int, name: str, number: int) -> None:
        """Writes a new action, which the event of a number adds."""
        query = "INSERT INTO actions VALUES (?, ?, ?, 1)"
        self._connection.execute(query, (action, name, number))

    def open_action(self, action: int, is_open: bool) -> None:
        """Says whether an action may be chosen."""
        query = "UPDATE actions SET is_open = ? WHERE action = ?"
        self._connection.execute(query, (is_open, action))

    def number_items(self, names: Sequence[str]) -> list[int]:
        """Returns the numbers of items, and gives new ones a number, in a transaction."""
        if len(self._items) > MOST_ITEMS:
            self._items.clear()
        try:
            return [*map(self._items.__getitem__, names)]  # the common kind
        except KeyError:
            known = self._items
            return [known[name] if name in known else self._number(name) for name in names]

    def _number(self, name: str) -> int:
        """Returns the number of an item from the file, which may be new."""
        found = ITEM.fetch(self._connection, self.path, (name,))
        if found:
            number = int(found[0][0])
        else:
            (number,) = self._read_row(NEXT_ITEM)
            self._connection.execute("INSERT INTO items VALUES (?, ?)", (number, name))
        self._items[name] = number
        return number

    def name_item(self, number: int) -> str:
        """Returns the name of an item."""
        (name,) = self._read_row(ITEM_NAME, number)
        return str(name)

    def save_state(self, number: int, state: Any) -> None:
        """Keeps the state of the policy, which has seen all rows up to a number."""
        query = "INSERT OR REPLACE INTO checkpoint VALUES (0, ?, ?)"
        self._connection.execute(query, (number, encode_state(state)))

    def find_saved_number(self) -> int:
        """Returns up to which number the policy that was kept has seen all rows."""
        (number,) = self._read_row(SAVED)
        return int(number)

    def load_state(self) -> tuple[int, Any]:
        """Returns this number with the state."""
        number, content = self._read_row(STATE)
        return number, decode_state(content, str(self.path))

    def _read_row(self, query: TypedQuery, *parameters: Any) -> Sequence[Any]:
        """Returns the first row of a query; ValueError if it finds no row."""
        found = query.fetch(self._connection, self.path, parameters)
        if not found:
            raise damage(self.path, f"the query {query.text!r} finds no row")
        row: Sequence[Any] = found[0]
        return row

    def _value(self, query: str, *parameters: Any) -> Any:
        """Returns the only value of the first row of a query; None if there is no row."""
        found = self._connection.execute(query, parameters).fetchone()
        return None if found is None else found[0]


def _place_of(file: str) -> tuple[int, int] | None:
    """Returns what tells a file on a disk from others; None if there is no such file."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
