"""Policies that choose the action with the largest upper confidence bound."""

from __future__ import annotations

import abc
from typing import Any

from bandit_envs.arrays import Floats
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.trajectories import TimeStep


class UpperBoundPolicy(IndexPolicy):
    """Chooses the available action with the largest bound; ties are broken uniformly at random.

    A subclass implements `_bounds`, and what it has learned has `values` and `counts`.
    """

    @abc.abstractmethod
    def _bounds(self, learned: Any) -> Floats:
        """Returns the upper bound of the reward of every action: [B, K]; may be infinite."""

    def _scores(self, learned: Any, time_step: TimeStep) -> Floats:
        return self._bounds(learned)

    def _describe(self, learned: Any) -> Beliefs:
        return Beliefs(
            learned.values, learned.counts, high=self._bounds(learned), interval="upper bound"
        )
