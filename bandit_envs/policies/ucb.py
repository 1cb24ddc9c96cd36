"""Upper-confidence-bound action selection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import MAX_PARAMETER, check_positive
from bandit_envs.base.state import Seed
from bandit_envs.policies.policy import IndexPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class ConfidenceBounds(NamedTuple):
    """Values Q [B, K], choices N [B, K], 1 / sqrt(N) [B, K], and the steps so far."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    widths: NDArray[np.float64]
    steps: int


class UCBPolicy(IndexPolicy):
    """Chooses the action with the largest upper confidence bound.

        A_t = argmax_a Q_t(a) + c * sqrt(ln t / N_t(a))

    Q is the sample average. Actions never chosen come first; ties are broken uniformly at random.
    Every row learns by itself.

    Args:
        c: width of the confidence bound, above 0.

    Source: Sutton & Barto, 2nd ed., section 2.7, equation 2.10.

    >>> from bandit_envs import KArmedTestbed
    >>> policy = UCBPolicy(2.0, num_actions=10, batch_size=3, seed=0)
    >>> policy.action(KArmedTestbed(batch_size=3).reset()).shape
    (3,)
    """

    def __init__(
        self, c: float, *, num_actions: int, batch_size: int = 1, seed: Seed = None
    ) -> None:
        self._c = check_positive("c", c, maximum=MAX_PARAMETER)
        super().__init__(num_actions, batch_size, seed)

    def _initial(self) -> ConfidenceBounds:
        shape = (self._batch_size, self._num_actions)
        return ConfidenceBounds(np.zeros(shape), np.zeros(shape, int), np.full(shape, np.inf), 0)

    def _scores(self, learned: ConfidenceBounds, time_step: TimeStep) -> NDArray[np.float64]:
        # At the first step every bound is infinite, whatever the factor, as long as it is not 0.
        t = max(learned.steps + 1, 2)
        bounds = learned.widths * (self._c * math.sqrt(math.log(t)))
        bounds += learned.values
        return bounds

    def _learn(self, learned: ConfidenceBounds, trajectory: Trajectory) -> ConfidenceBounds:
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        chosen = self._row_offsets + trajectory.action
        n = counts.take(chosen) + 1
        q = values.take(chosen)
        values[chosen] = q + (trajectory.reward - q) / n
        counts[chosen] = n
        learned.widths.reshape(-1)[chosen] = 1.0 / np.sqrt(n)
        return learned._replace(steps=learned.steps + 1)
