"""Which rows of logs a policy has learned from, so that no estimate is made of them unawares."""

from __future__ import annotations

import dataclasses
import warnings
import weakref
from collections.abc import Iterable, Iterator

import numpy as np

from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.summary import LogSummary
from bandit_envs.policies import Policy

_SEEN: weakref.WeakKeyDictionary[Policy, SeenRows] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class SeenRows:
    """What is kept of the batches of a log that a policy has learned from.

    Fields:
        identities: of each batch, as `LogSummary.identify` tells them.
        rewards: of each batch, as long as it is in memory: parts of a log share its memory.
    """

    identities: set[str] = dataclasses.field(default_factory=set)
    rewards: list[weakref.ref[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = (
        dataclasses.field(default_factory=list)
    )

    def watch(self, batches: Iterable[BanditLog]) -> Iterator[BanditLog]:
        """Yields batches, and remembers them."""
        for batch in batches:
            self.identities.add(_identify(batch))
            self.rewards.append(weakref.ref(batch.reward))
            yield batch

    def has(self, log: BanditLog) -> bool:
        """Returns whether a log is one of the batches, or shares memory with one."""
        if _identify(log) in self.identities:
            return True
        found = [reference() for reference in self.rewards]
        return any(each is not None and np.may_share_memory(each, log.reward) for each in found)


def remember(policy: Policy, seen: SeenRows) -> Policy:
    """Returns a policy, of which it is known then from which rows it has learned."""
    _SEEN[policy] = seen
    return policy


def warn_if_seen(policy: Policy, log: BanditLog) -> None:
    """Warns if a policy has learned from rows of a log on which it is to be evaluated."""
    seen = _SEEN.get(policy)
    if seen is not None and len(log) and seen.has(log):
        warnings.warn(
            "the policy has learned from rows of this log, so estimates of them are too high; "
            "expected rows that it has not seen",
            stacklevel=3,
        )


def _identify(log: BanditLog) -> str:
    return LogSummary.from_batches([log]).identify()
