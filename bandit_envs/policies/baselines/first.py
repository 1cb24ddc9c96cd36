"""The policy that takes the first action that there is."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.policies.policy import Policy
from bandit_envs.trajectories import TimeStep


class FirstPolicy(Policy):
    """Chooses the first available action.

        p(min {a : a is available}) = 1

    If actions are items that others have ranked, it is the policy that follows their ranking.

    Source: the baseline of Azure Personalizer, whose rank calls list the default item first.

    >>> from bandit_envs import KArmedTestbed
    >>> FirstPolicy(num_actions=4).action(KArmedTestbed(k=4).reset())
    array([0], dtype=int32)
    """

    def _probabilities(self, learned: None, time_step: TimeStep) -> Floats:
        table = np.zeros(self._table_shape)
        available = self._available(time_step.observation)
        first = 0 if available is None else available.argmax(axis=1)
        table[np.arange(self.batch_size), first] = 1.0
        return table
