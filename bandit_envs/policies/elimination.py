"""Policies that explore first: explore-then-commit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.base.checks import check_integer
from bandit_envs.base.state import Seed
from bandit_envs.policies.policy import Floats, IndexPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class Exploration(NamedTuple):
    """The sum of the first m rewards, and N; [B, K] each and updated in place."""

    sums: Floats
    counts: Floats


class ExploreThenCommitPolicy(IndexPolicy):
    """Chooses every action m times, and then always the one whose mean reward was largest.

    It learns from the first m rewards of an action only. Its first steps choose uniformly among the
    actions chosen fewer than m times.

    Args:
        m: how often it explores every action, at least 1.

    Source: Lattimore & Szepesvári (2020), algorithm 1, which explores the actions in turn.

    >>> from bandit_envs import KArmedTestbed
    >>> ExploreThenCommitPolicy(10, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, m: int, *, num_actions: int, batch_size: int = 1, seed: Seed = None) -> None:
        self._m = check_integer("m", m, minimum=1)
        super().__init__(num_actions, batch_size, seed)

    def _initial(self) -> Exploration:
        return Exploration(*np.zeros((2, *self._table_shape)))

    def _scores(self, learned: Exploration, time_step: TimeStep) -> Floats:
        return np.where(learned.counts < self._m, np.inf, learned.sums)

    def _learn(self, learned: Exploration, trajectory: Trajectory) -> Exploration:
        chosen = self._row_offsets + trajectory.action
        sums, counts = learned.sums.reshape(-1), learned.counts.reshape(-1)
        n = counts.take(chosen)
        sums[chosen] += np.where(n < self._m, trajectory.reward, 0.0)
        counts[chosen] = n + 1.0
        return learned
