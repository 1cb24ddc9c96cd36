"""The tables of a file of decisions: a service writes them, and readers of logs read them.

A file is an SQLite database. Decisions and events share one sequence of numbers from 1, in the
order in which they were written: so the state of a policy at any decision follows from the rows of
smaller numbers. No row of these two tables or of the measures is changed or removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandit_envs.arrays import Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import check_format
from bandit_envs.logged.files.served.typed_queries import COUNT, TypedQuery, damage
from bandit_envs.tables.suffixes import DECISION_SUFFIXES, ends_with

if TYPE_CHECKING:
    import sqlite3

APPLICATION = 0x62656476
"""What SQLite keeps as the application of a file."""

FORMAT = 1
"""Raised whenever the layout of the tables changes."""

TABLES = (
    # learned: the last number that the policy had seen.
    # Of fixed actions, `action` is a number in their table. `available` has a bit for each, the
    # first in the lowest bit; NULL for all first actions. `features` are of the context, float64.
    # Of items, `action` is a place among those offered. `available` has their numbers, int32.
    # `features` has the cells of the context, and then of each item: see `seen.py`.
    """CREATE TABLE decisions (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        time REAL NOT NULL,
        learned INTEGER NOT NULL,
        action INTEGER NOT NULL,
        probability REAL NOT NULL,
        available BLOB,
        features BLOB NOT NULL
    )""",
    "CREATE INDEX masked ON decisions (length(available)) WHERE available IS NOT NULL",
    # kind: reward, timeout (value is NULL if it counts as nothing), learn, add, retire, reopen,
    # upgrade.
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        kind TEXT NOT NULL,
        decision INTEGER UNIQUE,
        action INTEGER,
        value REAL,
        warm TEXT
    )""",
    # Further rewards by name, such as costs: no policy learns from them. `number` counts them.
    """CREATE TABLE measures (
        number INTEGER PRIMARY KEY,
        decision INTEGER NOT NULL,
        name TEXT NOT NULL,
        value REAL NOT NULL,
        UNIQUE (decision, name)
    )""",
    # added: the number of the event; 0 for those of the beginning.
    """CREATE TABLE actions (
        action INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        added INTEGER NOT NULL,
        is_open INTEGER NOT NULL
    )""",
    "CREATE TABLE items (item INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # number: of the event that has put the policy to work; 0 for the first policy.
    # learns_after: it learns from the rewards behind this number.
    # test: if it tests variants, its arguments as JSON, for reports; NULL for others.
    """CREATE TABLE policies (
        number INTEGER PRIMARY KEY,
        policy TEXT NOT NULL,
        learns_after INTEGER NOT NULL,
        test TEXT
    )""",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # number: the last that the state has learned from.
    "CREATE TABLE checkpoint (place INTEGER PRIMARY KEY, number INTEGER NOT NULL, state BLOB)",
)


class ActionRow(NamedTuple):
    """An action.

    Fields:
        name: of the action.
        added: the number of the event that added it; 0 for those of the beginning.
        is_open: whether it may be chosen.
    """

    name: str
    added: int
    is_open: bool


class PolicyRow(NamedTuple):
    """A policy that has been at work.

    Fields:
        number: of the event that has put it to work; 0 for the first policy.
        policy: its description.
        learns_after: it learns from the rewards behind this number.
        test: if it tests variants, its arguments as JSON; None for another policy.
    """

    number: int
    policy: str
    learns_after: int
    test: str | None


LAST_NUMBER = TypedQuery(
    """SELECT max(
        (SELECT coalesce(max(number), 0) FROM decisions),
        (SELECT coalesce(max(number), 0) FROM events)
    )""",
    {"the last number": COUNT},
)
ACTIONS = TypedQuery.of(
    "actions.action, actions.name, actions.added, actions.is_open", "FROM actions ORDER BY action"
)
POLICIES = TypedQuery.of(
    "policies.number, policies.policy, policies.learns_after, policies.test",
    "FROM policies ORDER BY number",
)
ITEMS = TypedQuery.of("items.item, items.name", "FROM items ORDER BY item")


def is_decisions(path: str | os.PathLike[str]) -> bool:
    """Whether the name of a file is that of a file of decisions."""
    return bool(ends_with(os.fspath(path), DECISION_SUFFIXES))


