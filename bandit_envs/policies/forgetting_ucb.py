"""Upper confidence bounds that forget, for rewards whose laws change."""

from __future__ import annotations

import math
import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_positive
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Sizes
from bandit_envs.trajectories import TimeStep, Trajectory

NEVER = 1e250  # 1 / N of an action never chosen, or so long ago that N is 0 but for rounding


class Discounted(typing.NamedTuple):
    """Discounted statistics: the mean and 1 / N, [B, K] and updated in place; n, the sum of N."""

    values: Floats
    inverses: Floats
    total: float


class DiscountedUCBPolicy(IndexPolicy):
    """Chooses the largest upper confidence bound of discounted averages.

        N_t(a) = sum_{s<t} gamma^(t-1-s) 1[A_s = a],    n_t = sum_a N_t(a)
        Q_t(a) = sum_{s<t} gamma^(t-1-s) 1[A_s = a] R_s / N_t(a)
        A_t    = argmax_a Q_t(a) + 2 sqrt(xi ln n_t / N_t(a))

    Actions never chosen come first.

    Args:
        gamma: above 0, at most 1. For c changes in T steps, 1 - sqrt(c / T) / 4 fits.
        xi: how much it explores, above 0; multiply it by b^2 for rewards from 0 to b.

    Source: Garivier & Moulines (2011).

    >>> from bandit_envs import KArmedTestbed
    >>> DiscountedUCBPolicy(0.99, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, gamma: float, xi: float = 0.5, **sizes: typing.Unpack[Sizes]) -> None:
        self._gamma = check_positive("gamma", gamma, 1e-9, 1.0)
        self._xi = check_positive("xi", xi, 1e-9, MAX_PARAMETER)
        super().__init__(**sizes)

    def _initial(self) -> Discounted:
        shape = self._table_shape
        return Discounted(np.zeros(shape), np.full(shape, NEVER), 0.0)

    def _scores(self, learned: Discounted, time_step: TimeStep) -> Floats:
        # n is 1 at the second step only; as long as its logarithm is not 0, untried actions lead.
        bounds = learned.inverses * (4.0 * self._xi * math.log(max(learned.total, 1.0001)))
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds

    def _learn(self, learned: Discounted, trajectory: Trajectory) -> Discounted:
        chosen = self._row_offsets + trajectory.action
        values, inverses = learned.values.reshape(-1), learned.inverses.reshape(-1)
        inverses *= 1.0 / self._gamma
        np.minimum(inverses, NEVER, out=inverses)
        inverse = 1.0 / (1.0 + 1.0 / inverses.take(chosen))
        value = values.take(chosen)
        values[chosen], inverses[chosen] = value + (trajectory.reward - value) * inverse, inverse
        return learned._replace(total=self._gamma * learned.total + 1.0)


class Window(typing.NamedTuple):
    """What the last steps were, updated in place, and the number of all steps."""

    actions: NDArray[Any]  # of the last steps, [window, B]; step t is in row t modulo the window
    rewards: Floats  # of these, [window, B]
    counts: Floats  # how often the window holds each action, [B, K]
    sums: Floats  # of the rewards of each action, [B, K]
    steps: int


class SlidingWindowUCBPolicy(IndexPolicy):
    """Chooses the largest upper confidence bound of averages over the last steps.

        A_t = argmax_a Q(a) + sqrt(xi ln min(t, window) / N(a))

    Q is the mean reward of the action in the last `window` steps, and N how often they chose it.
    Actions that these steps did not choose come first. A step in the window takes 9 bytes a row,
    or 10 if there are more than 256 actions.

    Args:
        window: the number of steps. For c changes in T steps, 2 sqrt(T ln T / c) fits.
        xi: as in `DiscountedUCBPolicy`.

    Source: Garivier & Moulines (2011).

    >>> from bandit_envs import KArmedTestbed
    >>> SlidingWindowUCBPolicy(100, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    learns_by_row = False  # all rows share the places in the window

    def __init__(self, window: int, xi: float = 0.5, **sizes: typing.Unpack[Sizes]) -> None:
        self._window = check_integer("window", window, minimum=1, maximum=2**31)
        self._xi = check_positive("xi", xi, 1e-9, MAX_PARAMETER)
        super().__init__(**sizes)

    def _initial(self) -> Window:
        shape = self._window, self.batch_size
        actions = np.zeros(shape, np.min_scalar_type(self.num_actions - 1))
        counts, sums = np.zeros((2, *self._table_shape))
        return Window(actions, np.zeros(shape), counts, sums, 0)

    def _scores(self, learned: Window, time_step: TimeStep) -> Floats:
        level = self._xi * math.log(max(min(learned.steps + 1, self._window), 2))
        inverses = 1.0 / np.maximum(learned.counts, 1.0)
        bounds = np.sqrt(level * inverses)
        inverses *= learned.sums
        bounds += inverses
        bounds[learned.counts == 0.0] = np.inf
        return bounds

    def _learn(self, learned: Window, trajectory: Trajectory) -> Window:
        actions, rewards, *tables, steps = learned
        counts, sums = (table.reshape(-1) for table in tables)
        place = steps % self._window
        if steps >= self._window:
            oldest = self._row_offsets + actions[place]
            counts[oldest] -= 1.0
            sums[oldest] -= rewards[place]
        actions[place], rewards[place] = trajectory.action, trajectory.reward
        chosen = self._row_offsets + trajectory.action
        counts[chosen] += 1.0
        sums[chosen] += rewards[place]
        if place == self._window - 1:  # subtraction leaves rounding errors
            places = (self._row_offsets + actions).reshape(-1)
            sums[:] = np.bincount(places, rewards.reshape(-1), len(sums))
        return learned._replace(steps=steps + 1)
