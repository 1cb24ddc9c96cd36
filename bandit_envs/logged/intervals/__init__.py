"""Intervals of means of logged rows: of skewed rows, for known ranges, and at all times at once.

Experimental: these names may change in any minor version.
"""

from bandit_envs.logged.intervals.influence import normal_interval
from bandit_envs.logged.intervals.known_range import KnownRange, betting_interval
from bandit_envs.logged.intervals.sequence_bounds import HedgedBetting

__all__ = [
    "HedgedBetting",
    "KnownRange",
    "betting_interval",
    "normal_interval",
]
