"""The policy that ranks items by what they have paid."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import largest_values, uniform
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class ItemRewards(NamedTuple):
    """The rewards of items so far: how many, and their sums, [N] each."""

    counts: Floats
    totals: Floats


class PopularPolicy(Policy):
    """Chooses the available item with the largest mean reward, drawn towards the mean of all.

        argmax_a  (S_a + weight m) / (N_a + weight)

    of N_a rewards of the item with the sum S_a, and the mean m of all rewards. So the ranking of
    items is the same for all contexts, and items without rewards have the mean. Ties are broken at
    random. In logs of items, `item` of the observation has their numbers; elsewhere, each action is
    an item.

    Args:
        weight: of the mean of all rewards, in rewards; above 0.
        num_items: N; None for the number of actions.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs import KArmedTestbed
    >>> PopularPolicy(num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    learns_by_row = False
    reads_items = True

    def __init__(
        self,
        weight: float = 10.0,
        *,
        num_items: int | None = None,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._weight = check_number("weight", weight, 1e-9)
        self._num_items = None if num_items is None else check_integer("num_items", num_items, 1)
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        num_items = getattr(env.unwrapped, "num_items", None)
        return {**super().arguments_for(env), "num_items": num_items}

    def _initial(self) -> ItemRewards:
        size = self.num_actions if self._num_items is None else self._num_items
        return ItemRewards(np.zeros(size), np.zeros(size))

    def _learn(self, learned: ItemRewards, trajectory: Trajectory) -> ItemRewards:
        size = len(trajectory.action)
        item = items_of(trajectory.observation, size, self.num_actions)
        chosen = item[np.arange(size), trajectory.action]
        is_known = (chosen >= 0) & (chosen < len(learned.counts))
        np.add.at(learned.counts, chosen[is_known], 1.0)
        np.add.at(learned.totals, chosen[is_known], trajectory.reward[is_known])
        return learned

    def _probabilities(self, learned: ItemRewards, time_step: TimeStep) -> Floats:
        mean = learned.totals.sum() / max(learned.counts.sum(), 1.0)
        means = (learned.totals + self._weight * mean) / (learned.counts + self._weight)
        item = items_of(time_step.observation, self.batch_size, self.num_actions)
        is_known = (item >= 0) & (item < len(means))
        values = np.where(is_known, means[np.where(is_known, item, 0)], mean)
        available = self._available(time_step.observation)
        if available is not None:
            values = np.where(available, values, -np.inf)
        _, largest = largest_values(values)
        return uniform(values == largest)


def items_of(observation: Nest, size: int, num_actions: int) -> Indices:
    """Returns the numbers of the items in each place of n rows, [n, K]; else those of actions."""
    if isinstance(observation, dict) and "item" in observation:
        return np.asarray(observation["item"])
    return np.tile(np.arange(num_actions), (size, 1))
