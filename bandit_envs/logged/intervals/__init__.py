"""Intervals of means of logged rows: of skewed rows, for known ranges, and at all times at once.

Experimental: these names may change in any minor version.
"""

from bandit_envs.logged.intervals.blocks import BlockSums
from bandit_envs.logged.intervals.influence import InfluenceSums, hull, normal_interval
from bandit_envs.logged.intervals.known_range import KnownRange, betting_interval
from bandit_envs.logged.intervals.sequence_bounds import (
    EmpiricalBernstein,
    HedgedBetting,
    SequenceBound,
)
from bandit_envs.logged.intervals.tails import TailSums

__all__ = [
    "BlockSums",
    "EmpiricalBernstein",
    "HedgedBetting",
    "InfluenceSums",
    "KnownRange",
    "SequenceBound",
    "TailSums",
    "betting_interval",
    "hull",
    "normal_interval",
]
