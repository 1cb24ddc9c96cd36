"""Policies that explore in turn: explore-then-commit and successive elimination."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import check_integer, check_positive
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class Exploration(NamedTuple):
    """The sum of the first m rewards, and N; [B, K] each and updated in place."""

    sums: Floats
    counts: Floats


class ExploreThenCommitPolicy(IndexPolicy):
    """Chooses every action m times, and then always the one whose mean reward was largest.

        A_t = argmax_a Q(a)    once N(a) >= m for every a

    It learns from the first m rewards of an action only. Its first steps choose uniformly among the
    actions chosen fewer than m times.

    Args:
        m: how often each action is chosen first, at least 1.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Lattimore & Szepesvári (2020), chapter 6, which explores the actions in turn.

    >>> from bandit_envs import KArmedTestbed
    >>> ExploreThenCommitPolicy(10, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, m: int, **options: typing.Unpack[PolicyOptions]) -> None:
        self._m = check_integer("m", m, minimum=1)
        super().__init__(**options)

    def _initial(self) -> Exploration:
        return Exploration(np.zeros(self._table_shape), np.zeros(self._table_shape))

    def _scores(self, learned: Exploration, time_step: TimeStep) -> Floats:
        return np.where(learned.counts < self._m, np.inf, learned.sums)

    def _learn(self, learned: Exploration, trajectory: Trajectory) -> Exploration:
        chosen = self._row_offsets + trajectory.action
        n = learned.counts.take(chosen)
        learned.sums.reshape(-1)[chosen] += np.where(n < self._m, trajectory.reward, 0.0)
        learned.counts.reshape(-1)[chosen] = n + 1.0
        return learned


class Candidates(NamedTuple):
    """The candidates and what was seen of them, [B, K] and updated in place."""

    values: Floats  # the mean reward
    counts: Floats  # N, how often the action was chosen
    widths: Floats  # alpha, infinite for an action never chosen
    active: Mask  # whether the action may still be the best


class SuccessiveEliminationPolicy(IndexPolicy):
    """Chooses in turn among the actions that may still be the best.

        alpha(a) = sqrt(ln(5 K N(a)^2 / delta) / N(a))

    It drops action a permanently once Q(a) + alpha(a) < max_b Q(b) - alpha(b). For rewards from 0
    to 1, it never drops the best action, with a probability of at least 1 - delta. A row whose
    available actions are all dropped takes these in turn.

    Args:
        delta: the probability of dropping the best action, above 0 and at most 1.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Even-Dar, Mannor & Mansour (2006).

    >>> from bandit_envs import KArmedTestbed
    >>> SuccessiveEliminationPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, delta: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._delta = check_positive("delta", delta, 1e-100, 1.0)
        super().__init__(**options)

    def _initial(self) -> Candidates:
        return Candidates(
            values=np.zeros(self._table_shape),
            counts=np.zeros(self._table_shape),
            widths=np.full(self._table_shape, np.inf),
            active=np.ones(self._table_shape, np.bool_),
        )

    def _scores(self, learned: Candidates, time_step: TimeStep) -> Floats:
        return np.where(learned.active, 0.0, -1e12) - learned.counts

    def _learn(self, learned: Candidates, trajectory: Trajectory) -> Candidates:
        chosen = self._row_offsets + trajectory.action
        n = learned.counts.take(chosen) + 1.0
        value = learned.values.take(chosen)
        width = np.sqrt(np.log(5.0 * self.num_actions / self._delta * n * n) / n)
        learned.values.reshape(-1)[chosen] = value + (trajectory.reward - value) / n
        learned.counts.reshape(-1)[chosen] = n
        learned.widths.reshape(-1)[chosen] = width
        lower = (learned.values - learned.widths).max(axis=1, keepdims=True)
        upper = learned.values + learned.widths
        np.logical_and(learned.active, upper >= lower, out=learned.active)
        return learned
