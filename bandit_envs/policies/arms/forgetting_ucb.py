"""Upper confidence bounds that forget, for rewards whose laws change."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_positive
from bandit_envs.policies.arms.averages import optimistic_means
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory

NEVER = 1e250  # 1 / N of an action never chosen, or so long ago that N is 0 except for rounding


class Discounted(NamedTuple):
    """Discounted statistics, updated in place except for the total."""

    values: Floats  # the mean reward, [B, K]
    inverses: Floats  # 1 / N, [B, K]
    total: Floats  # n, the sum of N over actions, [B]

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> Discounted:
        """Returns new tables in which choices [B, K] that wait for their rewards count in N."""
        is_known = self.inverses < NEVER
        counts = np.where(is_known, 1.0 / self.inverses, 0.0) + pending
        inverses = 1.0 / np.maximum(counts, 1.0 / NEVER)
        values = optimistic_means(self.values, is_known, pending, reward_range)
        return Discounted(values, inverses, self.total + pending.sum(axis=1))


class DiscountedUCBPolicy(IndexPolicy):
    """Chooses the largest upper confidence bound of discounted averages.

        N_t(a) = sum_{s<t} gamma^(t-1-s) 1[A_s = a],    n_t = sum_a N_t(a)
        Q_t(a) = sum_{s<t} gamma^(t-1-s) 1[A_s = a] R_s / N_t(a)
        A_t    = argmax_a Q_t(a) + 2 sqrt(xi ln n_t / N_t(a))

    Actions never chosen come first.

    Args:
        gamma: above 0, at most 1. For c changes in T steps, 1 - sqrt(c / T) / 4 fits.
        xi: how much it explores, above 0; multiply it by b^2 for rewards from 0 to b.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Moulines (2011).

    >>> from bandit_envs import KArmedTestbed
    >>> DiscountedUCBPolicy(0.99, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    can_count_pending = True

    def __init__(
        self, gamma: float, xi: float = 0.5, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._gamma = check_positive("gamma", gamma, 1e-9, 1.0)
        self._xi = check_positive("xi", xi, 1e-9, MAX_PARAMETER)
        super().__init__(**options)

    def _initial(self) -> Discounted:
        shape = self._table_shape
        return Discounted(np.zeros(shape), np.full(shape, NEVER), np.zeros(self.batch_size))

    def _scores(self, learned: Discounted, time_step: TimeStep) -> Floats:
        # n is 1 at the second step only; as long as its logarithm is not 0, untried actions lead.
        log_n = np.log(np.maximum(learned.total, 1.0001))[:, np.newaxis]
        bounds = learned.inverses * (4.0 * self._xi * log_n)
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds

    def _learn(self, learned: Discounted, trajectory: Trajectory) -> Discounted:
        chosen = self._row_offsets + trajectory.action
        values = learned.values.reshape(-1)
        inverses = learned.inverses.reshape(-1)
        inverses *= 1.0 / self._gamma
        np.minimum(inverses, NEVER, out=inverses)
        inverse = 1.0 / (1.0 + 1.0 / inverses.take(chosen))
        value = values.take(chosen)
        values[chosen] = value + (trajectory.reward - value) * inverse
        inverses[chosen] = inverse
        return learned._replace(total=self._gamma * learned.total + 1.0)


class RecentSteps(NamedTuple):
    """What the last steps were, updated in place, and the number of all steps."""

    actions: Array  # of the last steps, [B, window]; step t is in column t modulo the window
    rewards: Floats  # of these, [B, window]
    counts: Floats  # how often the window holds each action, [B, K]
    sums: Floats  # of the rewards of each action, [B, K]
    steps: Indices  # how many rewards each row has learned from, [B]

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> RecentSteps:
        """Returns new tables in which choices [B, K] that wait for their rewards count."""
        means = optimistic_means(
            values=self.sums / np.maximum(self.counts, 1.0),
            is_known=self.counts > 0.0,
            pending=pending,
            reward_range=reward_range,
        )
        counts = self.counts + pending
        steps = self.steps + pending.sum(axis=1)
        return self._replace(counts=counts, sums=means * counts, steps=steps)


class SlidingWindowUCBPolicy(IndexPolicy):
    """Chooses the largest upper confidence bound of averages over the last steps.

        A_t = argmax_a Q(a) + sqrt(xi ln min(t, window) / N(a))

    Q is the mean reward of the action in the last `window` steps, and N how often they chose it.
    Actions that these steps did not choose come first. A step in the window takes 9 bytes a row,
    or 10 if there are more than 256 actions.

    Args:
        window: the number of steps. For c changes in T steps, 2 sqrt(T ln T / c) fits.
        xi: how much it explores, above 0; multiply it by b^2 for rewards from 0 to b.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Moulines (2011).

    >>> from bandit_envs import KArmedTestbed
    >>> SlidingWindowUCBPolicy(100, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    can_count_pending = True

    def __init__(
        self, window: int, xi: float = 0.5, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._window = check_integer("window", window, minimum=1, maximum=2**31)
        self._xi = check_positive("xi", xi, 1e-9, MAX_PARAMETER)
        super().__init__(**options)

    def _initial(self) -> RecentSteps:
        shape = (self.batch_size, self._window)
        actions = np.zeros(shape, np.min_scalar_type(self.num_actions - 1))
        counts = np.zeros(self._table_shape)
        sums = np.zeros(self._table_shape)
        steps = np.zeros(self.batch_size, np.intp)
        return RecentSteps(actions, np.zeros(shape), counts, sums, steps)

    def _scores(self, learned: RecentSteps, time_step: TimeStep) -> Floats:
        t = np.minimum(learned.steps + 1, self._window)
        level = self._xi * np.log(np.maximum(t, 2))[:, np.newaxis]
        inverses = 1.0 / np.maximum(learned.counts, 1.0)
        bounds = np.sqrt(level * inverses)
        inverses *= learned.sums
        bounds += inverses
        bounds[learned.counts == 0.0] = np.inf
        return bounds

    def _learn(self, learned: RecentSteps, trajectory: Trajectory) -> RecentSteps:
        counts = learned.counts.reshape(-1)
        sums = learned.sums.reshape(-1)
        actions = learned.actions.reshape(-1)
        rewards = learned.rewards.reshape(-1)
        column = learned.steps % self._window
        place = np.arange(self.batch_size) * self._window + column

        # What stands there is forgotten. At first, it is a reward of 0 for no step.
        oldest = self._row_offsets + actions.take(place)
        counts[oldest] -= learned.steps >= self._window
        sums[oldest] -= rewards.take(place)

        chosen = self._row_offsets + trajectory.action
        counts[chosen] += 1.0
        sums[chosen] += trajectory.reward
        actions[place] = trajectory.action
        rewards[place] = trajectory.reward
        is_last = column == self._window - 1
        if is_last.any():
            self._add_up(learned, np.flatnonzero(is_last))
        return learned._replace(steps=learned.steps + 1)

    def _add_up(self, learned: RecentSteps, rows: Indices) -> None:
        """Adds up the window of some rows anew, as subtraction leaves rounding errors."""
        places = self._row_offsets[rows, np.newaxis] + learned.actions[rows]
        weights = learned.rewards[rows].reshape(-1)
        totals = np.bincount(places.reshape(-1), weights, learned.sums.size)
        learned.sums[rows] = totals.reshape(self._table_shape)[rows]
