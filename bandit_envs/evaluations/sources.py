"""Logs that can be read again, with what is done to every batch."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from bandit_envs.evaluations.passes import LogPart
from bandit_envs.logged import BanditLog
from bandit_envs.logged.again import Again
from bandit_envs.logged.files.scan import Scan
from bandit_envs.nests import flatten

Change: TypeAlias = Callable[[BanditLog], BanditLog]
"""What is done to every batch of a log."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A log, and changes of its batches, one after the other."""

    scan: Scan
    changes: tuple[Change, ...] = ()

    def change(self, change: Change) -> Source:
        """Returns a log whose batches are what a change makes of those of this one."""
        return Source(self.scan, (*self.changes, change))

    def add_actions(self, names: Collection[str]) -> Source:
        """Returns the same log with more names of actions, if its actions have names."""
        return self.change(functools.partial(_add_actions, names)) if names else self

    def keep_features(self, names: Sequence[str]) -> Source:
        """Returns the same log with some features alone, if others can be left unread."""
        if self.changes:  # they may need all
            return self
        return Source(self.scan.keep_features(names))

    def make_parts(self, by_workers: bool, in_memory: int) -> list[LogPart]:
        """Returns the parts.

        Args:
            by_workers: whether they are sent to workers.
            in_memory: files of so many bytes at most are kept in memory, if they are not.
        """
        change = functools.partial(_apply, self.changes)
        cut = self.scan.cut(by_workers)
        parts = [LogPart(Again(functools.partial(map, change, batches))) for batches in cut]
        is_small = self.scan.num_bytes <= in_memory
        return _read_if_small(parts, in_memory) if is_small and not by_workers else parts


def _apply(changes: Sequence[Change], batch: BanditLog) -> BanditLog:
    """Returns what changes make of a batch, one after the other."""
    for change in changes:
        batch = change(batch)
    return batch


def _add_actions(names: Collection[str], batch: BanditLog) -> BanditLog:
    """Returns a batch with more names of actions, if its actions have names."""
    return batch.add_actions(names) if batch.action_names else batch


def count_bytes(batch: BanditLog) -> int:
    """Returns how much memory the columns of a batch take."""
    columns = [*flatten(batch.observation), *batch.columns().values(), *flatten(batch.info or {})]
    return sum(column.nbytes for column in columns)


def _read_if_small(parts: list[LogPart], in_memory: int) -> list[LogPart]:
    """Returns parts with their batches in memory; or as they are, if these take too much of it.

    Files may be much smaller than what they hold.
    """
    found = []
    size = 0
    for part in parts:
        batches = []
        for batch in part.batches:
            size += count_bytes(batch)
            if size > in_memory:
                return parts
            batches.append(batch)
        found.append(LogPart(batches))
    return found
