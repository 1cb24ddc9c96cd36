"""Checkpoints of tasks that take long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bandit_envs.base.saving import load_state, save_state

SECONDS_BETWEEN = 60.0
"""At least this many seconds lie between two checkpoints of a task."""

MAX_SHARE = 0.05
"""Saving takes at most about this share of a task's time."""


class Checkpoint:
    """The file in which a task is saved once a minute.

    Args:
        path: the file, or None if the task is not to be saved.
        header: what tells the task from others. A file with another header is not used.
    """

    def __init__(self, path: Path | None, header: Mapping[str, Any]) -> None:
        self._path = path
        self._header = dict(header)
        self._next = time.monotonic() + SECONDS_BETWEEN

    def load(self) -> Any:
        """Returns the state that was saved, or None."""
        if self._path is None:
            return None
        try:
            header, state = load_state(self._path)
        except (FileNotFoundError, TypeError, ValueError):
            return None
        return state if header == self._header else None

    def is_due(self) -> bool:
        """Whether it is time to save the task."""
        return self._path is not None and time.monotonic() >= self._next

    def save(self, get_state: Callable[[], Any]) -> None:
        """Writes what `get_state` returns.

        After a state that `save_state` cannot write, such as a user's object, nothing is saved.
        """
        if self._path is None:
            return
        start = time.monotonic()
        try:
            save_state(self._path, (self._header, get_state()))
        except TypeError:  # such as a model of a library that saves none
            self._path = None
        end = time.monotonic()
        self._next = end + max(SECONDS_BETWEEN, (end - start) / MAX_SHARE)

    def remove(self) -> None:
        """Deletes the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
