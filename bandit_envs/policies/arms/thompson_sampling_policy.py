"""Policies that draw the value of each action, and choose the largest."""

from __future__ import annotations

import abc
from typing import Any

from bandit_envs.arrays import Floats, Rng
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.policy import Actions, Policy
from bandit_envs.trajectories import TimeStep


class ThompsonSamplingPolicy(Policy):
    """Draws a value of every action from its posterior and chooses the largest.

    A subclass implements `_draw_values`, and what it learns of the posteriors.
    """

    @abc.abstractmethod
    def _draw_values(self, rng: Rng, learned: Any, time_step: TimeStep) -> Floats:
        """Returns a draw of the value of every action, available or not: [B, K]."""

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        values = self._draw_values(rng, learned, time_step)
        self._check_table("_draw_values", values)
        return argmax_random_ties(rng, values, available)
