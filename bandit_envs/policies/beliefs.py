"""What policies know of single actions, row by row, for pictures and for users."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.extras import import_extra
from bandit_envs.policies.beta_counts import BetaCounts
from bandit_envs.rendering import Knowledge

NORMAL_95 = 1.959964
"""A normal variable is within so many standard deviations with a probability of 95%."""

POSTERIOR = "95% of the posterior"


class Beliefs(NamedTuple):
    """What a policy knows of all actions in all rows; tables [B, K]."""

    values: Floats  # the estimated reward
    counts: Any = None  # how often the action was chosen; None if that is not counted
    low: Floats | None = None  # the lower ends of intervals; None without these
    high: Floats | None = None  # the upper ends, or bounds
    interval: str = ""  # what the ends are

    def of_row(self, title: str, row: int) -> Knowledge:
        """Returns copies of what is known in one row."""
        tables = (self.values, self.counts, self.low, self.high)
        rows = [None if each is None else np.array(each[row], np.float64) for each in tables]
        values, counts, low, high = rows
        assert values is not None
        return Knowledge(title, values, counts, low, high, self.interval)


def beta_beliefs(posteriors: BetaCounts, prior: float | None) -> Beliefs:
    """Returns means and intervals of Beta posteriors, which need SciPy.

    Args:
        posteriors: of every action.
        prior: the sum of its parameters; None if the posteriors do not count what was chosen.
    """
    successes, failures = posteriors
    total = successes + failures
    special = import_extra("scipy.special", "cli")
    return Beliefs(
        values=np.asarray(successes / total),
        counts=None if prior is None else total - prior,
        low=np.asarray(special.betaincinv(successes, failures, 0.025)),
        high=np.asarray(special.betaincinv(successes, failures, 0.975)),
        interval=POSTERIOR,
    )


def normal_beliefs(mean: Floats, std: Floats) -> Beliefs:
    """Returns means and intervals of normal posteriors."""
    radius = NORMAL_95 * std
    return Beliefs(mean, low=mean - radius, high=mean + radius, interval=POSTERIOR)
