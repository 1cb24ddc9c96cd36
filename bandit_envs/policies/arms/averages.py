"""Average rewards of actions, and what policies share that learn them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.base.checks import MAX_REWARD
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.policy import Policy
from bandit_envs.trajectories import Trajectory


class Averages(NamedTuple):
    """What was seen of every action; [B, K] and updated in place, except for the steps."""

    counts: Floats  # N, how often the action was chosen
    sums: Floats  # of its rewards
    values: Floats  # Q, their mean
    variances: Floats  # their mean squared distance from it
    inverses: Floats  # 1 / N, infinite for an action never chosen
    steps: Indices  # how many rewards each row has learned from, [B]

    @classmethod
    def initial(cls, batch_size: int, num_actions: int) -> Averages:
        """Returns the averages of no rewards."""
        shape = (batch_size, num_actions)
        return cls(
            counts=np.zeros(shape),
            sums=np.zeros(shape),
            values=np.zeros(shape),
            variances=np.zeros(shape),
            inverses=np.full(shape, np.inf),
            steps=np.zeros(batch_size, np.intp),
        )

    def add(self, places: Indices, reward: Array) -> Averages:
        """Returns the averages with rewards [B] of the actions at `places` [B] of flat tables."""
        values = self.values.reshape(-1)
        variances = self.variances.reshape(-1)
        n = self.counts.take(places) + 1.0
        total = self.sums.take(places) + reward
        before = values.take(places)
        after = total / n
        variance = variances.take(places)
        self.counts.reshape(-1)[places] = n
        self.sums.reshape(-1)[places] = total
        self.inverses.reshape(-1)[places] = 1.0 / n
        values[places] = after
        variances[places] = variance + ((reward - before) * (reward - after) - variance) / n
        return self._replace(steps=self.steps + 1)

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> Averages:
        """Returns new tables in which choices [B, K] that wait for their rewards count in N."""
        counts = self.counts + pending
        with np.errstate(divide="ignore"):
            inverses = 1.0 / counts
        return self._replace(
            counts=counts,
            values=optimistic_means(self.values, self.counts > 0.0, pending, reward_range),
            inverses=inverses,
            steps=self.steps + pending.sum(axis=1),
        )


class AveragesPolicy(Policy):
    """Learns the average reward of every action. A subclass chooses by `Averages`."""

    def _initial(self) -> Averages:
        return Averages.initial(self.batch_size, self.num_actions)

    def _learn(self, learned: Averages, trajectory: Trajectory) -> Averages:
        return learned.add(self._row_offsets + trajectory.action, trajectory.reward)

    def _describe(self, learned: Averages) -> Beliefs:
        return Beliefs(learned.values, learned.counts)


def optimistic_means(
    values: Floats, is_known: Mask, pending: Indices, reward_range: tuple[float, float]
) -> Floats:
    """Returns mean rewards [B, K] in which actions that wait for their first reward have the best.

    The best is the largest reward; if that has no bound, the largest mean of the row, or 0.

    Args:
        values: the mean rewards so far.
        is_known: whether there were any, [B, K].
        pending: how many choices wait for their rewards, [B, K].
        reward_range: the smallest and the largest reward.
    """
    waits = ~is_known & (pending > 0)
    if not waits.any():
        return values
    best: float | Floats = reward_range[1]
    if best == MAX_REWARD:
        largest = np.where(is_known, values, -np.inf).max(axis=1, keepdims=True)
        best = np.where(np.isneginf(largest), 0.0, largest)
    return np.where(waits, best, values)


def current_step(steps: Indices) -> Indices:
    """Returns t, the step that is being chosen after `steps` [B], as a column: [B, 1].

    It is at least 2. At the first step, all actions are equal, if only ln t is not 0.
    """
    return np.maximum(steps + 1, 2)[:, np.newaxis]
