"""When a table of rewards was exported: later rewards are not known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats

MISSED = 3.0
"""If rewards come at random, 1 in 20 times none does where so many are expected.

An earlier time costs rows. A later one would count rewards as 0 that are not in the table.
"""


class Export(NamedTuple):
    """When the rewards of a table were exported, so that no later one is known.

    Fields:
        time: in seconds.
        source: says where that is known from.
        gap: how many seconds the log goes on behind it, in which more rewards should have come.
    """

    time: float
    source: str
    gap: float = 0.0

    @classmethod
    def find(cls, rewards: Floats, newest: float) -> Export:
        """Returns when rewards were exported, as their times and those of decisions tell.

        The rewards of the later half say how many of them would have come from the last one on.

        Args:
            rewards: their times, [m].
            newest: the time of the newest decision.
        """
        last = float(rewards.max(initial=-np.inf))
        if newest <= last:
            return cls(last, "the time of the last reward")
        span = last - float(np.median(rewards)) if len(rewards) else 0.0
        if len(rewards) / 2.0 * (newest - last) <= MISSED * span:
            return cls(newest, "the time of the newest decision")
        return cls(last, "the time of the last reward", newest - last)


NOT_KNOWN = Export(np.inf, "")
"""Where it does not matter."""
