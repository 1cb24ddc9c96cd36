"""Bayes-UCB: quantiles of Beta posteriors as upper confidence bounds."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.extras import import_extra
from bandit_envs.policies.arms.beta_policy import BetaPolicy
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.beta_counts import BetaCounts
from bandit_envs.policies.learned import Warm
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class CountsAndSteps(NamedTuple):
    """Beta posteriors, and the number of rewards that each row has learned from, [B]."""

    counts: BetaCounts
    steps: Indices

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> CountsAndSteps:
        """Returns posteriors with the means of those of the rewards so far, but narrower."""
        successes, failures = self.counts
        factor = 1.0 + pending / (successes + failures)
        counts = BetaCounts(successes * factor, failures * factor)
        return CountsAndSteps(counts, self.steps + pending.sum(axis=1))

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the actions from `known` on, which have the prior, warm; in place."""
        self.counts.start_warm(known, warm)


class BayesUCBPolicy(IndexPolicy, BetaPolicy):
    """Chooses the action whose posterior has the largest quantile.

        A_t = argmax_a q(1 - 1 / t, Beta(prior_successes + S(a), prior_failures + F(a)))

    Here q(p, law) is the quantile of p, S the sum of the action's rewards and F that of 1 - R.
    Rewards are numbers from 0 to 1. The quantiles need SciPy, which the extra `cli` has.

    Args:
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Raises:
        ModuleNotFoundError: SciPy is not installed.

    Source: Kaufmann, Cappé & Garivier (2012), without the factor (ln T)^c.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> BayesUCBPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    can_count_pending = True

    def __init__(
        self,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        import_extra("scipy.special", "cli")
        super().__init__(prior_successes, prior_failures, **options)

    def _initial(self) -> CountsAndSteps:
        return CountsAndSteps(super()._initial(), np.zeros(self.batch_size, np.intp))

    def _scores(self, learned: CountsAndSteps, time_step: TimeStep) -> Floats:
        # At the first step, all quantiles of one level are equal.
        t = np.maximum(learned.steps + 1, 2)[:, np.newaxis]
        successes, failures = learned.counts
        special = import_extra("scipy.special", "cli")
        return np.asarray(special.betainccinv(successes, failures, 1.0 / t))

    def _learn(self, learned: CountsAndSteps, trajectory: Trajectory) -> CountsAndSteps:
        places = self._row_offsets + trajectory.action
        learned.counts.add(places, trajectory.reward.astype(np.float64))
        return learned._replace(steps=learned.steps + 1)

    def _describe(self, learned: CountsAndSteps) -> Beliefs:
        return super()._describe(learned.counts)
