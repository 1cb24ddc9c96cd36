"""Boltzmann exploration."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.policy import Floats, Policy, Sizes
from bandit_envs.trajectories import TimeStep, Trajectory


class SampleAverages(typing.NamedTuple):
    """Q and N, [B, K] and updated in place."""

    values: Floats
    counts: Floats


class BoltzmannPolicy(Policy):
    """Draws actions from a softmax of their average rewards.

        pi(a) = exp(Q(a) / temperature) / sum_b exp(Q(b) / temperature)

    Q is the sample average, and 0 before the first reward.

    Args:
        temperature: from 1e-37 to 1e37; the lower, the greedier.

    Source: Cesa-Bianchi, Gentile, Lugosi & Neu, Boltzmann Exploration Done Right (2017).

    >>> from bandit_envs import KArmedTestbed
    >>> BoltzmannPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, temperature: float, **sizes: typing.Unpack[Sizes]) -> None:
        self._temperature = check_positive("temperature", temperature, MIN_STD, MAX_PARAMETER)
        super().__init__(**sizes)

    def _initial(self) -> SampleAverages:
        return SampleAverages(np.zeros(self._table_shape), np.zeros(self._table_shape))

    def _probabilities(self, learned: SampleAverages, time_step: TimeStep) -> Floats:
        values = learned.values
        weights: Floats = values - values.max(axis=1, keepdims=True)
        weights *= 1.0 / self._temperature
        np.exp(weights, out=weights)
        weights /= weights @ np.ones((self._num_actions, 1))
        return weights

    def _learn(self, learned: SampleAverages, trajectory: Trajectory) -> SampleAverages:
        chosen = self._row_offsets + trajectory.action
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        n, value = counts.take(chosen) + 1.0, values.take(chosen)
        values[chosen], counts[chosen] = value + (trajectory.reward - value) / n, n
        return learned
