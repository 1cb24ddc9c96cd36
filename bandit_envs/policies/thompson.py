"""Thompson sampling with normal posteriors."""

from __future__ import annotations

import abc
import typing

import numpy as np

from bandit_envs.base.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.policy import Actions, Policy, Sizes
from bandit_envs.trajectories import TimeStep, Trajectory


class NormalThompsonSamplingPolicy(Policy):
    """Draws a value for every action from a normal posterior and chooses the largest."""

    @abc.abstractmethod
    def _posterior(self, learned: typing.Any, time_step: TimeStep) -> tuple[Floats, Floats]:
        """Returns the means and standard deviations of the values of all actions: [B, K] each."""

    def _select(self, rng: Rng, learned: typing.Any, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        mean, std = self._posterior(learned, time_step)
        values = rng.standard_normal(self._table_shape)
        values *= std
        values += mean
        return argmax_random_ties(rng, values, available)


class Posterior(typing.NamedTuple):
    """Means [B, K] and standard deviations [B, K] of the arm values, updated in place."""

    mean: Floats
    std: Floats


class GaussianThompsonSamplingPolicy(NormalThompsonSamplingPolicy):
    """Draws a value for every action from its posterior and chooses the largest.

        prior      q(a) ~ N(prior_mean, prior_std^2),    R ~ N(q(A), reward_std^2)
        precision  tau(a) += 1 / reward_std^2            of the posterior of the action chosen
        mean       mu(a)  += (R - mu(a)) / (reward_std^2 * tau(a))

    Source: Russo et al., A Tutorial on Thompson Sampling (2018), section 3, with the conjugate
    update of a normal mean of known variance.

    >>> from bandit_envs import KArmedTestbed
    >>> GaussianThompsonSamplingPolicy(num_actions=10).action(KArmedTestbed().reset()).shape
    (1,)
    """

    def __init__(
        self,
        prior_mean: float = 0.0,
        prior_std: float = 1.0,
        reward_std: float = 1.0,
        **sizes: typing.Unpack[Sizes],
    ) -> None:
        self._prior_mean = check_number("prior_mean", prior_mean, -MAX_PARAMETER, MAX_PARAMETER)
        self._prior_std = check_positive("prior_std", prior_std, MIN_STD, MAX_PARAMETER)
        reward_std = check_positive("reward_std", reward_std, MIN_STD, MAX_PARAMETER)
        self._reward_precision = reward_std**-2
        super().__init__(**sizes)

    def _initial(self) -> Posterior:
        shape = self._table_shape
        return Posterior(np.full(shape, self._prior_mean), np.full(shape, self._prior_std))

    def _posterior(self, learned: Posterior, time_step: TimeStep) -> Posterior:
        return learned

    def _learn(self, learned: Posterior, trajectory: Trajectory) -> Posterior:
        mean, std = learned.mean.reshape(-1), learned.std.reshape(-1)
        chosen = self._row_offsets + trajectory.action
        precision = std[chosen] ** -2.0 + self._reward_precision
        mean[chosen] += (trajectory.reward - mean[chosen]) * (self._reward_precision / precision)
        std[chosen] = precision**-0.5
        return learned
