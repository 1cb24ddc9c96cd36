"""The greedy policy of Beta posteriors."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.beliefs import Beliefs, beta_beliefs
from bandit_envs.policies.beta_counts import BetaCounts, check_prior
from bandit_envs.policies.learned import Warm
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class BetaGreedyPolicy(IndexPolicy):
    """Chooses the action with the largest posterior mean.

        A_t = argmax_a successes(a) / (successes(a) + failures(a))

    The posteriors are those of `BetaThompsonSamplingPolicy`.

    Args:
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Russo et al., A Tutorial on Thompson Sampling (2018), section 3.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> BetaGreedyPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._prior = check_prior(prior_successes, prior_failures)
        self._prior_successes = self._prior[0]
        self._prior_failures = self._prior[1]
        super().__init__(**options)

    def _initial(self) -> BetaCounts:
        return BetaCounts.from_prior(self._table_shape, *self._prior)

    def _scores(self, learned: BetaCounts, time_step: TimeStep) -> Floats:
        return np.asarray(learned.successes / (learned.successes + learned.failures))

    def _learn(self, learned: BetaCounts, trajectory: Trajectory) -> BetaCounts:
        learned.add(self._row_offsets + trajectory.action, trajectory.reward)
        return learned

    def _start_warm(self, learned: BetaCounts, known: int, warm: Warm) -> BetaCounts:
        learned.start_warm(known, warm, self._prior)
        return learned

    def _describe(self, learned: BetaCounts) -> Beliefs:
        return beta_beliefs(learned, self._prior)
