"""The policy that knows nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.state import Seed
from bandit_envs.policies.policy import Policy, argmax_random_ties
from bandit_envs.trajectories import TimeStep, Trajectory


class RandomPolicy(Policy):
    """Chooses uniformly among the available actions of each row. Learns nothing.

    Source: TF-Agents' `RandomPyPolicy`, which ignores `num_actions` in the observation.

    >>> from bandit_envs import KArmedTestbed
    >>> policy = RandomPolicy(num_actions=4, batch_size=1, seed=0)
    >>> policy.probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, *, num_actions: int, batch_size: int = 1, seed: Seed = None) -> None:
        super().__init__(num_actions, batch_size, seed)

    def _initial(self) -> None:
        return None

    def _learn(self, learned: None, trajectory: Trajectory) -> None:
        return None

    def _probabilities(self, learned: None, time_step: TimeStep) -> NDArray[np.float64]:
        return np.full((self._batch_size, self._num_actions), 1.0 / self._num_actions)

    def _select(
        self, rng: np.random.Generator, learned: None, time_step: TimeStep
    ) -> NDArray[np.integer]:
        available = self._available(time_step.observation)
        if available is None:
            return rng.integers(self._num_actions, size=self._batch_size)
        return argmax_random_ties(rng, available)
