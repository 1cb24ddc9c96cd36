"""Upper-confidence-bound action selection."""

from __future__ import annotations

import math
import typing

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_positive
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Sizes
from bandit_envs.trajectories import TimeStep, Trajectory


class ConfidenceBounds(typing.NamedTuple):
    """Q, N and 1 / sqrt(N), each [B, K] and updated in place, and the steps so far."""

    values: Floats
    counts: NDArray[np.int64]
    widths: Floats
    steps: int


class UCBPolicy(IndexPolicy):
    """Chooses the action with the largest upper confidence bound.

        A_t = argmax_a Q_t(a) + c * sqrt(ln t / N_t(a))

    Q is the sample average. Actions never chosen come first.

    Source: Sutton & Barto, 2nd ed., section 2.7, equation 2.10.

    >>> from bandit_envs import KArmedTestbed
    >>> UCBPolicy(2.0, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, c: float, **sizes: typing.Unpack[Sizes]) -> None:
        self._c = check_positive("c", c, maximum=MAX_PARAMETER)
        super().__init__(**sizes)

    def _initial(self) -> ConfidenceBounds:
        shape = self._table_shape
        return ConfidenceBounds(np.zeros(shape), np.zeros(shape, int), np.full(shape, np.inf), 0)

    def _scores(self, learned: ConfidenceBounds, time_step: TimeStep) -> Floats:
        # At the first step every bound is infinite, whatever the factor, as long as it is not 0.
        t = max(learned.steps + 1, 2)
        bounds = learned.widths * (self._c * math.sqrt(math.log(t)))
        bounds += learned.values
        return bounds

    def _learn(self, learned: ConfidenceBounds, trajectory: Trajectory) -> ConfidenceBounds:
        chosen = self._row_offsets + trajectory.action
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        n = counts.take(chosen) + 1
        q = values.take(chosen)
        values[chosen], counts[chosen] = q + (trajectory.reward - q) / n, n
        learned.widths.reshape(-1)[chosen] = 1.0 / np.sqrt(n)
        return learned._replace(steps=learned.steps + 1)