class errors_of:  # noqa: N801  # it is called like a function
    """Names the file in errors of SQLite: OSError if it cannot be used, ValueError if it is wrong.

    Such as that the disk is full, or that the file is locked, read-only or no database.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        import sqlite3  # noqa: PLC0415

        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{self._path}: {_line_of(error)}") from error
        if isinstance(error, (sqlite3.DatabaseError, UnicodeDecodeError)):
            problem = f"{self._path} is not a file of decisions"
            raise ValueError(f"{problem}: {_line_of(error)}") from error


def _line_of(error: Exception) -> str:
    return " ".join(str(error).split())


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raises ValueError if a database has other tables, or those of another version.

    A view may have rows without end, and a trigger may change what a service writes.
    """
    application = _pragma(connection, "application_id")
    if application != APPLICATION:
        raise ValueError(f"{path} is not a file of decisions, which a DecisionService writes")
    check_format(str(path), "decisions", _pragma(connection, "user_version"), FORMAT)
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    texts = {" ".join(str(text).split()): name for name, text in found}  # in any spaces
    known = {" ".join(table.split()) for table in TABLES}
    if texts.keys() != known:
        other = [f"it has {short_repr(texts[text])}" for text in texts.keys() - known]
        problem = min(other, default="it lacks a table or an index")
        raise damage(path, f"{problem}; expected the tables of a DecisionService alone")


def create_tables(connection: sqlite3.Connection) -> None:
    """Creates the tables in an empty database, in the transaction that is open."""
    for table in TABLES:
        connection.execute(table)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    ((value,),) = connection.execute(f"PRAGMA {name}")
    return int(value)


@contextlib.contextmanager
def open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection that reads a file of decisions, while services may write to it.

    Raises:
        FileNotFoundError: there is no file.
        OSError: it cannot be read.
        ValueError: it is another file.
    """
    import sqlite3  # noqa: PLC0415

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    has_log = path.with_name(f"{path.name}-wal").exists()
    if not has_log and not os.access(path.parent, os.W_OK):
        uri += "&immutable=1"  # SQLite cannot create its own files beside it, and nothing writes
    with errors_of(path), contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        check_tables(connection, path)
        yield connection


def find_last_number(connection: sqlite3.Connection, path: Path) -> int:
    """Returns the number of the last decision or event; 0 for an empty file."""
    ((number,),) = LAST_NUMBER.fetch(connection, path)
    return int(number)


def read_actions(connection: sqlite3.Connection, path: Path) -> list[ActionRow]:
    """Returns the actions, in the order of their numbers; none if each call offers items."""
    rows = ACTIONS.fetch(connection, path)
    actions = [ActionRow(name, added, bool(is_open)) for _, name, added, is_open in rows]
    if [action for action, *_ in rows] != list(range(len(rows))):
        raise damage(path, "its actions are not numbered from 0")
    added = [each.added for each in actions]
    if added and (added[0] != 0 or added != sorted(added)):
        raise damage(path, "its actions are not in the order in which they were added")
    return actions


def read_policies(connection: sqlite3.Connection, path: Path) -> list[PolicyRow]:
    """Returns the policies that have been at work, the last of which is still."""
    policies = [PolicyRow(*row) for row in POLICIES.fetch(connection, path)]
    if not policies or policies[0].number != 0:
        raise damage(path, "it does not say what its first policy was")
    return policies


def read_items(connection: sqlite3.Connection, path: Path) -> tuple[str, ...]:
    """Returns the names of all items that were offered, in the order of their numbers."""
    rows = ITEMS.fetch(connection, path)
    if [item for item, _ in rows] != list(range(len(rows))):
        raise damage(path, "its items are not numbered from 0")
    return tuple(name for _, name in rows)


def pack_mask(mask: Mask) -> bytes:
    """Returns which actions [K] are available as bits."""
    return np.packbits(mask, bitorder="little").tobytes()


def unpack_masks(
    path: Path, packed: Sequence[bytes | None], num_first: int, num_actions: int
) -> Mask:
    """Returns which of K actions were available: [n, K]. Those that came later were not.

    Args:
        path: of the file, for messages.
        packed: of n decisions, as the table has them.
        num_first: how many actions there were at first.
        num_actions: K.
    """
    width = -(-num_actions // 8)
    everything = pack_mask(np.ones(num_first, np.bool_))
    if any(bits is not None and len(bits) > width for bits in packed):
        raise damage(path, f"a decision has a mask of more than {num_actions} actions")
    joined = b"".join((bits or everything).ljust(width, b"\0") for bits in packed)
    table = np.frombuffer(joined, np.uint8).reshape(len(packed), width)
    return np.unpackbits(table, axis=1, count=num_actions, bitorder="little").astype(np.bool_)
