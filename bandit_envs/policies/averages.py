"""What index policies of sample averages share."""

from __future__ import annotations

import abc
from typing import NamedTuple

import numpy as np

from bandit_envs.policies.policy import Floats, IndexPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class Averages(NamedTuple):
    """What was seen of every action, [B, K] and updated in place, and the steps so far.

    Fields:
        counts: N, how often the action was chosen.
        sums: the sum of its rewards.
        values: their mean.
        variances: their mean squared distance from it.
        inverses: 1 / N, infinite for an action never chosen.
        steps: the number of steps.
    """

    counts: Floats
    sums: Floats
    values: Floats
    variances: Floats
    inverses: Floats
    steps: int


class AverageIndexPolicy(IndexPolicy):
    """Chooses the action with the largest index, a function of its average reward and of N.

    A subclass implements `_indices`. Actions never chosen come first: their index is infinite.
    """

    @abc.abstractmethod
    def _indices(self, learned: Averages, t: int, time_step: TimeStep) -> Floats:
        """Returns the index of every action at step t, at least 2: [B, K]."""

    def _initial(self) -> Averages:
        counts, sums, values, variances = np.zeros((4, *self._table_shape))
        inverses = np.full(self._table_shape, np.inf)
        return Averages(counts, sums, values, variances, inverses, 0)

    def _scores(self, learned: Averages, time_step: TimeStep) -> Floats:
        # At the first step all indices are infinite, if only ln t is not 0.
        return self._indices(learned, max(learned.steps + 1, 2), time_step)

    def _learn(self, learned: Averages, trajectory: Trajectory) -> Averages:
        chosen, reward = self._row_offsets + trajectory.action, trajectory.reward
        counts, sums, values, variances, inverses = (table.reshape(-1) for table in learned[:5])
        counts[chosen] = n = counts.take(chosen) + 1.0
        sums[chosen] = total = sums.take(chosen) + reward
        inverses[chosen] = 1.0 / n
        before, variance = values.take(chosen), variances.take(chosen)
        values[chosen] = after = total / n
        variances[chosen] = variance + ((reward - before) * (reward - after) - variance) / n
        return learned._replace(steps=learned.steps + 1)
