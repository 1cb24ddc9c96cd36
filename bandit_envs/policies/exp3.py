"""Exponential weights for adversarial rewards: Exp3 and Exp3.S."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.base.arrays import Floats
from bandit_envs.base.checks import check_positive
from bandit_envs.policies.policy import Policy, Sizes
from bandit_envs.trajectories import TimeStep, Trajectory


class Exp3Policy(Policy):
    """Draws actions by exponential weights of estimated rewards, mixed with uniform exploration.

        pi(a) = (1 - gamma) w(a) / sum_b w(b) + gamma / K
        w(A) *= exp(gamma R / (K pi(A)))

    Rewards are numbers from 0 to 1, and may be chosen by an adversary.

    Source: Auer, Cesa-Bianchi, Freund & Schapire (2002).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> Exp3Policy(0.1, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0
    _shared = 1e-300  # what every weight gets at a step; this little only keeps it above 0

    def __init__(self, gamma: float, **sizes: typing.Unpack[Sizes]) -> None:
        self._gamma = check_positive("gamma", gamma, maximum=1.0)
        super().__init__(**sizes)

    def _initial(self) -> Floats:
        """Returns the weights, whose sum in every row is 1; updated in place."""
        return np.full(self._table_shape, 1.0 / self._num_actions)

    def _probabilities(self, learned: Floats, time_step: TimeStep) -> Floats:
        return (1.0 - self._gamma) * learned + self._gamma / self._num_actions

    def _learn(self, learned: Floats, trajectory: Trajectory) -> Floats:
        chosen = self._row_offsets + trajectory.action
        probabilities = (1.0 - self._gamma) * learned + self._gamma / self._num_actions
        pi = self._restricted(probabilities, trajectory.observation).reshape(-1).take(chosen)
        learned.reshape(-1)[chosen] *= np.exp(
            self._gamma / self._num_actions * trajectory.reward / pi
        )
        learned += self._shared
        learned /= learned @ np.ones((self._num_actions, 1))
        return learned


class Exp3SPolicy(Exp3Policy):
    """Exp3 that shares weight among the actions at every step, for rewards whose laws change.

        pi(a) = (1 - gamma) w(a) / sum_b w(b) + gamma / K
        w(a)  = w(a) exp(1[a = A] gamma R / (K pi(A))) + e alpha / K sum_b w(b)

    Args:
        gamma: the probability of exploring, above 0 and at most 1. For c changes in T steps,
            min(1, sqrt(K (c ln(K T) + e) / ((e - 1) T))) fits.
        alpha: how much it shares, above 0 and at most 1; 1 / T fits.

    Source: Auer, Cesa-Bianchi, Freund & Schapire (2002), figure 6.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = Exp3SPolicy(0.1, 0.001, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, gamma: float, alpha: float, **sizes: typing.Unpack[Sizes]) -> None:
        alpha = check_positive("alpha", alpha, maximum=1.0)
        super().__init__(gamma, **sizes)
        self._shared = math.e * alpha / self._num_actions
