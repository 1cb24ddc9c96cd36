"""Policies that look for the best action with a fixed number of steps."""

from __future__ import annotations

import math
import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import MAX_PARAMETER, check_bool, check_integer, check_positive
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Search, scores_in_turn
from bandit_envs.policies.policy import PolicyOptions


class FixedBudgetPolicy(BestArmPolicy):
    """Stops when its budget of steps is spent; the budget is planned for K actions."""

    _goes_on = False
    _budget: int  # the number of steps

    def _set_num_actions(self, num_actions: int) -> None:
        raise self._without_more_actions("its budget of steps is planned for these")

    def _update(self, search: Search, rows: Indices) -> None:
        search.stopped[rows] = search.pulls.steps[rows] >= self._budget


class RoundsPolicy(FixedBudgetPolicy):
    """Chooses all candidates equally often, and drops some at the end of each round."""

    _rounds: EliminationRounds
    _reuse = True  # whether means are of all rewards so far, rather than of those of the round

    def _initial_plan(self) -> Survivors:
        return Survivors.initial(self.batch_size, self.num_actions)

    def _exploration_scores(self, search: Search) -> Floats:
        return scores_in_turn(search.plan.active, search.pulls)

    def _update(self, search: Search, rows: Indices) -> None:
        self._rounds.update(search, rows, reuse=self._reuse)

    def _candidates(self, search: Search) -> Mask:
        active: Mask = search.plan.active
        return active


class UniformAllocationPolicy(FixedBudgetPolicy):
    """Chooses all actions equally often, and recommends the one with the largest mean reward.

        A_t = argmin_a N(a)

    Args:
        budget: the number of steps after which it stops, at least K.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Bubeck, Munos & Stoltz, Pure Exploration in Multi-armed Bandits Problems (2009).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> UniformAllocationPolicy(100, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, budget: int, **options: typing.Unpack[PolicyOptions]) -> None:
        super().__init__(**options)
        self._budget = check_integer("budget", budget, minimum=self.num_actions)

    def _exploration_scores(self, search: Search) -> Floats:
        return -search.pulls.counts


class UCBEPolicy(FixedBudgetPolicy):
    """Chooses the largest upper confidence bound, of a width that does not grow with time.

        A_t = argmax_a Q(a) + sqrt(a / N(a))

    Q is the mean reward. Actions never chosen come first. For rewards from 0 to 1, the theory asks
    for a = 25 (n - K) / (36 H), where n is the budget, and H the sum of 1 / gap(b)^2 over all
    actions b; the best action has the gap of the second. A larger `a` is safer if gaps are unknown.

    Args:
        budget: the number of steps after which it stops, at least K.
        a: how far to explore, above 0.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Audibert & Bubeck, Best Arm Identification in Multi-Armed Bandits (2010).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> UCBEPolicy(100, 4.0, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, budget: int, a: float, **options: typing.Unpack[PolicyOptions]) -> None:
        super().__init__(**options)
        self._budget = check_integer("budget", budget, minimum=self.num_actions)
        self._a = check_positive("a", a, maximum=MAX_PARAMETER)

    def _exploration_scores(self, search: Search) -> Floats:
        with np.errstate(divide="ignore"):
            bounds = self._a / search.pulls.counts
        np.sqrt(bounds, out=bounds)
        bounds += search.pulls.values
        return bounds


