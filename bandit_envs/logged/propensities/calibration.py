"""How well estimated propensities fit the actions of a log."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.logged.log import BanditLog
from bandit_envs.names.visible import visible

CHANCE = 1e-3
"""How probable it is that the actions of a right model are reported, at most, in a long log."""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The mean of 1{a_i = a} / p(a | x_i) over the rows of a log, for each action a: 1 on average.

    Those of parts of a log merge.

    Args:
        rows: of the log.
        counts: [K], how often each action was taken.
        inverses: [K], the sums of 1{a_i = a} / p.
        squares: [K], the sums of the squares of these.
        raised: how many propensities were below the limit, and raised to it.
        min_propensity: the limit.
        names: of the actions; () if they have none.
    """

    rows: int
    counts: Floats
    inverses: Floats
    squares: Floats
    raised: int
    min_propensity: float
    names: Sequence[str] = ()

    @classmethod
    def from_log(cls, log: BanditLog, raised: int, min_propensity: float) -> Calibration:
        """Returns the calibration of a log with propensities.

        Args:
            log: the rows.
            raised: how many of the propensities were raised.
            min_propensity: to this.
        """
        size = log.num_actions
        inverse = 1.0 / log.propensity
        return cls(
            rows=len(log),
            counts=np.bincount(log.action, minlength=size).astype(np.float64),
            inverses=_add_up(log.action, inverse, size),
            squares=_add_up(log.action, inverse**2, size),
            raised=raised,
            min_propensity=min_propensity,
            names=log.action_names,
        )

    def merge(self, other: Calibration) -> Calibration:
        """Returns the calibration of the rows of both."""
        return dataclasses.replace(
            self,
            rows=self.rows + other.rows,
            counts=self.counts + other.counts,
            inverses=self.inverses + other.inverses,
            squares=self.squares + other.squares,
            raised=self.raised + other.raised,
        )

    @property
    def means(self) -> Floats:
        """The means, [K], which are 1 on average if the propensities are right."""
        return np.asarray(self.inverses / self.rows)

    @property
    def standard_errors(self) -> Floats:
        """Their standard errors, [K]."""
        variances = np.maximum(self.squares / self.rows - self.means**2, 0.0)
        return np.asarray(np.sqrt(variances / self.rows))

    def find_far(self) -> list[int]:
        """Returns the actions whose mean is farther from 1 than chance explains.

        The limit, in standard errors, is corrected by Bonferroni for the number of actions.
        """
        taken = self.counts > 0
        tail = CHANCE / (2.0 * max(1, int(np.count_nonzero(taken))))
        limit = statistics.NormalDist().inv_cdf(1.0 - tail)
        far = np.abs(self.means - 1.0) > limit * self.standard_errors
        return list(np.flatnonzero(far & taken).tolist())

    def find_problems(self) -> list[str]:
        """Returns the actions whose mean is far from 1, in words."""
        return [
            f"the mean of 1/p of action {self.name_action(action)} is {self.means[action]:.3g},"
            " farther from 1 than chance explains; the model of propensities is wrong there"
            for action in self.find_far()
        ]

    def __str__(self) -> str:
        names = [self.name_action(action) for action in range(len(self.counts))]
        width = max(len("action"), *map(len, names))
        lines = [f"{'action':{width}}  rows      mean of 1/p (expected 1)"]
        for name, count, mean, error in zip(names, self.counts, self.means, self.standard_errors):
            lines.append(f"{name:{width}}  {int(count):<8}  {mean:.4f} +- {error:.4f}")
        if self.raised:
            limit = f"{self.min_propensity:g}, and raised to it"
            lines.append(f"{self.raised} of {self.rows} propensities were below {limit}")
        return "\n".join([*lines, *self.find_problems()])

    def name_action(self, action: int) -> str:
        """Returns the name of an action for messages, or its number."""
        return visible(self.names[action]) if self.names else f"{action}"


def _add_up(action: Array, values: Floats, size: int) -> Floats:
    """Returns the sums of values [n] by action: [K]."""
    return np.asarray(np.bincount(action, values, size), np.float64)
