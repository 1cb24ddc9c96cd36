"""Policies with models that predict the reward of every action."""

from __future__ import annotations

import abc
from typing import Any

from bandit_envs.arrays import Floats
from bandit_envs.policies.policy import Policy
from bandit_envs.trajectories import TimeStep


class PredictingPolicy(Policy):
    """A policy with models that predict the reward of every action, available or not.

    Rules of choice, such as SquareCB's, ask the models for predictions by the two methods below. A
    subclass implements them, and `_initial` and `_learn`.
    """

    @abc.abstractmethod
    def _means(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the predicted reward of every action: [B, K]."""

    @abc.abstractmethod
    def _interval(self, learned: Any, time_step: TimeStep, radius: float) -> tuple[Floats, Floats]:
        """Returns the smallest and the largest prediction of plausible models: [B, K] each.

        Args:
            learned: what the models have learned.
            time_step: the step whose actions are meant.
            radius: how many standard deviations a model may be from the best one.
        """
