"""Boltzmann exploration."""

from __future__ import annotations

import typing

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.arms.averages import Averages, AveragesPolicy
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep


class BoltzmannPolicy(AveragesPolicy):
    """Draws actions from a softmax of their average rewards.

        pi(a) = exp(Q(a) / temperature) / sum_b exp(Q(b) / temperature)

    Q is the sample average, and 0 before the first reward.

    Args:
        temperature: above 0; the lower it is, the greedier the policy.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Cesa-Bianchi, Gentile, Lugosi & Neu, Boltzmann Exploration Done Right (2017).

    >>> from bandit_envs import KArmedTestbed
    >>> BoltzmannPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, temperature: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._temperature = check_positive("temperature", temperature, MIN_STD, MAX_PARAMETER)
        super().__init__(**options)

    def _probabilities(self, learned: Averages, time_step: TimeStep) -> Floats:
        return softmax(learned.values, 1.0 / self._temperature)
