"""The regret of policies that spend a budget.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments import KnapsackBandit
from bandit_envs.metrics.metric import LevelMetric
from bandit_envs.trajectories import StepType, Trajectory


class Used(NamedTuple):
    """What each row has used and lost in this episode so far: [B]; updated in place."""

    spent: Floats  # the sum of costs
    rounds: Floats  # how many actions were paid
    lost: Floats  # what these were expected to earn less than the best for their price


class KnapsackRegretMetric(LevelMetric):
    """What a linear program earns with the whole budget, less what was earned so far.

    Experimental: it may change in any minor version.

        regret = x (ceil(budget) - spent) + y (rounds - played) + sum of (x c(A) + y - r(A))

    The prices x of a cost and y of a round are the `shadow_prices` of the environment, and r and c
    are expected rewards and costs. So it has no noise of rewards, and its mean is that of the
    value of the linear program less the rewards earned. Once a row has no budget or no rounds left,
    it stays as it is, until the next episode. With a limit of rounds, no policy reaches that value:
    `LostRewardMetric` compares with the best policy.

    Args:
        env: the `KnapsackBandit` that the trajectories come from.

    Source: Badanidiyuru, Kleinberg & Slivkins, Bandits with Knapsacks (2018), section 2.

    >>> from bandit_envs import ConstantPolicy, StepDriver
    >>> from bandit_envs.environments import KnapsackBandit
    >>> env = KnapsackBandit([1.0, 0.5], [1.0, 1.0], budget=8, batch_size=2, seed=0)
    >>> policy, metric = ConstantPolicy(1, num_actions=2, batch_size=2), KnapsackRegretMetric(env)
    >>> time_step = StepDriver(env, policy, [metric], num_steps=10).run()
    >>> metric.totals
    array([4., 4.])
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        if not isinstance(env, KnapsackBandit):
            raise NotImplementedError(f"{env.name} is not a KnapsackBandit")
        self._env = env
        super().__init__(every)

    def _initial_memory(self) -> Used:
        size = self._env.batch_size
        return Used(np.zeros(size), np.zeros(size), np.zeros(size))

    def _levels(self, trajectory: Trajectory) -> Floats:
        choice = self._env.means_met()
        if choice is None:
            raise ValueError("env has been reset since the trajectory's step")
        used: Used = self._state.memory
        is_first = trajectory.step_type == StepType.FIRST
        for numbers in used:
            numbers[is_first] = 0.0
        is_paid = trajectory.observation["budget"] > 0.0
        of_cost, of_round = self._env.shadow_prices
        reward, cost = choice.means.of(choice.action).T
        used.spent[:] += trajectory.reward[:, 1]
        used.rounds[:] += is_paid
        used.lost[:] += of_cost * cost + of_round * is_paid - reward
        left = of_cost * (np.ceil(self._env.budget) - used.spent)
        if self._env.rounds is not None:
            left += of_round * (self._env.rounds - used.rounds)
        return np.asarray(used.lost + left)
