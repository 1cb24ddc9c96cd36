"""Metrics of bandits: rewards, regret, and violations of constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_rewards
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.metrics.metric import Metric
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory


class AverageRewardMetric(Metric):
    """The reward, in the reward's unit.

    Args:
        reward_fn: a function that returns one number a row, [B], for rewards that are not numbers.

    Source: Sutton & Barto, 2nd ed., Figure 2.2, upper panel.

    >>> from bandit_envs.trajectories import restart, termination
    >>> before, metric = restart(np.ones((2, 1)), batch_size=2), AverageRewardMetric()
    >>> metric(Trajectory.from_transition(before, [0, 1], termination(before.observation, [1, 3])))
    >>> metric.result().per_step.mean, metric.result().per_step.standard_error
    (array([2.]), array([1.]))
    """

    def __init__(
        self, reward_fn: Callable[[Any], Any] | None = None, every: int | None = None
    ) -> None:
        super().__init__(every)
        self._reward_fn = reward_fn

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        reward = trajectory.reward
        if self._reward_fn is not None:
            reward = self._reward_fn(reward)
        try:
            return check_rewards(reward, len(trajectory.step_type))
        except (TypeError, ValueError) as error:
            is_vector = isinstance(reward, np.ndarray) and reward.ndim == 1
            hint = "" if is_vector else "; a reward_fn returns one number a row"
            raise type(error)(f"{error}{hint}") from None


def check_info(owner: str, info: dict[str, Any] | None) -> dict[str, Any]:
    """Returns what `get_info` of an environment tells of the last step, with its means.

    Args:
        owner: the name of the environment.
        info: what it returned.

    Raises:
        ValueError: the environment has been reset since.
        NotImplementedError: it does not tell expected rewards.
    """
    if info is None:
        raise ValueError("env has been reset since the trajectory's step")
    if "expected_reward" not in info or "optimal_reward" not in info:
        raise NotImplementedError(f"{owner} does not know its expected rewards")
    return info


class RegretMetric(Metric):
    """How much less than the best action the chosen one is expected to bring, in the reward's unit.

        regret_t = max_a q_t(a) - q_t(A_t)

    It is computed from expected rewards, so it is never negative and has no noise of rewards.

    It is the regret of one step, in the state that the policy has reached. Where actions change the
    state (`env.actions_change_state`), its sum over steps does not rank policies, as an action that
    costs little now may cost much later: see `LostRewardMetric`.

    Args:
        env: the environment that the trajectories come from. It must know its expected rewards, and
            must not be reset between a step and the call.

    Source: Lattimore & Szepesvari, Bandit Algorithms (2020), section 4.4.

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(batch_size=2, seed=0)
    >>> before, metric = env.reset(), RegretMetric(env)
    >>> best = env.optimal_action()
    >>> metric(Trajectory.from_transition(before, best, env.step(best)))
    >>> metric.result().cumulative.mean
    array([0.])
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        super().__init__(every)
        self._env = env

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        info = check_info(self._env.name, self._env.get_info())
        return np.asarray(info["optimal_reward"] - info["expected_reward"])


class OptimalActionMetric(RegretMetric):
    """Percent of rows without regret, whose action had the largest expected reward: 0 to 100.

    Where actions are real numbers, hardly one is optimal, and NotImplementedError says so.

    Source: Sutton & Barto, 2nd ed., Figure 2.2, lower panel.

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(batch_size=2, seed=0)
    >>> before, metric = env.reset(), OptimalActionMetric(env)
    >>> best = env.optimal_action()
    >>> metric(Trajectory.from_transition(before, best, env.step(best)))
    >>> metric.result().per_step.mean
    array([100.])
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        super().__init__(env, every)
        if env.action_kind.is_continuous:
            raise NotImplementedError(
                f"{env.name} has real actions, of which hardly one is optimal"
            )

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        is_optimal = super()._values(trajectory) <= 0.0
        return np.asarray(100.0 * is_optimal.astype(np.float64))


class ParetoRegretMetric(Metric):
    """How far the vector of means of the action taken lies below the Pareto front.

        regret_t = max_a min_i (q_t(a)_i - q_t(A_t)_i)

    This is the smallest number for which no action is better in all rewards, if it is added to
    every mean of the action taken. It is in the unit of the rewards, and never negative.

    Args:
        env: the environment that the trajectories come from; its rewards are vectors, and it knows
            their means.

    Source: Drugan & Nowe, Designing multi-objective multi-armed bandits algorithms (2013).

    >>> from bandit_envs import StationaryStochasticPyEnvironment, rewards, sampling
    >>> means = rewards.LinearActionReward([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, -0.5]]])
    >>> env = StationaryStochasticPyEnvironment(sampling.Normal(1, 1.0, 0.0), means)
    >>> before, metric = env.reset(), ParetoRegretMetric(env)
    >>> metric(Trajectory.from_transition(before, [2], env.step([2])))
    >>> float(metric.result().mean.mean)
    0.5
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        super().__init__(every)
        spec = env.reward_spec()
        if env.action_kind.is_slate:
            raise NotImplementedError(f"{env.name} is a bandit of slates, whose rewards are clicks")
        if not is_bandit(env) or not isinstance(spec, ArraySpec) or len(spec.shape) != 1:
            raise NotImplementedError(f"reward_spec of env is {spec}; expected vectors of rewards")
        self._env = env

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        choice = self._env.means_met()
        if choice is None:
            raise ValueError("env has been reset since the trajectory's step")
        means = choice.means.table
        taken = means[np.arange(len(means)), choice.action]
        return np.asarray((means - taken[:, np.newaxis]).min(axis=2).max(axis=1))


class ConstraintViolationMetric(Metric):
    """Share of rows whose constraint is violated: 1 for a row where it is, else 0.

    The rewards of the environment are dicts of `reward` and `constraint`. A constraint is violated
    if it, or one of its numbers, is below 0.

    Args:
        env: the environment that the trajectories come from.

    Source: TF-Agents' `ConstraintViolationsMetric`, with constraints observed, not predicted.

    >>> from bandit_envs import StationaryStochasticPyEnvironment, sampling
    >>> pays, costs = [lambda x: 1.0, lambda x: 2.0], [lambda x: 0.5, lambda x: -0.5]
    >>> env = StationaryStochasticPyEnvironment(sampling.Normal(1), pays, costs, batch_size=2)
    >>> before, metric = env.reset(), ConstraintViolationMetric(env)
    >>> metric(Trajectory.from_transition(before, [0, 1], env.step([0, 1])))
    >>> float(metric.result().mean.mean)
    0.5
    """

    def __init__(self, env: PyEnvironment, every: int | None = None) -> None:
        super().__init__(every)
        spec = env.reward_spec()
        if not isinstance(spec, dict) or "constraint" not in spec:
            raise NotImplementedError(f"{env.name} has no constraint among its rewards")

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        values = np.asarray(trajectory.reward["constraint"])
        return np.asarray((values.reshape(len(values), -1) < 0.0).any(axis=1))
