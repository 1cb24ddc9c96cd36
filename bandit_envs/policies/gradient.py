"""Gradient bandit algorithms."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_positive
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class Preferences(typing.NamedTuple):
    """H and its softmax [B, K], the mean reward [B] and its steps [B]; updated in place."""

    preferences: Floats
    probabilities: Floats
    mean_reward: Floats
    steps: Floats


class GradientBanditPolicy(Policy):
    """Draws actions from a softmax of preferences, which follow the gradient of the reward.

        pi(a)  = exp(H(a)) / sum_b exp(H(b))
        H(a)  += step_size * (R - baseline) * (1[a = A] - pi(a))

    The sum is over the available actions. The baseline is the mean of the row's rewards so far,
    the current one included; with `baseline=False`, it is 0.

    Source: Sutton & Barto, 2nd ed., section 2.8, equations 2.11 and 2.12.

    >>> from bandit_envs import KArmedTestbed
    >>> GradientBanditPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(
        self, step_size: float, baseline: bool = True, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._step_size = check_positive("step_size", step_size, maximum=MAX_PARAMETER)
        if not isinstance(baseline, (bool, np.bool_)):
            raise TypeError(f"baseline is {baseline!r}; expected True or False")
        self._baseline = baseline
        super().__init__(**options)

    def _initial(self) -> Preferences:
        uniform = np.full(self._table_shape, 1.0 / self.num_actions)
        return Preferences(np.zeros(self._table_shape), uniform, *np.zeros((2, self.batch_size)))

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
        # Softmax does not change when a row is shifted; shifted to a largest of 0, exp is safe.
        largest = preferences.reshape(-1).take(self._row_offsets + preferences.argmax(axis=1))
        np.exp(preferences - largest[:, np.newaxis], out=probabilities)
        probabilities /= probabilities @ np.ones((self.num_actions, 1))
        return learned
