"""The greedy policy of Beta posteriors."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.policies.arms.beta_policy import BetaPolicy
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.beta_counts import BetaCounts
from bandit_envs.trajectories import TimeStep


class BetaGreedyPolicy(IndexPolicy, BetaPolicy):
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

    def _scores(self, learned: BetaCounts, time_step: TimeStep) -> Floats:
        return np.asarray(learned.successes / (learned.successes + learned.failures))
