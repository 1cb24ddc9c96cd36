"""Which rows of logs a policy has learned from, so that no estimate is made of them unawares."""

from __future__ import annotations

import functools
import sys
import warnings
import weakref
from collections.abc import Iterable, Iterator
from typing import TypeVar

from bandit_envs.logged.again import Again
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_batches
from bandit_envs.logged.summary import LogRows, LogSummary
from bandit_envs.policies import Policy

AnyPolicy = TypeVar("AnyPolicy", bound=Policy)


class SeenRows:
    """Tells logs, or batches of logs, again by what `LogSummary.identify` says of them."""

    def __init__(self) -> None:
        self._identities: dict[int, set[str]] = {}  # by number of rows

    def add(self, batch: BanditLog) -> None:
        """Remembers a batch."""
        self._identities.setdefault(len(batch), set()).add(_identify([batch]))

    def merge(self, other: SeenRows) -> None:
        """Remembers what another remembers, too."""
        for size, identities in other._identities.items():
            self._identities.setdefault(size, set()).update(identities)

    def has(self, batches: Iterable[BanditLog]) -> bool:
        """Returns whether a log in batches is one of those remembered, or begins with one."""
        return any(
            size and _identify(LogRows(batches, 0, size)) in identities
            for size, identities in self._identities.items()
        )

    def count_first(self, batches: Iterable[BanditLog], enough: int) -> int:
        """Returns how many of the first rows of a log are in those remembered, one after another.

        Args:
            batches: of the log.
            enough: counts no further than the first log or batch that reaches so many rows.
        """
        if not self._identities:
            return 0
        sizes = sorted(self._identities)
        found = 0
        rows = LogSummary.from_batches([])  # those after the ones found
        for batch in batches:
            start = 0
            while start < len(batch):
                size = next((each for each in sizes if each > rows.size), None)
                if size is None or found >= enough:
                    return found
                part = batch[start : start + size - rows.size]
                rows = rows.merge(LogSummary.from_batches([part]))
                start += len(part)
                if rows.identify() in self._identities.get(rows.size, ()):
                    found += rows.size
                    rows = LogSummary.from_batches([])
        return found


_SEEN: weakref.WeakKeyDictionary[Policy, SeenRows] = weakref.WeakKeyDictionary()


def remember_batches(batches: Iterable[BanditLog], seen: SeenRows) -> Again[BanditLog]:
    """Returns batches of a log, which are remembered when they are read."""
    return Again(functools.partial(_add_each, check_batches(batches), seen))


def _add_each(batches: Iterable[BanditLog], seen: SeenRows) -> Iterator[BanditLog]:
    """Yields batches, and remembers them."""
    for batch in batches:
        seen.add(batch)
        yield batch


def remember(policy: AnyPolicy, seen: SeenRows) -> AnyPolicy:
    """Returns a policy, of which it is known then from which rows it has learned."""
    _SEEN[policy] = seen
    return policy


def warn_if_seen(
    policy: Policy, batches: Iterable[BanditLog], stacklevel: int = 3, start: int = 0
) -> None:
    """Warns if a policy has learned from the first rows of a log on which it is to be evaluated.

    Args:
        policy: is evaluated.
        batches: of the log, which can be passed over more than once.
        stacklevel: of the warning.
        start: the first row of the log on which the policy is to be evaluated.
    """
    seen = _SEEN.get(policy)
    if seen is None:
        return
    if seen.count_first(batches, start + 1) > start or seen.has(
        LogRows(batches, start, sys.maxsize)
    ):
        warnings.warn(
            "the policy has learned from rows of this log, so estimates of them are too high; "
            "expected rows that it has not seen",
            stacklevel=stacklevel,
        )


def _identify(batches: Iterable[BanditLog]) -> str:
    return LogSummary.from_batches(batches).identify()
