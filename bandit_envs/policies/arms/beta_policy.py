"""What policies share that learn success probabilities, with Beta posteriors."""

from __future__ import annotations

import typing
from typing import Any

from bandit_envs.policies.beliefs import Beliefs, beta_beliefs
from bandit_envs.policies.beta_counts import BetaCounts, check_prior
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import Trajectory


class BetaPolicy(Policy):
    """Learns the success probability of every action from rewards, numbers from 0 to 1.

        prior      p(a) ~ Beta(prior_successes, prior_failures)
        posterior  successes += R,  failures += 1 - R    of the action chosen

    A subclass chooses: it also derives from a class that says how.

    Args:
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._prior_successes, self._prior_failures = check_prior(prior_successes, prior_failures)
        super().__init__(**options)

    def _initial(self) -> Any:
        return BetaCounts.from_prior(self._table_shape, self._prior_successes, self._prior_failures)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        learned.add(self._row_offsets + trajectory.action, trajectory.reward)
        return learned

    def _describe(self, learned: Any) -> Beliefs:
        return beta_beliefs(learned, self._prior_successes + self._prior_failures)
