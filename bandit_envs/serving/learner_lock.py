"""A lock that one process holds: the one that learns."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sqlite3
import time
from pathlib import Path

from bandit_envs.base.saving import check_replaceable
from bandit_envs.logged.files.served.decision_tables import errors_of

SUFFIX = "-learner"
"""Follows the name of the file whose decisions the process learns from."""


PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
"""The longest pauses in seconds between attempts, if several processes begin at once."""


class LearnerLock:
    """Is held from the constructor to `release`, or to the end of the process, however it ends.

    It is a transaction on a small file of its own, which the operating system unlocks when the
    process dies. The file names the process.

    Args:
        path: of the file of decisions.
        advice: what to do about a process that holds it.

    Raises:
        OSError: another process, or another service of this one, holds it.
    """

    def __init__(self, path: Path, advice: str) -> None:
        self._advice = advice
        self._path = path.with_name(path.name + SUFFIX)
        check_replaceable(self._path)  # SQLite would make a file at the end of a link
        self._owner = f"process {os.getpid()} on {socket.gethostname()}"
        with errors_of(self._path):
            self._connection = sqlite3.connect(
                self._path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        try:
            with errors_of(self._path):
                self._lock(path)
        except BaseException:
            self._connection.close()
            raise

    def release(self) -> None:
        """Lets others learn."""
        self._connection.close()

    def _lock(self, path: Path) -> None:
        for pause in PAUSES:
            if not self._begin():
                break
            if self._write_owner() and self._begin() and self._read_owner() == self._owner:
                return  # others can still read the owner
            self._roll_back()
            time.sleep(random.uniform(0.0, pause))  # others began between the two transactions
        problem = f"{self._describe_owner()} learns from its decisions, and only one can at a time"
        raise OSError(f"{path}: {problem}; {self._advice}")

    def _begin(self) -> bool:
        """Returns whether no other process was in a transaction, so that this one is."""
        return self._try("BEGIN IMMEDIATE")

    def _try(self, statement: str) -> bool:
        """Runs a statement, and returns whether no other process was in its way."""
        try:
            self._connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return False
            raise
        return True

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _write_owner(self) -> bool:
        """Ends the transaction, and returns whether no other process was reading."""
        self._connection.execute("CREATE TABLE IF NOT EXISTS owner (name TEXT)")
        self._connection.execute("DELETE FROM owner")
        self._connection.execute("INSERT INTO owner VALUES (?)", (self._owner,))
        return self._try("COMMIT")

    def _describe_owner(self) -> str:
        owner = self._read_owner()
        return "another service of this process" if owner == self._owner else owner

    def _read_owner(self) -> str:
        with contextlib.suppress(sqlite3.OperationalError):  # it is being written
            for (name,) in self._connection.execute("SELECT name FROM owner"):
                return str(name)
        return "another process"
