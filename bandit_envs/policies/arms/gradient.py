"""Gradient bandit algorithms."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_bool, check_positive
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class Preferences(NamedTuple):
    """What is learned of the preferences, updated in place."""

    preferences: Floats  # H, [B, K]
    probabilities: Floats  # their softmax, [B, K]
    mean_reward: Floats  # [B]
    steps: Floats  # how many rewards each row has learned from, [B]

    def make_consistent(self, known: int) -> None:
        """Follows the preferences; new actions have the mean of all, which is 0."""
        self.probabilities[:] = softmax(self.preferences)


class GradientBanditPolicy(Policy):
    """Draws actions from a softmax of preferences, which follow the gradient of the reward.

        pi(a)  = exp(H(a)) / sum_b exp(H(b))
        H(a)  += step_size * (R - baseline) * (1[a = A] - pi(a))

    The sum is over the available actions. The baseline is the mean of the row's rewards so far,
    the current one included; with `baseline=False`, it is 0.

    Args:
        step_size: above 0.
        baseline: whether rewards are compared with their mean.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., section 2.8, equations 2.11 and 2.12. The text leaves
    the current reward out of the baseline; a footnote says that Figure 2.5 includes it, as here.

    >>> from bandit_envs import KArmedTestbed
    >>> GradientBanditPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(
        self, step_size: float, baseline: bool = True, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._step_size = check_positive("step_size", step_size, maximum=MAX_PARAMETER)
        self._baseline = check_bool("baseline", baseline)
        super().__init__(**options)

    def _initial(self) -> Preferences:
        uniform = np.full(self._table_shape, 1.0 / self.num_actions)
        return Preferences(
            preferences=np.zeros(self._table_shape),
            probabilities=uniform,
            mean_reward=np.zeros(self.batch_size),
            steps=np.zeros(self.batch_size),
        )

    def _probabilities(self, learned: Preferences, time_step: TimeStep) -> Floats:
        return learned.probabilities

    def _learn(self, learned: Preferences, trajectory: Trajectory) -> Preferences:
        preferences, probabilities, mean_reward, steps = learned
        chosen_from = self._restricted(probabilities, trajectory.observation)
        advantage = trajectory.reward.astype(np.float64)
        if self._baseline:
            steps += 1.0
            mean_reward += (trajectory.reward - mean_reward) / steps
            advantage -= mean_reward
        advantage *= self._step_size
        preferences -= advantage[:, np.newaxis] * chosen_from
        preferences.reshape(-1)[self._row_offsets + trajectory.action] += advantage
        probabilities[:] = softmax(preferences)
        return learned
