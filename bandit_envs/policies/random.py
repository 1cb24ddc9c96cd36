"""The policy that knows nothing."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.policy import Actions, Policy
from bandit_envs.seeding import Seed
from bandit_envs.trajectories import TimeStep, Trajectory


class RandomPolicy(Policy):
    """Chooses uniformly among the available actions of each row. Learns nothing.

        pi(a) = 1 / K

    Source: TF-Agents' `RandomPyPolicy`, which ignores `num_actions` in the observation.

    >>> from bandit_envs import KArmedTestbed
    >>> RandomPolicy(num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, num_actions: int, batch_size: int = 1, seed: Seed = None) -> None:
        super().__init__(num_actions, batch_size, seed)
        self._uniform = np.full(self.batch_size, 1.0 / self.num_actions)
        self._uniform.setflags(write=False)

    def _initial(self) -> None:
        return None

    def _learn(self, learned: None, trajectory: Trajectory) -> None:
        return None

    def _probabilities(self, learned: None, time_step: TimeStep) -> Floats:
        return np.full(self._table_shape, 1.0 / self.num_actions)

    def _probability_of(self, learned: None, time_step: TimeStep, action: Actions) -> Floats:
        return self._uniform

    def _select(self, rng: Rng, learned: None, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        if available is not None:
            return argmax_random_ties(rng, available)
        return rng.integers(self.num_actions, size=self.batch_size)
