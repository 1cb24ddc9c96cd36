"""Metrics: observers of trajectories that keep statistics over rows for every step."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import sum_over_slots
from bandit_envs.base.checks import check_number, check_rewards
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.specs import SlateSpec
from bandit_envs.trajectories import Trajectory


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Count, mean and sum of squared deviations of independent values; elementwise for arrays.

    Statistics of disjoint sets of values merge exactly, so that a run can be split over processes.

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

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the ends of the mean's confidence interval, by Student's t; NaN for one value."""
        check_number("confidence", confidence, 0.0, 1.0)
        # With t = sqrt(n) tan(u), the density of t becomes cos(u)^(n - 1).
        n = max(self.count - 1, 1)
        u = np.linspace(0.0, min(np.pi / 2.0, 10.0 / np.sqrt(n)), 20_001)
        density = np.cos(u) ** (n - 1)
        share = density.cumsum() - (density + 1.0) / 2.0  # by the trapezoidal rule
        radius = np.sqrt(n) * np.tan(np.interp(confidence * share[-1], share, u))
        return self.mean - radius * self.standard_error, self.mean + radius * self.standard_error

    def at(self, index: Any) -> Statistics:
        """Returns the statistics of the elements at `index`."""
        mean, squared_deviation = self.mean[index], self.squared_deviation[index]
        return Statistics(self.count, np.asarray(mean), np.asarray(squared_deviation))

    def merge(self, other: Statistics) -> Statistics:
        """Returns the statistics of the values of both."""
        if self.count == 0 or other.count == 0:
            return self if other.count == 0 else other
        count = self.count + other.count
        difference = other.mean - self.mean
        mean = self.mean + difference * (other.count / count)
        between = difference**2 * (self.count * other.count / count)
        return Statistics(count, mean, self.squared_deviation + other.squared_deviation + between)


class MetricResult(NamedTuple):
    """What a metric has seen in T steps.

    Fields:
        per_step: statistics [T] over rows of each step's value.
        cumulative: statistics [T] over rows of the sum of the row's values up to each step.
        totals: the sum of each row's values over all steps: [B].

    >>> steps = np.array([[1.0, 3.0], [3.0, 5.0]])  # two rows, and a step a column
    >>> sums = steps.cumsum(axis=1)
    >>> result = MetricResult(Statistics.of(steps), Statistics.of(sums), sums[:, -1])
    >>> result.per_step.mean, float(result.mean.mean)
    (array([2., 4.]), 3.0)
    """

    per_step: Statistics
    cumulative: Statistics
    totals: NDArray[np.float64]

    @property
    def mean(self) -> Statistics:
        """Statistics over rows of the row's mean over all T steps; ValueError without steps."""
        steps = len(self.cumulative.mean)
        if steps == 0:
            raise ValueError("the metric has seen no steps, so it has no mean")
        last = self.cumulative.at(-1)
        return Statistics(last.count, last.mean / steps, last.squared_deviation / steps**2)

    def merge(self, other: MetricResult) -> MetricResult:
        """Returns the result over the rows of both; ValueError if they differ in steps."""
        steps, others = len(self.per_step.mean), len(other.per_step.mean)
        if steps != others:
            raise ValueError(f"other has {others} steps; expected {steps}")
        return MetricResult(
            self.per_step.merge(other.per_step),
            self.cumulative.merge(other.cumulative),
            np.concatenate([self.totals, other.totals]),
        )

    def as_one_value(self) -> MetricResult:
        """Returns the result with all rows taken as one, for rows that are not independent."""
        means = self.per_step.mean, self.cumulative.mean
        per_step, cumulative = (Statistics(1, mean, np.zeros_like(mean)) for mean in means)
        return MetricResult(per_step, cumulative, self.totals.mean(keepdims=True))


class _Seen(NamedTuple):
    """By step, means and squared deviations of values and of totals; and the totals [B]."""

    columns: tuple[list[float], list[float], list[float], list[float]]
    total: NDArray[np.float64]


class Metric(Stateful, abc.ABC):
    """An observer that keeps the statistics of one number a row and step.

    Call it with every trajectory, or put it among a driver's observers. A subclass implements
    `_values(trajectory)`, which returns the numbers [B]. It keeps four floats a step and one a row.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything seen."""
        self._state = _Seen(([], [], [], []), np.zeros(0))

    def __call__(self, trajectory: Trajectory) -> None:
        """Takes in one step of every row; if it does not fit, raises and changes nothing."""
        columns, total = self._state
        means, deviations, total_means, total_deviations = columns
        values = np.asarray(self._values(trajectory), np.float64)
        rows, mean_before = len(values), 0.0
        if not means:
            total = values.copy()
        elif rows == len(total):
            total, mean_before = total + values, total_means[-1]
        else:
            raise ValueError(f"trajectory has {rows} rows; expected {len(total)}, as before")
        mean = float(np.add.reduce(values)) / rows
        centred, centred_total = values - mean, total - (mean_before + mean)
        means.append(mean)
        deviations.append(float(centred.dot(centred)))
        total_means.append(mean_before + mean)
        total_deviations.append(float(centred_total.dot(centred_total)))
        self._state = _Seen(columns, total)

    def result(self) -> MetricResult:
        """Returns the statistics of every step seen so far."""
        columns, total = self._state
        means, deviations, total_means, total_deviations = map(np.array, columns)
        per_step = Statistics(len(total), means, deviations)
        cumulative = Statistics(len(total), total_means, total_deviations)
        return MetricResult(per_step, cumulative, total.copy())

    @abc.abstractmethod
    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number of each row: [B]."""

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Seen, columns=tuple, total=np.ndarray)
        (columns, total), table = content, np.array(content.columns)
        are_lists = all(type(column) is list for column in columns)
        if not are_lists or table.dtype != np.float64 or table.ndim != 2 or len(table) != 4:
            raise ValueError("columns are not four lists of as many floats")
        if total.dtype != np.float64 or total.ndim != 1 or (total.size > 0) != (table.size > 0):
            raise ValueError("total is not one float a row")


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

    def __init__(self, reward_fn: Callable[[Any], Any] | None = None) -> None:
        super().__init__()
        self._reward_fn = reward_fn

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        reward = trajectory.reward
        if self._reward_fn is not None:
            reward = self._reward_fn(reward)
        return check_rewards(reward, len(trajectory.step_type))


class RegretMetric(Metric):
    """How much less than the best action the chosen one is expected to bring, in the reward's unit.

        regret_t = max_a q_t(a) - q_t(A_t)

    It is computed from expected rewards, so it is never negative and has no noise of rewards.

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

    def __init__(self, env: PyEnvironment) -> None:
        super().__init__()
        self._env = env

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        info = self._env.get_info()
        if info is None:
            raise ValueError("env has been reset since the trajectory's step")
        return np.asarray(info["optimal_reward"] - info["expected_reward"])


