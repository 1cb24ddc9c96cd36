"""The policy that knows nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bandit_envs.policies.policy import Policy
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep, Trajectory


class RandomPolicy(Policy):
    """Chooses uniformly among the actions of each row. Learns nothing.

    If the observation is a dict with `num_actions` [B], a row's actions are 0 to its `num_actions`
    - 1; else they are 0 to K - 1.

    Args:
        num_actions: K, the number of actions.
        batch_size: B, the number of rows.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an integer is not one, or `seed` is no source of randomness.
        ValueError: an integer is less than 1, or `seed` is negative.

    Source: TF-Agents' `RandomPyPolicy`; there, `num_actions` is not looked at.

    >>> from bandit_envs import KArmedTestbed
    >>> policy = RandomPolicy(num_actions=10, batch_size=3, seed=0)
    >>> policy.action(KArmedTestbed(batch_size=3).reset()).shape
    (3,)
    """

    def __init__(self, *, num_actions: int, batch_size: int = 1, seed: Seed = None) -> None:
        super().__init__(num_actions, batch_size, seed)

    def _initial(self) -> None:
        return None

    def _select(
        self, rng: np.random.Generator, learned: None, time_step: TimeStep
    ) -> NDArray[np.integer]:
        available = self._num_actions
        if isinstance(time_step.observation, Mapping):
            available = time_step.observation.get("num_actions", available)
        return rng.integers(available, size=self._batch_size)

    def _learn(self, learned: None, trajectory: Trajectory) -> None:
        return None
