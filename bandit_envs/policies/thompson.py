"""Thompson sampling with Beta or normal posteriors, and the greedy policy of Beta posteriors."""

from __future__ import annotations

import abc
import typing

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive
from bandit_envs.policies.beta_laws import draw_beta_odds
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.index_policy import IndexPolicy
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


class BetaPosterior(typing.NamedTuple):
    """The parameters of the posteriors, each [B, K] and updated in place."""

    successes: Floats
    failures: Floats


class BetaPolicy(Policy):
    """A policy with Beta posteriors of the success probability of every action.

        prior      p(a) ~ Beta(prior_successes, prior_failures)
        posterior  successes += R,  failures += 1 - R    of the action chosen

    Rewards are numbers from 0 to 1; those between count as a part of a success.
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **sizes: typing.Unpack[Sizes],
    ) -> None:
        self._prior_successes = check_number("prior_successes", prior_successes, 0.1, 1e6)
        self._prior_failures = check_number("prior_failures", prior_failures, 0.1, 1e6)
        super().__init__(**sizes)

    def _initial(self) -> typing.Any:
        shape = self._table_shape
        return BetaPosterior(
            np.full(shape, self._prior_successes), np.full(shape, self._prior_failures)
        )

    def _learn(self, learned: typing.Any, trajectory: Trajectory) -> typing.Any:
        chosen = self._row_offsets + trajectory.action
        learned.successes.reshape(-1)[chosen] += trajectory.reward
        learned.failures.reshape(-1)[chosen] += 1.0 - trajectory.reward
        return learned


class BetaThompsonSamplingPolicy(BetaPolicy):
    """Draws a success probability for every action from its posterior and chooses the largest.

        A_t = argmax_a p(a),    p(a) ~ Beta(successes(a), failures(a))

    Source: Thompson (1933); Chapelle & Li (2011).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> BetaThompsonSamplingPolicy(num_actions=2).action(env.reset()).shape
    (1,)
    """

    def _select(self, rng: Rng, learned: BetaPosterior, time_step: TimeStep) -> Actions:
        # The largest odds p / (1 - p) belong to the largest p.
        odds = draw_beta_odds(rng, learned.successes, learned.failures)
        available = self._available(time_step.observation)
        if available is not None:
            odds[~available] = -1.0
        return np.asarray(odds.argmax(axis=1))  # continuous draws do not tie


class BetaGreedyPolicy(IndexPolicy, BetaPolicy):
    """Chooses the action with the largest posterior mean.

        A_t = argmax_a successes(a) / (successes(a) + failures(a))

    Source: Russo et al., A Tutorial on Thompson Sampling (2018), section 3.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> BetaGreedyPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _scores(self, learned: BetaPosterior, time_step: TimeStep) -> Floats:
        return np.asarray(learned.successes / (learned.successes + learned.failures))


class DiscountedThompsonSamplingPolicy(BetaThompsonSamplingPolicy):
    """Thompson sampling with Beta posteriors that forget, for rewards whose laws change.

        successes = prior_successes + S(a),    S(a) = gamma S(a) + 1[a = A] R
        failures  = prior_failures + F(a),     F(a) = gamma F(a) + 1[a = A] (1 - R)

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
        **sizes: typing.Unpack[Sizes],
    ) -> None:
        self._gamma = check_positive("gamma", gamma, maximum=1.0)
        super().__init__(prior_successes, prior_failures, **sizes)

    def _learn(self, learned: BetaPosterior, trajectory: Trajectory) -> typing.Any:
        successes, failures = learned
        successes *= self._gamma
        successes += (1.0 - self._gamma) * self._prior_successes
        failures *= self._gamma
        failures += (1.0 - self._gamma) * self._prior_failures
        return super()._learn(learned, trajectory)
