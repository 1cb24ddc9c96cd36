"""Action-value methods: greedy and epsilon-greedy, with a constant epsilon and with 1 / t."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_positive
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Actions, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class ActionValues(typing.NamedTuple):
    """Estimated values, and the greedy action of each row; updated in place."""

    values: Floats  # Q, [B, K]
    counts: Floats  # N, how often each action was chosen, [B, K]
    greedy: NDArray[np.intp]  # the action with the largest value, [B]; -1 if several have it
    rivals: Floats  # an upper bound of the other actions' values, [B]; -inf if several have it


class EpsilonGreedyPolicy(IndexPolicy):
    """Chooses the action with the largest estimated value, or with probability epsilon any action.

        A_t = argmax_a Q(a)    with probability 1 - epsilon
        Q(a) += alpha * (R - Q(a)),    alpha = 1 / N(a)  or  step_size

    With epsilon 0 the policy is greedy; with a large initial value as well, it is optimistic.

    Args:
        initial_value: Q of an action before its first reward.
        step_size: alpha, above 0 and at most 1; None for the sample average.

    Source: Sutton & Barto, 2nd ed., sections 2.2 to 2.6.

    >>> from bandit_envs import KArmedTestbed
    >>> EpsilonGreedyPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(
        self,
        epsilon: float,
        initial_value: float = 0.0,
        step_size: float | None = None,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        bounds = -MAX_PARAMETER, MAX_PARAMETER
        self._initial_value = check_number("initial_value", initial_value, *bounds)
        if step_size is not None:
            step_size = check_positive("step_size", step_size, maximum=1.0)
        self._step_size = step_size
        super().__init__(**options)

    def _initial(self) -> ActionValues:
        values = np.full(self._table_shape, self._initial_value)
        greedy, rivals = np.full(self.batch_size, -1), np.full(self.batch_size, -np.inf)
        return ActionValues(values, np.zeros(self._table_shape), greedy, rivals)

    def _scores(self, learned: ActionValues, time_step: TimeStep) -> Floats:
        return learned.values

    def _best(self, rng: Rng, learned: Any, time_step: TimeStep, available: Mask | None) -> Actions:
        if available is not None:
            return super()._best(rng, learned, time_step, available)
        actions: Actions = learned.greedy
        tied = (actions < 0).nonzero()[0]
        if tied.size:
            actions = actions.copy()
            actions[tied] = argmax_random_ties(rng, learned.values[tied])
        return actions

    def _learn(self, learned: ActionValues, trajectory: Trajectory) -> ActionValues:
        greedy, rivals = learned.greedy, learned.rivals
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        chosen = self._row_offsets + trajectory.action
        n = counts.take(chosen) + 1.0
        q = values.take(chosen)
        error = trajectory.reward.astype(np.float64) - q
        q += error / n if self._step_size is None else error * self._step_size
        values[chosen], counts[chosen] = q, n
        # In these rows, another action may now have the largest value, or several may have it.
        rows = ((q <= rivals) == (trajectory.action == greedy)).nonzero()[0]
        if rows.size:
            row_values, offsets = learned.values.take(rows, axis=0), self._row_offsets[: rows.size]
            best, flat = row_values.argmax(axis=1), row_values.reshape(-1)
            places = offsets + best
            largest = flat.take(places)
            flat[places] = -np.inf
            second = flat.take(offsets + row_values.argmax(axis=1))
            tied = second == largest
            best[tied], second[tied] = -1, -np.inf
            greedy[rows], rivals[rows] = best, second
        return learned


class DecayingEpsilonGreedyPolicy(EpsilonGreedyPolicy):
    """Chooses as epsilon-greedy does, with an epsilon that falls.

        epsilon_t = min(1, c K / (d^2 t))

    t - 1 is the number of rewards that the row has learned from. With c large enough, and d at most
    the gap between the best and the second-best action, its regret is logarithmic.

    Source: Auer, Cesa-Bianchi & Fischer (2002), there epsilon_n-greedy.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = DecayingEpsilonGreedyPolicy(0.1, 0.8, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, c: float, d: float, **options: typing.Unpack[PolicyOptions]) -> None:
        c, d = check_positive("c", c, maximum=MAX_PARAMETER), check_positive("d", d, 1e-9, 1.0)
        super().__init__(0.0, **options)
        self._first_epsilon = c * self.num_actions / d**2

    def _exploration(self, learned: ActionValues) -> Floats:
        t = learned.counts @ np.ones(self.num_actions) + 1.0
        return np.minimum(1.0, self._first_epsilon / t)
