"""The metrics of studies, what studies show of them, and comparisons of policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.slates import sum_over_slots
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


class Quantity(NamedTuple):
    """A statistic of a metric, as studies show it: in panels of figures and in tables."""

    metric: str  # the name of the row that makes it
    kind: str  # the field of its `MetricResult`: per_step, or of whole runs cumulative or mean
    axis: str = ""  # the title of the panel's axis; "" if there is no panel
    heading: str = ""  # of the column of the summary, of the last step; "" for no column
    decimals: int = 3  # of numbers in the summary, at least
    limits: tuple[float, float] | None = None  # of the panel's axis; None to fit the curves
    make: Callable[[Any], Metric] | None = None  # returns the metric for an environment

    def statistics(self, result: MetricResult) -> Statistics:
        """Returns the statistics [T], or of the mean over all T steps."""
        found: Statistics = getattr(result, self.kind)
        return found

    def texts(self, *numbers: float, error: float) -> list[str]:
        """Returns numbers as the summary writes them: with two digits of their error, if any."""
        digits = 1 - math.floor(math.log10(error)) if 1e-9 < error < 1.0 else 0
        decimals = max(self.decimals, digits)
        return [f"{number:.{decimals}f}" for number in numbers]

    def of_runs(self, sums: NDArray[Any], steps: Iterable[int]) -> NDArray[np.float64]:
        """Returns the quantity of each run [n, B], of the sums [n, B] of its first `steps` [n].

        If it is one of each step, that is the mean over the steps since those before.
        """
        sums, counts = np.asarray(sums, np.float64), np.array([*steps])[:, np.newaxis]
        if self.kind == "per_step":
            sums, counts = (np.diff(array, axis=0, prepend=0) for array in (sums, counts))
        return sums if self.kind == "cumulative" else sums / counts


_STEP, _SUM, _MEAN = "per_step", "cumulative", "mean"
QUANTITIES = {
    "reward": Quantity("reward", _STEP, "Average reward", "reward", make=_reward_metric),
    "percent_optimal": Quantity(
        *("percent_optimal", _STEP, "% Optimal action", "% optimal", 1, (0, 100)),
        make=OptimalActionMetric,
    ),
    "regret": Quantity("regret", _STEP, "Average regret", make=RegretMetric),
    "mean_reward": Quantity("reward", _MEAN, heading="mean reward"),
    "mean_percent_optimal": Quantity("percent_optimal", _MEAN),
    "pareto_regret": Quantity(
        "pareto_regret", _STEP, "Average Pareto regret", make=ParetoRegretMetric
    ),
    "violations": Quantity(
        "violations", _STEP, "Share of violations", "violations", make=ConstraintViolationMetric
    ),
    "cumulative_regret": Quantity("regret", _SUM, "Cumulative regret", "regret", 1),
    "cumulative_pareto_regret": Quantity(
        "pareto_regret", _SUM, "Cumulative Pareto regret", "Pareto regret", 1
    ),
    "mean_violations": Quantity("violations", _MEAN),
}
"""The metrics of studies, and everything that tables and figures show of them, by name."""

METRICS = {name: quantity.make for name, quantity in QUANTITIES.items() if quantity.make}
"""How each of the metrics is made for an environment."""


def of_runs(result: Mapping[str, MetricResult]) -> dict[str, NDArray[np.float64]]:
    """Returns the quantities of whole runs that were measured: for each name, one a run."""
    return {
        name: quantity.of_runs(found.totals[np.newaxis], [len(found.per_step.mean)])[0]
        for name, quantity in QUANTITIES.items()
        if quantity.kind != _STEP and (found := result.get(quantity.metric))
    }


def compare(
    first: Mapping[str, MetricResult], second: Mapping[str, MetricResult]
) -> dict[str, Statistics]:
    """Returns the differences between two policies' runs, first minus second, by quantity.

    Run i of one policy is paired with run i of the other, so both must have met the same problems:
    give their environments the same seed. What problems differ in then cancels out.

    Both have results of metrics by their names in `QUANTITIES`. Metrics of one alone are left out.

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
