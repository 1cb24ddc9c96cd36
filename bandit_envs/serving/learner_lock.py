"""A lock that one process holds: the one that learns."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
from pathlib import Path

from bandit_envs.logged.files.decision_tables import errors_of

SUFFIX = "-learner"
"""Follows the name of the file whose decisions the process learns from."""


class LearnerLock:
    """Is held from the constructor to `release`, or to the end of the process, however it ends.

    It is a transaction on a small file of its own, which the operating system unlocks when the
    process dies. The file names the process.

    Args:
        path: of the file of decisions.

    Raises:
        OSError: another process, or another service of this one, holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + SUFFIX)
        self._owner = f"process {os.getpid()} on {socket.gethostname()}"
        with errors_of(self._path):
            self._connection = sqlite3.connect(
                self._path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        try:
            self._lock(path)
        except BaseException:
            self._connection.close()
            raise

    def release(self) -> None:
        """Lets others learn."""
        self._connection.close()

    def _lock(self, path: Path) -> None:
        try:
            self._write_owner()
            self._connection.execute("BEGIN IMMEDIATE")  # others can still read the owner
            found = self._read_owner()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise OSError(f"{self._path}: {error}") from error
            found = self._read_owner()
            self._refuse(path, found)
        if found != self._owner:  # between the two transactions
            self._refuse(path, found)

    def _write_owner(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("CREATE TABLE IF NOT EXISTS owner (name TEXT)")
        self._connection.execute("DELETE FROM owner")
        self._connection.execute("INSERT INTO owner VALUES (?)", (self._owner,))
        self._connection.execute("COMMIT")

    def _read_owner(self) -> str:
        with contextlib.suppress(sqlite3.OperationalError):  # it is being written
            for (name,) in self._connection.execute("SELECT name FROM owner"):
                return str(name)
        return "another process"

    def _refuse(self, path: Path, owner: str) -> None:
        problem = f"{path}: {owner} learns from its decisions, and one at a time can"
        raise OSError(f"{problem}; learns=False opens it to decide alone")
