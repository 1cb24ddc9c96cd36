"""Metrics of policies that look for the best action: how good it is, and when they stop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.known_means import KnownMeans
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.metrics.metric import LevelMetric
from bandit_envs.policies import BestArmPolicy, Policy
from bandit_envs.trajectories import Trajectory


class BestArmMetric(LevelMetric):
    """A number of a policy that looks for the best action, as it is after every step.

    Among a driver's observers, it stands after the policy. A subclass implements `_levels`.

    Args:
        env: the environment that the trajectories come from.
        policy: which recommends actions.
    """

    ends_when_stopped = True

    def __init__(self, env: PyEnvironment, policy: Policy, every: int | None = None) -> None:
        super().__init__(every)
        if not isinstance(policy, BestArmPolicy):
            raise NotImplementedError(f"{type(policy).__name__} recommends no action")
        self._env = env
        self._policy = policy


class BestMeanMetric(BestArmMetric):
    """Base of metrics that compare with expected rewards, which the environment must know."""

    def __init__(self, env: PyEnvironment, policy: Policy, every: int | None = None) -> None:
        super().__init__(env, policy, every)
        if not is_bandit(env):
            raise NotImplementedError(f"{env.name} does not know its expected rewards")
        self._bandit: KnownMeans = env


class SimpleRegretMetric(BestMeanMetric):
    """How much less than the best action the recommended one is expected to bring.

        simple regret_t = max_a q(a) - q(J_t)

    Here, J_t is what the policy recommends after t steps.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards.
        policy: which recommends actions.

    Source: Bubeck, Munos & Stoltz, Pure Exploration in Multi-armed Bandits Problems (2009).

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = BernoulliPyEnvironment([0.1, 0.9], batch_size=50, seed=0)
    >>> policy = UniformAllocationPolicy(40, num_actions=2, batch_size=50, seed=1)
    >>> regret = SimpleRegretMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, regret], num_steps=40).run()
    >>> round(float(regret.result().cumulative.at(-1).mean), 3)
    0.0
    """

    def _levels(self, trajectory: Trajectory) -> Floats:
        recommended = self._policy.recommend(self._env.current_time_step())
        means = self._bandit.expected_rewards()
        expected = means[np.arange(len(recommended)), recommended]
        return np.asarray(self._bandit.optimal_reward() - expected, np.float64)


class ErrorMetric(SimpleRegretMetric):
    """Whether the recommended action is not a best one: 1 for a row where it is not, else 0.

    Its mean over rows is the probability of error.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards.
        policy: which recommends actions.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = BernoulliPyEnvironment([0.1, 0.9], batch_size=50, seed=0)
    >>> policy = UniformAllocationPolicy(40, num_actions=2, batch_size=50, seed=1)
    >>> error = ErrorMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, error], num_steps=40).run()
    >>> low, high = error.result().cumulative.at(-1).wilson_interval()
    >>> round(float(low), 3), round(float(high), 3)
    (0.0, 0.071)
    """

    def _levels(self, trajectory: Trajectory) -> Floats:
        return np.where(super()._levels(trajectory) > 0.0, 1.0, 0.0)


class BiasMetric(BestMeanMetric):
    """How much the mean reward of the recommended action exceeds its expected reward.

    Its average over rows is above 0 once rows have stopped: they stop as soon as an action looks
    better than others by enough.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards.
        policy: which recommends actions.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import TrackAndStopPolicy
    >>> env = BernoulliPyEnvironment([0.3, 0.7], batch_size=200, seed=0)
    >>> policy = TrackAndStopPolicy(0.1, num_actions=2, batch_size=200, seed=1)
    >>> bias = BiasMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, bias], num_steps=5000).run_until_stopped()
    >>> bool(bias.totals.mean() > 0.05)
    True
    """

    def _levels(self, trajectory: Trajectory) -> Floats:
        recommended = self._policy.recommend(self._env.current_time_step())
        rows = np.arange(len(recommended))
        found = self._policy.means[rows, recommended]
        return np.asarray(found - self._bandit.expected_rewards()[rows, recommended], np.float64)


class CoverageMetric(BestMeanMetric):
    """Percent of rows in which the policy's intervals of 95% hold all expected rewards: 0 to 100.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards.
        policy: which knows intervals.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import TrackAndStopPolicy
    >>> env = BernoulliPyEnvironment([0.3, 0.7], batch_size=200, seed=0)
    >>> policy = TrackAndStopPolicy(0.1, num_actions=2, batch_size=200, seed=1)
    >>> coverage = CoverageMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, coverage], num_steps=5000).run_until_stopped()
    >>> bool(coverage.totals.mean() > 95.0)
    True
    """

    def __init__(self, env: PyEnvironment, policy: Policy, every: int | None = None) -> None:
        super().__init__(env, policy, every)
        self._policy.intervals()  # or it knows none

    def _levels(self, trajectory: Trajectory) -> Floats:
        low, high = self._policy.intervals()
        expected = self._bandit.expected_rewards()
        return np.where(((low <= expected) & (expected <= high)).all(axis=1), 100.0, 0.0)


class StoppingTimeMetric(BestArmMetric):
    """The number of steps that a row has taken until it stopped, or until now.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = BernoulliPyEnvironment([0.1, 0.9], batch_size=3, seed=0)
    >>> policy = UniformAllocationPolicy(40, num_actions=2, batch_size=3, seed=1)
    >>> steps = StoppingTimeMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, steps], num_steps=100).run()
    >>> steps.totals
    array([40., 40., 40.])
    """

    def _levels(self, trajectory: Trajectory) -> NDArray[Any]:
        return self._policy.steps


class StoppedMetric(BestArmMetric):
    """Percent of rows that have stopped: 0 to 100.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = BernoulliPyEnvironment([0.1, 0.9], batch_size=3, seed=0)
    >>> policy = UniformAllocationPolicy(2, num_actions=2, batch_size=3, seed=1)
    >>> stopped = StoppedMetric(env, policy)
    >>> time_step = StepDriver(env, policy, [policy, stopped], num_steps=3).run()
    >>> stopped.result().cumulative.mean
    array([  0., 100., 100.])
    """

    def _levels(self, trajectory: Trajectory) -> NDArray[Any]:
        return 100.0 * self._policy.stopped
