"""The metrics of studies, what studies show of them, and comparisons of policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import sum_over_slots
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.metrics.bandits import (
    AverageRewardMetric,
    ConstraintViolationMetric,
    OptimalActionMetric,
    ParetoRegretMetric,
    RegretMetric,
)
from bandit_envs.metrics.metric import Metric
from bandit_envs.metrics.statistics import MetricResult, Statistics
from bandit_envs.specs import ArraySpec, SlateSpec


def _reward_metric(env: PyEnvironment) -> AverageRewardMetric:
    spec = env.reward_spec()
    if isinstance(env.action_spec(), SlateSpec):
        return AverageRewardMetric(sum_over_slots)
    if isinstance(spec, dict) and "constraint" in spec:
        return AverageRewardMetric(itemgetter("reward"))
    if isinstance(spec, ArraySpec) and not spec.shape:
        return AverageRewardMetric()
    raise NotImplementedError(f"{env.name} has rewards that are not numbers")


METRICS: dict[str, Callable[[Any], Metric]] = {
    "reward": _reward_metric,
    "percent_optimal": OptimalActionMetric,
    "regret": RegretMetric,
    "pareto_regret": ParetoRegretMetric,
    "violations": ConstraintViolationMetric,
}
"""How each metric of studies is made for an environment."""


class Quantity(NamedTuple):
    """A statistic of a metric, as studies show it: in panels of figures and in the summary."""

    metric: str  # its name in `METRICS`
    statistics: Callable[[MetricResult], Statistics]  # [T], or of the mean over all T steps
    axis: str = ""  # the title of the panel's axis; "" if there is no panel
    heading: str = ""  # of the column of the summary, of the last step; "" for no column
    form: str = "{:.3f}"  # how the summary writes a number
    limits: tuple[float, float] | None = None  # of the panel's axis; None to fit the curves
    of_runs: Callable[[MetricResult], NDArray[np.float64]] | None = None  # [B], of whole runs


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
    "pareto_regret": Quantity("pareto_regret", _STEP, "Average Pareto regret"),
    "violations": Quantity("violations", _STEP, "Share of violations", "violations"),
    "cumulative_regret": Quantity(
        "regret", _SUM, "Cumulative regret", "regret", "{:.1f}", of_runs=attrgetter("totals")
    ),
    "cumulative_pareto_regret": Quantity(
        "pareto_regret",
        _SUM,
        "Cumulative Pareto regret",
        "Pareto regret",
        "{:.1f}",
        of_runs=attrgetter("totals"),
    ),
    "mean_violations": Quantity("violations", _MEAN, of_runs=_run_means),
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
