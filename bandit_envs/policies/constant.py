"""The policy that always chooses the same action."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep


class ConstantPolicy(Policy):
    """Chooses one action, always; where it is not available, any that is.

        p(number) = 1

    It is what is deployed today, or a baseline: the best single action, or the cheapest.

    Args:
        number: of the action, from 0.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs import KArmedTestbed
    >>> ConstantPolicy(2, num_actions=4).action(KArmedTestbed(k=4).reset())
    array([2], dtype=int32)
    """

    def __init__(self, number: int = 0, **options: typing.Unpack[PolicyOptions]) -> None:
        super().__init__(**options)
        self._number = check_integer("number", number, 0, self.num_actions - 1)

    def _probabilities(self, learned: None, time_step: TimeStep) -> Floats:
        table = np.zeros(self._table_shape)
        table[:, self._number] = 1.0
        return table
