"""Thompson sampling with normal posteriors or with Beta posteriors."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive
from bandit_envs.policies.arms.beta_policy import BetaPolicy
from bandit_envs.policies.arms.thompson_sampling_policy import ThompsonSamplingPolicy
from bandit_envs.policies.beliefs import Beliefs, beta_beliefs, normal_beliefs
from bandit_envs.policies.beta_counts import BetaCounts
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.learned import Warm, mean_of_known, spread_of_known
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class NormalPosteriors(NamedTuple):
    """Means [B, K] and standard deviations [B, K] of the values of actions, updated in place."""

    mean: Floats
    std: Floats

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the actions from `known` on, which have the prior, warm; in place."""
        prior_mean = float(self.mean[0, known])
        prior_std = float(self.std[0, known])
        prior = prior_std**-2.0
        precision = self.std[:, :known] ** -2.0
        seen = precision > prior * (1.0 + 1e-9)
        if warm == "mean":
            start = mean_of_known(self.mean[:, :known], seen, prior_mean)
            self.mean[:, known:] = start[:, np.newaxis]
            return
        of_rewards = np.where(seen, precision - prior, 1.0)
        sums = precision * self.mean[:, :known] - prior * prior_mean
        spread = spread_of_known(sums / of_rewards, 1.0 / of_rewards, seen)
        rows = np.flatnonzero(seen.sum(axis=1) >= 2)
        self.mean[rows, known:] = spread.mean[rows, np.newaxis]
        std = np.sqrt(np.minimum(spread.variance, prior_std**2))
        self.std[rows, known:] = std[rows, np.newaxis]


class GaussianThompsonSamplingPolicy(ThompsonSamplingPolicy):
    """Draws a value for every action from its posterior and chooses the largest.

        prior      q(a) ~ N(prior_mean, prior_std^2),    R ~ N(q(A), reward_std^2)
        precision  tau(a) += 1 / reward_std^2            of the posterior of the action chosen
        mean       mu(a)  += (R - mu(a)) / (reward_std^2 * tau(a))

    Args:
        prior_mean: the mean of the prior of every action's value.
        prior_std: the standard deviation of that prior, above 0.
        reward_std: the standard deviation of rewards around the value, above 0.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

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
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._prior_mean = check_number("prior_mean", prior_mean, -MAX_PARAMETER, MAX_PARAMETER)
        self._prior_std = check_positive("prior_std", prior_std, MIN_STD, MAX_PARAMETER)
        self._reward_std = check_positive("reward_std", reward_std, MIN_STD, MAX_PARAMETER)
        self._reward_precision = self._reward_std**-2
        super().__init__(**options)

    def _initial(self) -> NormalPosteriors:
        mean = np.full(self._table_shape, self._prior_mean)
        return NormalPosteriors(mean, np.full(self._table_shape, self._prior_std))

    def _draw_values(self, rng: Rng, learned: NormalPosteriors, time_step: TimeStep) -> Floats:
        return draw_normal(rng, learned.mean, learned.std)

    def _learn(self, learned: NormalPosteriors, trajectory: Trajectory) -> NormalPosteriors:
        mean = learned.mean.reshape(-1)
        std = learned.std.reshape(-1)
        chosen = self._row_offsets + trajectory.action
        precision = std[chosen] ** -2.0 + self._reward_precision
        mean[chosen] += (trajectory.reward - mean[chosen]) * (self._reward_precision / precision)
        std[chosen] = precision**-0.5
        return learned

    def _describe(self, learned: NormalPosteriors) -> Beliefs:
        return normal_beliefs(learned.mean, learned.std)


class BetaThompsonSamplingPolicy(ThompsonSamplingPolicy, BetaPolicy):
    """Draws a success probability for every action from its posterior and chooses the largest.

        prior      p(a) ~ Beta(prior_successes, prior_failures)
        posterior  successes += R,  failures += 1 - R    of the action chosen
        A_t = argmax_a p(a),    p(a) ~ Beta(successes(a), failures(a))

    Rewards are numbers from 0 to 1; those between count as a part of a success.

    Args:
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Thompson (1933); Chapelle & Li (2011).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> BetaThompsonSamplingPolicy(num_actions=2).action(env.reset()).shape
    (1,)
    """

    def _draw_values(self, rng: Rng, learned: BetaCounts, time_step: TimeStep) -> Floats:
        return rng.beta(learned.successes, learned.failures)


class DiscountedThompsonSamplingPolicy(BetaThompsonSamplingPolicy):
    """Thompson sampling with Beta posteriors that forget, for rewards whose laws change.

        successes = prior_successes + S(a),    S(a) = gamma S(a) + 1[a = A] R
        failures  = prior_failures + F(a),     F(a) = gamma F(a) + 1[a = A] (1 - R)

    Args:
        gamma: the weight of what was seen a step before, above 0 and at most 1.
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Raj & Kalyani, Taming Non-stationary Bandits: A Bayesian Approach (2017).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> DiscountedThompsonSamplingPolicy(0.99, num_actions=2).action(env.reset()).shape
    (1,)
    """

    def __init__(
        self,
        gamma: float,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._gamma = check_positive("gamma", gamma, maximum=1.0)
        super().__init__(prior_successes, prior_failures, **options)

    def _learn(self, learned: BetaCounts, trajectory: Trajectory) -> Any:
        learned.decay(self._gamma, self._prior_successes, self._prior_failures)
        return super()._learn(learned, trajectory)

    def _describe(self, learned: BetaCounts) -> Beliefs:
        return beta_beliefs(learned, None)
