"""The policy that always chooses the same action."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.policies.baselines.popular import items_of
from bandit_envs.policies.draws import uniform
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep


class ConstantPolicy(Policy):
    """Chooses one action, always; where it is not available, any that is.

        p(number) = 1

    It is what is deployed today, or a baseline: the best single action, or the cheapest.

    With `item`, it chooses the item of this number where it is offered, whatever place it has, and
    else uniformly among all that are offered. In logs of items, the name stands for the number, as
    in `constant:item=offer-17`.

    Args:
        number: of the action, from 0.
        item: the number of an item, in place of that of an action: `number` is left out then.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs import KArmedTestbed
    >>> ConstantPolicy(2, num_actions=4).action(KArmedTestbed(k=4).reset())
    array([2], dtype=int32)
    """

    def __init__(
        self,
        number: int = 0,
        *,
        item: int | None = None,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self.number = check_integer("number", number, 0, self.num_actions - 1)
        """The number of the action, unless it is an item."""
        if item is not None and number:
            raise ValueError(f"number is {number}, and item is {item}; expected one of them")
        self.item = None if item is None else check_integer("item", item, minimum=0)
        """The number of the item; None if it is an action."""
        self.reads_items = item is not None

    def _probabilities(self, learned: None, time_step: TimeStep) -> Floats:
        if self.item is None:
            table = np.zeros(self._table_shape)
            table[:, self.number] = 1.0
            return table
        items = items_of(time_step.observation, self.batch_size, self.num_actions)
        is_chosen = items == self.item
        has_it = is_chosen.any(axis=1, keepdims=True)
        return uniform(np.where(has_it, is_chosen, True))