class OptimalActionMetric(RegretMetric):
    """Percent of rows without regret, whose action had the largest expected reward: 0 to 100.

    Source: Sutton & Barto, 2nd ed., Figure 2.2, lower panel.

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(batch_size=2, seed=0)
    >>> before, metric = env.reset(), OptimalActionMetric(env)
    >>> best = env.optimal_action()
    >>> metric(Trajectory.from_transition(before, best, env.step(best)))
    >>> metric.result().per_step.mean
    array([100.])
    """

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        return np.asarray(100.0 * (super()._values(trajectory) <= 0.0))


METRICS: dict[str, Callable[[Any], Metric]] = {
    "reward": lambda env: AverageRewardMetric(
        sum_over_slots if isinstance(env.action_spec(), SlateSpec) else None
    ),
    "percent_optimal": OptimalActionMetric,
    "regret": RegretMetric,
}
"""How each metric of studies is made for an environment."""


class Quantity(NamedTuple):
    """A statistic of a metric, as studies show it: in panels of figures and in the summary.

    Fields:
        metric: its name in `METRICS`.
        statistics: returns the statistics, [T] or of the mean over all T steps.
        axis: the title of the panel's axis; "" if there is no panel.
        heading: of the column of the summary, which has the last step; "" for no column.
        form: how the summary writes a number.
        limits: of the panel's axis; None to fit the curves.
        of_runs: returns the quantity of each run [B], if it is one of whole runs; else None.
    """

    metric: str
    statistics: Callable[[MetricResult], Statistics]
    axis: str = ""
    heading: str = ""
    form: str = "{:.3f}"
    limits: tuple[float, float] | None = None
    of_runs: Callable[[MetricResult], NDArray[np.float64]] | None = None


def _run_means(result: MetricResult) -> NDArray[np.float64]:
    return result.totals / len(result.per_step.mean)


_STEP, _SUM, _MEAN = attrgetter("per_step"), attrgetter("cumulative"), attrgetter("mean")
QUANTITIES = {
    "reward": Quantity("reward", _STEP, "Average reward", "reward"),
    "percent_optimal": Quantity(
        "percent_optimal", _STEP, "% Optimal action", "% optimal", "{:.1f}", (0, 100)
    ),
    "regret": Quantity("regret", _STEP, "Average regret"),
    "mean_reward": Quantity("reward", _MEAN, heading="mean reward", of_runs=_run_means),
    "mean_percent_optimal": Quantity("percent_optimal", _MEAN, of_runs=_run_means),
    "cumulative_regret": Quantity(
        "regret", _SUM, "Cumulative regret", "regret", "{:.1f}", of_runs=attrgetter("totals")
    ),
}
"""Everything that the tables and figures of studies show, by name."""


def of_runs(result: Mapping[str, MetricResult]) -> dict[str, NDArray[np.float64]]:
    """Returns the quantities of whole runs that were measured: for each name, one a run."""
    return {
        name: quantity.of_runs(result[quantity.metric])
        for name, quantity in QUANTITIES.items()
        if quantity.of_runs and quantity.metric in result
    }


def compare(
    first: Mapping[str, MetricResult], second: Mapping[str, MetricResult]
) -> dict[str, Statistics]:
    """Returns the differences between two policies' runs, first minus second, by quantity.

    Run i of one policy is paired with run i of the other, so both must have met the same problems:
    give their environments the same seed. What problems differ in then cancels out.

    Args:
        first: results of metrics, by their names in `METRICS`.
        second: as `first`; metrics of one alone are left out.

    Raises:
        ValueError: they differ in the number of runs.

    >>> from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, RandomPolicy, StepDriver
    >>> def reward(policy):
    ...     env, metric = KArmedTestbed(3, batch_size=500, seed=0), AverageRewardMetric()
    ...     StepDriver(env, policy, [policy, metric], 50).run()
    ...     return {"reward": metric.result()}
    >>> results = reward(EpsilonGreedyPolicy(0.1, num_actions=3, batch_size=500, seed=1)), reward(
    ...     RandomPolicy(num_actions=3, batch_size=500, seed=1))
    >>> bool(compare(*results)["mean_reward"].interval(0.95)[0] > 0.0)
    True
    """
    ours, theirs = of_runs(first), of_runs(second)
    for name in ours.keys() & theirs.keys():
        if len(ours[name]) != len(theirs[name]):
            raise ValueError(f"second has {len(theirs[name])} runs; expected {len(ours[name])}")
    return {name: Statistics.of(ours[name] - theirs[name]) for name in ours if name in theirs}
