"""Bayes-UCB: quantiles of Beta posteriors as upper confidence bounds."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.policies.beta import BetaPolicy
from bandit_envs.policies.beta_quantiles import beta_quantiles, log_beta
from bandit_envs.policies.policy import Floats, IndexPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class Quantiles(typing.NamedTuple):
    """The posteriors and their quantiles, [B, K] and updated in place, and the steps so far.

    Fields:
        successes: the first parameter of the posterior.
        failures: the second one.
        log_betas: ln B(successes, failures).
        log_odds: ln(q / (1 - q)) of the quantile q.
        slopes: how fast the log odds rise with ln t.
        steps: the number of steps.
    """

    successes: Floats
    failures: Floats
    log_betas: Floats
    log_odds: Floats
    slopes: Floats
    steps: int


class BayesUCBPolicy(IndexPolicy, BetaPolicy):
    """Chooses the action whose posterior has the largest quantile.

        A_t = argmax_a q(1 - 1 / t, Beta(prior_successes + S(a), prior_failures + F(a)))

    Here q(p, law) is the quantile of p, S the sum of the action's rewards and F that of 1 - R.
    Rewards are numbers from 0 to 1. The quantiles are exact to 1e-9.

    Args:
        prior_successes, prior_failures: as for `BetaPolicy`.

    Source: Kaufmann, Cappé & Garivier (2012), algorithm 1, without its factor (ln T)^c.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> BayesUCBPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _initial(self) -> Quantiles:
        successes, failures = super()._initial()
        log_betas = log_beta(successes, failures)
        log_odds, slopes = np.zeros((2, *self._table_shape))  # at first, all quantiles are 0
        return Quantiles(successes, failures, log_betas, log_odds, slopes, 0)

    def _scores(self, learned: Quantiles, time_step: TimeStep) -> Floats:
        return learned.log_odds

    def _learn(self, learned: Quantiles, trajectory: Trajectory) -> Quantiles:
        super()._learn(learned, trajectory)
        chosen = self._row_offsets + trajectory.action
        a, b, log_b, log_odds, slopes = (table.reshape(-1) for table in learned[:5])
        log_b[chosen] = log_beta(a[chosen], b[chosen])
        t = learned.steps + 2
        near = log_odds + slopes * math.log(t / (t - 1))
        log_odds[...], slopes[...] = beta_quantiles(-math.log(t), a, b, log_b, near)
        return learned._replace(steps=learned.steps + 1)
