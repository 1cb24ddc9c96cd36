"""Policies that explore in turn: explore-then-commit and successive elimination."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_integer
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Search, scores_in_turn
from bandit_envs.policies.best_arm.reward_laws import NormalLaw, RewardLaw, check_std
from bandit_envs.policies.best_arm.stopping import check_delta
from bandit_envs.policies.draws import largest_values, row_sums
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
    """The actions that may still be the best, and their bounds; [B, K] and updated in place."""

    active: Mask
    widths: Floats  # alpha, infinite for an action never chosen


class SuccessiveEliminationPolicy(BestArmPolicy):
    """Chooses in turn among the actions that may still be the best.

        alpha(a) = s sqrt(2 ln(5 K N(a)^2 / delta) / N(a))

    It drops action a permanently once Q(a) + alpha(a) < max_b Q(b) - alpha(b), over the actions b
    that are left, and stops when one is left. With a probability of at least 1 - delta, it never
    drops the best action. A row whose available actions are all dropped takes these in turn.

    Args:
        delta: the largest probability of dropping the best action, from 1e-100 to 1.
        reward_std: s, the standard deviation of normal rewards; None for rewards from 0 to 1,
            for which the paper has s = sqrt(1/2).
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Even-Dar, Mannor & Mansour (2006).

    >>> from bandit_envs import KArmedTestbed
    >>> SuccessiveEliminationPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(
        self,
        delta: float,
        reward_std: float | None = None,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._delta = check_delta(delta)
        std = check_std(reward_std)
        self._reward_std = std
        self._law = NormalLaw(0.5 if std is None else std)
        self._scale = 1.0 if std is None else np.sqrt(2.0) * std
        super().__init__(**options)

    def _reward_law(self) -> RewardLaw:
        return self._law

    def _initial_plan(self) -> Candidates:
        return Candidates(np.ones(self._table_shape, np.bool_), np.full(self._table_shape, np.inf))

    def _exploration_scores(self, search: Search) -> Floats:
        return scores_in_turn(search.plan.active, search.pulls)

    def _update(self, search: Search, rows: Indices) -> None:
        pulls = search.pulls.take(rows)
        plan: Candidates = search.plan
        chosen = pulls.latest.argmax(axis=1)
        at = np.arange(len(rows))
        n = pulls.counts[at, chosen]
        level = np.log(5.0 * self.num_actions / self._delta * n * n)
        plan.widths[rows, chosen] = self._scale * np.sqrt(level / n)
        widths = plan.widths.take(rows, axis=0)
        active = plan.active.take(rows, axis=0)
        # A mask may leave only actions that were dropped; these drop no others.
        _, lower = largest_values(np.where(active, pulls.values - widths, -np.inf))
        active &= pulls.values + widths >= lower
        stopped = row_sums(active) == 1.0
        compared = search.compared(rows)
        if compared is not None:
            is_empty = ~(active & compared).any(axis=1)
            active[is_empty] = compared[is_empty]  # those that dropped these are closed
            stopped = (row_sums(active & compared) == 1.0) & (row_sums(compared) > 1.0)
        plan.active[rows] = active
        search.stopped[rows] = stopped

    def _candidates(self, search: Search) -> Mask:
        active: Mask = search.plan.active
        return active
