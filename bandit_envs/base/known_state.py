"""What follows from one state of a bandit: found when it is asked for, and then kept."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Mask
from bandit_envs.base.hook_results import (
    check_availability,
    check_mean,
    check_means,
    check_optimal_action,
)
from bandit_envs.base.known_means import Means, Optimum
from bandit_envs.nests import Nest


class KnownState(Means):
    """The available actions and the expected rewards in one state, of `size` rows."""

    def __init__(self, bandit: Any, state: Any, size: int) -> None:
        self._bandit = bandit
        self._state = state
        self._size = size

    @functools.cached_property
    def available(self) -> Mask | None:
        """Which actions are available: [B, K]; None for all."""
        bandit = self._bandit
        found = bandit._available(self._state) if bandit._has_mask else None
        if found is None:
            return None
        spec = bandit._observation_spec
        return check_availability(bandit._name, found, bandit.num_actions, spec)

    def of(self, action: Nest) -> Array:
        bandit = self._bandit
        mean = bandit._expected_reward(self._state, action)
        return check_mean(bandit._name, mean, (self._size,))

    def _find_table(self) -> Array:
        bandit = self._bandit
        found = bandit._expected_rewards(self._state)
        means = check_means(bandit._name, found, self._size, bandit.action_kind.num_actions or None)
        if self.available is None:
            return means
        mask = self.available.reshape(*self.available.shape, *(1,) * (means.ndim - 2))
        return np.where(mask, means, -np.inf)

    def _find_optimum(self) -> Optimum:
        bandit = self._bandit
        best = bandit._optimal_action(self._state)
        return Optimum(
            check_optimal_action(bandit._name, best, bandit.action_kind.spec), self.of(best)
        )

    def table_of_numbers(self) -> Array:
        """Returns `table`, if rewards are numbers and actions are from 0 to K - 1: [B, K]."""
        bandit = self._bandit
        if not bandit.action_kind.is_single or self.table.ndim != 2:
            raise NotImplementedError(
                f"{bandit._name} does not know the means of its actions: an action is not one "
                "integer, or a reward not one number, and it has no _expected_reward of its own"
            )
        return self.table
