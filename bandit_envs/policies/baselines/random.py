"""The policy that knows nothing."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.policy import Actions, Policy
from bandit_envs.trajectories import TimeStep


class RandomPolicy(Policy):
    """Chooses uniformly among the available actions of each row.

        pi(a) = 1 / K

    Source: TF-Agents' `RandomPyPolicy`, which ignores `num_actions` in the observation.

    >>> from bandit_envs import KArmedTestbed
    >>> RandomPolicy(num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def _probabilities(self, learned: None, time_step: TimeStep) -> Floats:
        return np.full(self._table_shape, 1.0 / self.num_actions)

    def _select(self, rng: Rng, learned: None, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        if available is not None:
            return argmax_random_ties(rng, available)
        return rng.integers(self.num_actions, size=self.batch_size)
