"""Bandwidths of kernels that follow from a log.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.base.checks import check_positive, short_repr
from bandit_envs.logged.estimators.kernel_estimators import KernelIPS
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.rounding import is_rounding

Found: TypeAlias = Literal["rule", "slope"]
"""How a bandwidth is found."""

Bandwidth: TypeAlias = float | Found
"""A bandwidth, or how it is found."""

FACTOR = 2.34
"""The bandwidth of the rule is so many standard deviations of the actions, times n^(-1/5)."""

SHARES = (2.0, 1.0, 0.5, 0.25, 0.125)
"""SLOPE chooses among so many times the bandwidth of the rule, if no others are given."""


@dataclasses.dataclass(frozen=True)
class NumberSums:
    """What a part of a log says of its actions. Those of parts merge.

    Args:
        actions: their statistics.
        low: the lowest.
        high: the highest.
    """

    actions: Statistics
    low: float
    high: float

    @classmethod
    def from_actions(cls, actions: ArrayLike) -> NumberSums:
        """Returns the sums of actions [n]."""
        values = np.asarray(actions, np.float64)
        low = float(values.min(initial=math.inf))
        high = float(values.max(initial=-math.inf))
        return cls(Statistics.from_values(values), low, high)

    def merge(self, other: NumberSums) -> NumberSums:
        """Returns the sums of the rows of both."""
        actions = self.actions.merge(other.actions)
        return NumberSums(actions, min(self.low, other.low), max(self.high, other.high))

    def bandwidth(self) -> float:
        """Returns the bandwidth of the rule; ValueError if all actions are the same."""
        std = math.sqrt(float(self.actions.squared_deviation) / self.actions.count)
        if is_rounding(std, self.actions.mean):
            raise ValueError("all actions of the log are the same; expected some that differ")
        return FACTOR * std / math.pow(self.actions.count, 0.2)


@dataclasses.dataclass(frozen=True)
class KernelOfLog:
    """`KernelIPS` with a bandwidth that follows from the log.

    Args:
        bandwidth: "rule" is 2.34 standard deviations of the actions, times n^(-1/5), which is right
            for a normal distribution of them. "slope" chooses for each policy, as `slope` does.
        self_normalized: as for `KernelIPS`.
    """

    bandwidth: Found
    self_normalized: bool


def make_kernel_ips(bandwidth: Bandwidth = "rule") -> KernelIPS | KernelOfLog:
    """Averages rewards of near actions: mean(w r). The bandwidth is a number, rule or slope."""
    return _make_kernel(bandwidth, self_normalized=False)


def make_kernel_snips(bandwidth: Bandwidth = "rule") -> KernelIPS | KernelOfLog:
    """Averages rewards of near actions: sum(w r) / sum(w), with a bandwidth as of kernel_ips."""
    return _make_kernel(bandwidth, self_normalized=True)


def _make_kernel(bandwidth: Bandwidth, *, self_normalized: bool) -> KernelIPS | KernelOfLog:
    if not isinstance(bandwidth, str):
        return KernelIPS(check_positive("bandwidth", bandwidth), self_normalized=self_normalized)
    if bandwidth not in get_args(Found):
        expected = "a number above 0, 'rule' or 'slope'"
        raise ValueError(f"bandwidth is {short_repr(bandwidth)}; expected {expected}")
    return KernelOfLog(bandwidth, self_normalized)
