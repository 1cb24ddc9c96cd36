"""What a policy has lost to the best one for a whole run."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.hook_results import check_run_optimum
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments import KnapsackBandit
from bandit_envs.metrics.metric import Metric
from bandit_envs.trajectories import StepType, Trajectory

FIRST_STEPS = 128
"""The optimum is found for so many steps, then for twice as many each time that a run is longer."""

OPTIMA = {
    "all policies": "what the best policy for the whole run is expected to earn",
    "best fixed arm": "what the best fixed arm is expected to earn, though a policy may earn more",
    "bound": "a bound of what any policy can earn, which may be out of reach",
}
"""What the optimum of a whole run is, by what it is among."""


class LostRewardMetric(Metric):
    """What the best policy for a run of t steps is expected to earn, less what was earned in them.

        lost(t) = optimum(t) - sum of q_s(A_s) over the steps s up to t

    The optimum is `env.optimum_of_run`, which is the same for all policies, so the sum over steps
    ranks policies as their expected rewards do, also where actions change the state. q_s are the
    expected rewards in the state that the policy has reached. A single step may gain, as the best
    policy may earn little at first. If the optimum is that of the best fixed arm, the sum may be
    negative. A new episode has its own optimum.

    In a `KnapsackBandit`, costs above those expected are added at their shadow price. Their mean is
    0, and the sum varies less with them.

    Args:
        env: the environment that the trajectories come from. It must know its `optimum_of_run`, and
            must not be reset between a step and the call.

    Source: Heidari, Kearns & Roth, Tight policy regret bounds for improving and decaying bandits
    (2016).

    >>> from bandit_envs import ConstantPolicy, RestedBandit, StepDriver
    >>> env = RestedBandit([[0.5, 0.5, 0.5], [0.0, 0.75, 1.0]], std=0.0)
    >>> metric = LostRewardMetric(env)
    >>> time_step = StepDriver(env, ConstantPolicy(0, num_actions=2), [metric], num_steps=3).run()
    >>> metric.totals
    array([0.25])
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        self._name = env.name
        self._batch_size = env.batch_size
        if not is_bandit(env):
            raise NotImplementedError(f"{env.name} is not a bandit")
        self._bandit = env
        self._prices = env.shadow_prices if isinstance(env, KnapsackBandit) else None
        self._gains = self._find_gains(FIRST_STEPS)
        super().__init__(every)

    def _gains_up_to(self, step: int) -> Floats:
        """Returns what each step adds to the optimum, up to a step; the first is number 0."""
        known = len(self._gains)
        while step >= known:
            known *= 2
        if known > len(self._gains):
            self._gains = self._find_gains(known)
        return self._gains

    def _find_gains(self, steps: int) -> Floats:
        """Returns what each of so many steps adds to the optimum."""
        found = check_run_optimum(self._name, self._bandit.optimum_of_run(steps), steps)
        return np.diff(found.earned, prepend=0.0)

    def _initial_memory(self) -> Indices:
        """Returns the steps of each row in its episode so far: [B]; updated in place."""
        return np.zeros(self._batch_size, np.intp)

    def _values(self, trajectory: Trajectory) -> Floats:
        earned = self._earned(trajectory)
        steps: Indices = self._state.memory
        steps[trajectory.step_type == StepType.FIRST] = 0
        gains = self._gains_up_to(int(steps.max())).take(steps)
        steps += 1
        return np.asarray(gains - earned)

    def _earned(self, trajectory: Trajectory) -> Floats:
        """Returns what the last action was expected to earn: [B]."""
        taken = self._bandit.means_met()
        if taken is None:
            raise ValueError("env has been reset since the trajectory's step")
        means = taken.means.of(taken.action)
        if means.ndim == 1:
            return means
        if self._prices is None:
            return np.asarray(means[:, 0])
        reward, cost = means.T
        return np.asarray(reward + self._prices.of_cost * (trajectory.reward[:, 1] - cost))
