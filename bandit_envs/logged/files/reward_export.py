"""When a table of rewards was exported: later rewards are not known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats

MISSED = 3.0
"""The export was made at the last reward if more rewards than this were expected after it.

If rewards come at random, none comes where three are expected with probability 1 in 20. A time that
is too early costs rows. One that is too late counts rewards as 0 that are not in the table.
"""


class Export(NamedTuple):
    """When the rewards of a table were exported, so that no later one is known.

    Fields:
        time: in seconds.
        source: what the time follows from, in words.
        gap: how many seconds the log goes on after the time, in which more rewards were expected.
    """

    time: float
    source: str
    gap: float = 0.0

    @classmethod
    def find(cls, rewards: Floats, newest: float) -> Export:
        """Returns when rewards were exported, as their times and those of decisions tell.

        The later half of the rewards tells how many were expected after the last one.

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
"""Of rewards without a window, for which the time of the export does not matter."""
