"""Metrics: observers of trajectories that keep statistics over rows for every step."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.trajectories import Trajectory


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Count, mean and sum of squared deviations of independent values; elementwise for arrays.

    Two statistics of disjoint sets of values merge into those of their union, without any
    approximation, so that a run can be split over processes.

    Fields:
        count: the number of values, n.
        mean: their mean; of any shape.
        squared_deviation: sum of (value - mean)^2; of the same shape.

    Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance (1983).

    >>> left, right = Statistics.of(np.array([1.0, 2.0])), Statistics.of(np.array([6.0]))
    >>> merged = left.merge(right)
    >>> merged.count, float(merged.mean), round(float(merged.standard_error), 4)
    (3, 3.0, 1.5275)
    """

    count: int
    mean: NDArray[np.float64]
    squared_deviation: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Statistics:
        """Returns the statistics of `values` [n, ...] over their first axis."""
        mean = np.asarray(np.mean(values, axis=0, dtype=np.float64))
        return cls(len(values), mean, np.asarray(np.sum((values - mean) ** 2, axis=0)))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean, sqrt(variance / n); NaN if there is one value only."""
        if self.count < 2:
            return np.full_like(self.mean, np.nan)
        return np.asarray(np.sqrt(self.squared_deviation / (self.count - 1) / self.count))

    def at(self, index: Any) -> Statistics:
        """Returns the statistics of the elements at `index`."""
        return Statistics(
            self.count, np.asarray(self.mean[index]), np.asarray(self.squared_deviation[index])
        )

    def merge(self, other: Statistics) -> Statistics:
        """Returns the statistics of the values of both."""
        if self.count == 0 or other.count == 0:
            return self if other.count == 0 else other
        count = self.count + other.count
        difference = other.mean - self.mean
        return Statistics(
            count,
            self.mean + difference * (other.count / count),
            self.squared_deviation
            + other.squared_deviation
            + difference**2 * (self.count * other.count / count),
        )

    def as_one_value(self) -> Statistics:
        """Returns the statistics of the mean as one value, for rows that are not independent."""
        return Statistics(1, self.mean, np.zeros_like(self.mean))


class MetricResult(NamedTuple):
    """What a metric has seen in T steps.

    Fields:
        per_step: statistics [T] over rows of each step's value.
        cumulative: statistics [T] over rows of the sum of the row's values up to each step.

    >>> steps = np.array([[1.0, 3.0], [3.0, 5.0]])  # two rows, and a step a column
    >>> result = MetricResult(Statistics.of(steps), Statistics.of(steps.cumsum(axis=1)))
    >>> result.per_step.mean, float(result.mean.mean)
    (array([2., 4.]), 3.0)
    """

    per_step: Statistics
    cumulative: Statistics

    @property
    def mean(self) -> Statistics:
        """Statistics over rows of the row's mean over all T steps: without dimensions.

        Raises:
            ValueError: there have been no steps.
        """
        steps = len(self.cumulative.mean)
        if steps == 0:
            raise ValueError("the metric has seen no steps; their mean is not defined")
        return Statistics(
            self.cumulative.count,
            self.cumulative.mean[-1] / steps,
            self.cumulative.squared_deviation[-1] / steps**2,
        )

    def merge(self, other: MetricResult) -> MetricResult:
        """Returns the result over the rows of both.

        Raises:
            ValueError: they have seen different numbers of steps.
        """
        if len(self.per_step.mean) != len(other.per_step.mean):
            raise ValueError(
                f"other has {len(other.per_step.mean)} steps; expected {len(self.per_step.mean)}"
            )
        return MetricResult(
            self.per_step.merge(other.per_step), self.cumulative.merge(other.cumulative)
        )

    def as_one_value(self) -> MetricResult:
        """Returns the result with all rows taken as one, for rows that are not independent."""
        return MetricResult(self.per_step.as_one_value(), self.cumulative.as_one_value())


class _Seen(NamedTuple):
    """Per-step means and squared deviations of values and of totals, and the totals [B].

    Only the first `steps` numbers of a column count: more are of a call that was interrupted.
    """

    columns: tuple[list[float], list[float], list[float], list[float]]
    total: NDArray[np.float64] | float
    rows: int
    steps: int


class Metric(Stateful, abc.ABC):
    """An observer that keeps the statistics of one number a row and step.

    Call it with every trajectory, or put it among a driver's observers. A subclass implements
    `_values(trajectory)`, which returns the numbers [B].

    Memory: four floats a step and one a row, whatever the number of rows.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything seen."""
        self._state = _Seen(([], [], [], []), 0.0, 0, 0)

    def __call__(self, trajectory: Trajectory) -> None:
        """Takes in one step of every row.

        Raises:
            ValueError: the number of rows has changed.
        """
        columns, total, rows, steps = self._state
        values = np.asarray(self._values(trajectory), np.float64)
        if rows not in (0, len(values)):
            raise ValueError(f"trajectory has {len(values)} rows; expected {rows}, as before")
        total = total + values
        for column in columns:
            del column[steps:]
        for numbers, means, deviations in (
            (values, columns[0], columns[1]),
            (total, columns[2], columns[3]),
        ):
            mean = float(np.add.reduce(numbers)) / len(numbers)
            centred = numbers - mean
            means.append(mean)
            deviations.append(float(centred.dot(centred)))
        self._state = _Seen(columns, total, len(values), steps + 1)

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Seen)

    def result(self) -> MetricResult:
        """Returns the statistics of every step seen so far."""
        columns, _, rows, steps = self._state
        value, value_deviation, total, total_deviation = (
            np.array(column[:steps]) for column in columns
        )
        return MetricResult(
            Statistics(rows, value, value_deviation), Statistics(rows, total, total_deviation)
        )

    @abc.abstractmethod
    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number of each row: [B]."""


