"""Upper confidence bounds of other widths: UCB1-tuned and MOSS."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.base.checks import check_integer
from bandit_envs.policies.averages import AverageIndexPolicy, Averages
from bandit_envs.policies.policy import Floats, Sizes
from bandit_envs.trajectories import TimeStep


class UCB1TunedPolicy(AverageIndexPolicy):
    """Chooses the largest upper confidence bound, whose width follows the variance of the rewards.

        A_t = argmax_a Q(a) + sqrt(ln t / N(a) * min(1/4, V(a) + sqrt(2 ln t / N(a))))

    Q is the mean and V the variance of the action's rewards, which should be from 0 to 1: their
    variance is at most 1/4.

    Source: Auer, Cesa-Bianchi & Fischer (2002), section 4.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> UCB1TunedPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _indices(self, learned: Averages, t: int, time_step: TimeStep) -> Floats:
        ratio = learned.inverses * math.log(t)
        bounds = np.sqrt(2.0 * ratio)
        bounds += learned.variances
        np.minimum(bounds, 0.25, out=bounds)
        bounds *= ratio
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds


class MOSSPolicy(AverageIndexPolicy):
    """Chooses the largest upper confidence bound, whose width is 0 after enough choices.

        A_t = argmax_a Q(a) + sqrt(max(0, ln(T / (K N(a)))) / N(a))

    Its regret is minimax optimal up to a constant, for rewards from 0 to 1. MOSS stands for
    minimax optimal strategy in the stochastic case.

    Args:
        horizon: T, the number of steps; None if it is unknown, for the current step t.

    Source: Audibert & Bubeck, Minimax Policies for Adversarial and Stochastic Bandits (2009).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> MOSSPolicy(1000, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, horizon: int | None = None, **sizes: typing.Unpack[Sizes]) -> None:
        if horizon is not None:
            horizon = check_integer("horizon", horizon, minimum=1)
        self._horizon = horizon
        super().__init__(**sizes)

    def _indices(self, learned: Averages, t: int, time_step: TimeStep) -> Floats:
        steps = t if self._horizon is None else self._horizon
        bounds = np.log(learned.inverses * (steps / self._num_actions))
        np.maximum(bounds, 0.0, out=bounds)
        bounds *= learned.inverses
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds
