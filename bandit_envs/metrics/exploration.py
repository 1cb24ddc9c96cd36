"""Metrics of exploration itself: whether a policy gives up, and whether it never settles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_indices, check_rewards
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.metrics.bandits import check_info
from bandit_envs.metrics.metric import LevelMetric, Metric
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory


class ExplorationMetric(Metric):
    """A number that follows from what each row has played so far.

    Use these metrics where rows are independent runs of a stationary bandit: what one row plays
    says nothing about another one.

    Args:
        env: the environment that the trajectories come from. Its actions are single integers.
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        self._name = env.name
        paid = env.reward_spec()
        if not isinstance(paid, ArraySpec) or paid.shape:
            raise NotImplementedError(f"{env.name} has rewards that are not numbers")
        size = env.batch_size
        if not env.action_kind.is_single or not is_bandit(env):
            raise NotImplementedError(f"{env.name} is not a bandit whose action is one integer")
        self._env = env
        self._shape = size, env.num_actions
        self._rows = np.arange(size)
        super().__init__(every)


class Plays(NamedTuple):
    """What each row has seen of every action: [K, B], as reductions over actions are faster so.

    Both are updated in place.
    """

    counts: Floats
    sums: Floats  # of the rewards


class GreedyChoiceMetric(ExplorationMetric):
    """Percent of rows that choose an action whose rewards were best on average so far: 0 to 100.

    Ties count as best, and so do all actions before the first reward. An action that was never
    played is not best, unless none was.

    Args:
        env: the environment that the trajectories come from. Its actions are single integers.

    Source: `GreedyFrac` of Krishnamurthy et al., Can large language models explore in-context?
    (2024).

    >>> from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, StepDriver
    >>> env = KArmedTestbed(k=2, batch_size=4, seed=0)
    >>> policy = EpsilonGreedyPolicy(0.0, num_actions=2, batch_size=4, seed=1)
    >>> metric = GreedyChoiceMetric(env)
    >>> time_step = StepDriver(env, policy, [policy, metric], num_steps=5).run()
    >>> float(metric.result().mean.mean) <= 100.0
    True
    """

    def _initial_memory(self) -> Plays:
        shape = self._shape[::-1]
        return Plays(np.zeros(shape), np.zeros(shape))

    def _values(self, trajectory: Trajectory) -> Floats:
        action = check_indices(trajectory.action, *self._shape)
        reward = check_rewards(trajectory.reward, self._shape[0])
        counts, sums = self._state.memory
        means = np.divide(sums, counts, out=np.full(sums.shape, -np.inf), where=counts > 0.0)
        is_greedy = means[action, self._rows] >= means.max(axis=0)
        counts[action, self._rows] += 1.0
        sums[action, self._rows] += reward
        return np.where(is_greedy, 100.0, 0.0)


class LastOptimal(NamedTuple):
    """When each row last chose an optimal action; updated in place."""

    step: Floats  # 0 if never, [B]
    steps: Floats  # how many there were so far, [1]


class SuffixFailureMetric(ExplorationMetric, LevelMetric):
    """Whether the second half of the steps so far had no optimal action: 1 if so, else 0.

        SuffFailFreq(t / 2) = mean over rows of 1{no optimal action in steps t/2 + 1, ..., t}

    A policy that gives up the best action fails so. A policy that explores uniformly does not: see
    `MinimalFractionMetric`.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards.

    Source: Krishnamurthy et al., Can large language models explore in-context? (2024).

    >>> from bandit_envs import BernoulliPyEnvironment, RandomPolicy, StepDriver
    >>> env = BernoulliPyEnvironment([0.4, 0.6], batch_size=4, seed=0)
    >>> metric = SuffixFailureMetric(env)
    >>> policy = RandomPolicy(num_actions=2, batch_size=4, seed=1)
    >>> time_step = StepDriver(env, policy, [metric], num_steps=40).run()
    >>> metric.totals
    array([0., 0., 0., 0.])
    """

    def _initial_memory(self) -> LastOptimal:
        return LastOptimal(step=np.zeros(self._shape[0]), steps=np.zeros(1))

    def _levels(self, trajectory: Trajectory) -> Floats:
        is_optimal = self._is_optimal()
        last: LastOptimal = self._state.memory
        last.steps[0] += 1.0
        last.step[is_optimal] = last.steps[0]
        return np.where(last.step <= last.steps[0] // 2, 1.0, 0.0)

    def _is_optimal(self) -> Array:
        """Returns whether the last action of each row had the largest expected reward: [B]."""
        info = check_info(self._name, self._env.get_info())
        return np.asarray(info["expected_reward"] >= info["optimal_reward"])


class MinimalFractionMetric(ExplorationMetric, LevelMetric):
    """K times the share of the steps so far with the action that was played least: 0 to 1.

        K MinFrac(t) = K min_a N_t(a) / t

    It stays high if a policy explores uniformly for ever.

    Args:
        env: the environment that the trajectories come from. Its actions are single integers.

    Source: Krishnamurthy et al., Can large language models explore in-context? (2024).

    >>> from bandit_envs import KArmedTestbed, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = KArmedTestbed(k=2, batch_size=3, seed=0)
    >>> metric = MinimalFractionMetric(env)
    >>> policy = UniformAllocationPolicy(4, num_actions=2, batch_size=3, seed=1)
    >>> time_step = StepDriver(env, policy, [policy, metric], num_steps=4).run()
    >>> metric.totals
    array([1., 1., 1.])
    """

    def _initial_memory(self) -> Floats:
        return np.zeros(self._shape[::-1])  # how often each row has played each action, [K, B]

    def _levels(self, trajectory: Trajectory) -> Floats:
        action = check_indices(trajectory.action, *self._shape)
        counts: Floats = self._state.memory
        counts[action, self._rows] += 1.0
        num_steps = counts[:, 0].sum()
        return np.asarray(self._shape[1] * counts.min(axis=0) / num_steps)
