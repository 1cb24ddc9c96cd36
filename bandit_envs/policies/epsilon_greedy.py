"""Action-value methods: greedy and epsilon-greedy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number, check_positive
from bandit_envs.policies.policy import Policy, argmax_random_ties
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep, Trajectory


class ActionValues(NamedTuple):
    """Estimated values Q [B, K] and how often each action was chosen, N [B, K]."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]


class EpsilonGreedyPolicy(Policy):
    """Chooses the action with the largest estimated value, or with probability epsilon any action.

        Q(a) += alpha * (R - Q(a)),    alpha = 1 / N(a)  or  step_size

    Ties are broken uniformly at random. With epsilon 0 the policy is greedy; with a large initial
    value besides, it is optimistic. Every row learns by itself.

    Args:
        epsilon: probability of a uniformly random action.
        initial_value: Q of an action before its first reward.
        step_size: alpha; None for the sample average.
        num_actions: K, the number of actions.
        batch_size: B, the number of rows.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: `epsilon` is not from 0 to 1, `step_size` not above 0 and at most 1, an integer
            less than 1, or a number not finite.

    Source: Sutton & Barto, 2nd ed., sections 2.2 to 2.6.

    >>> from bandit_envs import KArmedTestbed
    >>> policy = EpsilonGreedyPolicy(0.1, num_actions=10, batch_size=3, seed=0)
    >>> policy.action(KArmedTestbed(batch_size=3).reset()).shape
    (3,)
    """

    def __init__(
        self,
        epsilon: float,
        initial_value: float = 0.0,
        step_size: float | None = None,
        *,
        num_actions: int,
        batch_size: int = 1,
        seed: Seed = None,
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        self._initial_value = check_number("initial_value", initial_value)
        if step_size is not None:
            step_size = check_positive("step_size", step_size, maximum=1.0)
        self._step_size = step_size
        super().__init__(num_actions, batch_size, seed)

    def _initial(self) -> ActionValues:
        shape = (self._batch_size, self._num_actions)
        return ActionValues(np.full(shape, self._initial_value), np.zeros(shape, np.int64))

    def _select(
        self, rng: np.random.Generator, learned: ActionValues, time_step: TimeStep
    ) -> NDArray[np.integer]:
        actions = argmax_random_ties(rng, learned.values)
        if self._epsilon > 0.0:
            explores = np.flatnonzero(rng.random(self._batch_size) < self._epsilon)
            actions[explores] = rng.integers(self._num_actions, size=len(explores))
        return actions

    def _learn(self, learned: ActionValues, trajectory: Trajectory) -> ActionValues:
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        chosen = self._row_offsets + trajectory.action
        n = counts.take(chosen) + 1
        q = values.take(chosen)
        alpha = 1.0 / n if self._step_size is None else self._step_size
        values[chosen] = q + alpha * (trajectory.reward - q)
        counts[chosen] = n
        return learned