class SuccessiveRejectsPolicy(RoundsPolicy):
    """Chooses all candidates equally often, and drops the worst at the end of each of K - 1 rounds.

        n_k = ceil((n - K) / (L (K + 1 - k))),    L = 1/2 + 1/2 + 1/3 + ... + 1/K

    After round k, each candidate has been chosen n_k times in all. The one with the smallest mean
    reward is dropped; of several, the one chosen first. The policy stops after the last round,
    after at most `budget` steps.

    Args:
        budget: n, above K.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Audibert & Bubeck, Best Arm Identification in Multi-Armed Bandits (2010).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> SuccessiveRejectsPolicy(100, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, budget: int, **options: typing.Unpack[PolicyOptions]) -> None:
        super().__init__(**options)
        self._budget = check_integer("budget", budget, minimum=self.num_actions + 1)
        self._rounds = _rounds_of_rejects(self._budget, self.num_actions)


class SequentialHalvingPolicy(RoundsPolicy):
    """Chooses all candidates equally often, and drops the worse half at the end of each round.

        R = ceil(log2 K) rounds, of floor(n / (|S| R)) choices of each candidate in S

    S are the candidates. At the end of a round, the half of them with the larger mean rewards is
    kept, rounded up; of equals, those chosen last. The policy stops after the last round, after at
    most `budget` steps.

    Args:
        budget: n, at least K R.
        reuse: whether means are those of all rewards so far, which errs less often. The paper takes
            only those of the last round, for its proof.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Karnin, Koren & Somekh, Almost Optimal Exploration in Multi-Armed Bandits (2013).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> SequentialHalvingPolicy(100, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def __init__(
        self, budget: int, *, reuse: bool = True, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        super().__init__(**options)
        number = math.ceil(math.log2(self.num_actions))
        self._budget = check_integer("budget", budget, minimum=number * self.num_actions)
        self._rounds = _rounds_of_halving(self._budget, self.num_actions)
        self._reuse = check_bool("reuse", reuse)


class Survivors(NamedTuple):
    """The candidates, and what was seen before this round; [B, K] and updated in place."""

    active: Mask
    counts: Floats
    sums: Floats

    @classmethod
    def initial(cls, batch_size: int, num_actions: int) -> Survivors:
        """Returns all actions as candidates."""
        shape = (batch_size, num_actions)
        return cls(np.ones(shape, np.bool_), np.zeros(shape), np.zeros(shape))


class EliminationRounds:
    """Rounds at whose ends some candidates are kept.

    Args:
        kept: the number of candidates that are kept, by the step at which the round ends.
    """

    def __init__(self, kept: typing.Mapping[int, int]) -> None:
        self._last = max(kept)
        self._kept = np.zeros(self._last + 1, np.intp)  # by step; 0 if no round ends there
        for step, number in kept.items():
            self._kept[step] = number

    def update(self, search: Search, rows: Indices, reuse: bool) -> None:
        """Drops candidates in those of the rows [n] whose round ends.

        Args:
            search: whose plan are `Survivors`.
            rows: those that have learned and had not stopped before.
            reuse: whether means are those of all rewards, or of those of the round.
        """
        kept = self._kept[search.pulls.steps[rows]]
        for number in np.unique(kept[kept > 0]):
            self._end_round(search, rows[kept == number], int(number), reuse)
        search.stopped[rows] = search.pulls.steps[rows] >= self._last

    def _end_round(self, search: Search, rows: Indices, number: int, reuse: bool) -> None:
        """Keeps the best candidates of some rows, and begins a new round."""
        plan: Survivors = search.plan
        pulls = search.pulls.take(rows)
        counts, sums = pulls.counts, pulls.sums
        if not reuse:
            counts = counts - plan.counts[rows]
            sums = sums - plan.sums[rows]
        means = np.where(counts > 0.0, sums / np.maximum(counts, 1.0), np.finfo(np.float64).min)
        means[~plan.active[rows]] = -np.inf
        best = np.lexsort((pulls.latest, means))[:, -number:]
        active = np.zeros_like(means, np.bool_)
        np.put_along_axis(active, best, True, axis=1)
        plan.active[rows] = active
        plan.counts[rows] = pulls.counts
        plan.sums[rows] = pulls.sums


def _rounds_of_rejects(budget: int, num_actions: int) -> EliminationRounds:
    """Returns the rounds of successive rejects."""
    scale = 0.5 + sum(1.0 / number for number in range(2, num_actions + 1))
    kept = {}
    dropped = 0  # choices of the actions that are dropped
    for active in range(num_actions, 1, -1):
        each = math.ceil((budget - num_actions) / (scale * active))
        kept[dropped + active * each] = active - 1
        dropped += each
    return EliminationRounds(kept)


def _rounds_of_halving(budget: int, num_actions: int) -> EliminationRounds:
    """Returns the rounds of sequential halving."""
    number = math.ceil(math.log2(num_actions))
    kept = {}
    step = 0
    active = num_actions
    for _ in range(number):
        step += active * (budget // (active * number))
        active = math.ceil(active / 2)
        kept[step] = active
    return EliminationRounds(kept)