class AverageRewardMetric(Metric):
    """The reward, in the reward's unit.

    Source: Sutton & Barto, 2nd ed., Figure 2.2, upper panel.

    >>> from bandit_envs.trajectories import restart, termination
    >>> before, metric = restart(np.ones((2, 1)), batch_size=2), AverageRewardMetric()
    >>> metric(Trajectory.from_transition(before, [0, 1], termination(before.observation, [1, 3])))
    >>> metric.result().per_step.mean, metric.result().per_step.standard_error
    (array([2.]), array([1.]))
    """

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        return trajectory.reward


class HasInfo(Protocol):
    """An environment whose `get_info()` gives `expected_reward` and `optimal_reward`, each [B]."""

    def get_info(self) -> Any:
        """Describes the last step."""


def _last_info(env: HasInfo) -> Any:
    info = env.get_info()
    if info is None:
        raise ValueError("env has taken no step since it was reset; expected the trajectory's step")
    return info


class OptimalActionMetric(Metric):
    """Percent of rows whose action had the largest expected reward: 0 to 100.

    Args:
        env: the environment that the trajectories come from.

    Raises:
        NotImplementedError: when called, if the environment's expected rewards are not known.
        ValueError: when called, if the environment has been reset since the trajectory's step.

    Source: Sutton & Barto, 2nd ed., Figure 2.2, lower panel.

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(batch_size=2, seed=0)
    >>> before, metric = env.reset(), OptimalActionMetric(env)
    >>> best = env.optimal_action()
    >>> metric(Trajectory.from_transition(before, best, env.step(best)))
    >>> metric.result().per_step.mean
    array([100.])
    """

    def __init__(self, env: HasInfo) -> None:
        super().__init__()
        self._env = env

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        info = _last_info(self._env)
        return np.where(info["expected_reward"] >= info["optimal_reward"], 100.0, 0.0)


class RegretMetric(Metric):
    """How much less than the best action the chosen one is expected to bring, in the reward's unit.

        regret_t = max_a q_t(a) - q_t(A_t)

    From expected rewards, so it is never negative and carries no noise of the rewards.

    Args:
        env: the environment that the trajectories come from.

    Raises:
        NotImplementedError: when called, if the environment's expected rewards are not known.
        ValueError: when called, if the environment has been reset since the trajectory's step.

    Source: Lattimore & Szepesvari, Bandit Algorithms (2020), section 4.4.

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(batch_size=2, seed=0)
    >>> before, metric = env.reset(), RegretMetric(env)
    >>> best = env.optimal_action()
    >>> metric(Trajectory.from_transition(before, best, env.step(best)))
    >>> metric.result().cumulative.mean
    array([0.])
    """

    def __init__(self, env: HasInfo) -> None:
        super().__init__()
        self._env = env

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        info = _last_info(self._env)
        regret: NDArray[Any] = info["optimal_reward"] - info["expected_reward"]
        return regret
