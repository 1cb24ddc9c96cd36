"""Intervals of means of logged rows: for skewed rows, for known ranges, and for heavy tails.

Experimental: these names may change in any minor version.
"""

from bandit_envs.logged.intervals.blocks import BlockSums
from bandit_envs.logged.intervals.influence import InfluenceSums, hull, normal_interval

__all__ = ["BlockSums", "InfluenceSums", "hull", "normal_interval"]
