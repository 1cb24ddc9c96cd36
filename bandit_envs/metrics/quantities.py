"""The metrics of studies, the quantities that they measure, and comparisons of policies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.metrics.bandits import (
    AverageRewardMetric,
    ConstraintViolationMetric,
    OptimalActionMetric,
    ParetoRegretMetric,
    RegretMetric,
)
from bandit_envs.metrics.best_arm import (
    BiasMetric,
    CoverageMetric,
    ErrorMetric,
    SimpleRegretMetric,
    StoppedMetric,
    StoppingTimeMetric,
)
from bandit_envs.metrics.exploration import (
    GreedyChoiceMetric,
    MinimalFractionMetric,
    SuffixFailureMetric,
)
from bandit_envs.metrics.knapsack_regret import KnapsackRegretMetric
from bandit_envs.metrics.lost_reward import LostRewardMetric
from bandit_envs.metrics.metric import Metric
from bandit_envs.metrics.statistics import MetricResult, Statistics
from bandit_envs.policies import Policy
from bandit_envs.rounding import subtract
from bandit_envs.specs import ArraySpec


def _make_reward_metric(env: PyEnvironment, policy: Policy) -> AverageRewardMetric:
    """Returns the metric of the rewards of an environment, where these are numbers."""
    spec = env.reward_spec()
    if env.action_kind.is_slate:
        return AverageRewardMetric(env.action_kind.total)
    if isinstance(spec, dict) and "constraint" in spec:
        return AverageRewardMetric(itemgetter("reward"))
    if isinstance(spec, ArraySpec) and not spec.shape:
        return AverageRewardMetric()
    raise NotImplementedError(f"{env.name} has rewards that are not numbers")


def _require_unchanged_state(env: PyEnvironment) -> PyEnvironment:
    """Returns `env`; NotImplementedError if actions change its state.

    If they do not, the regrets of single steps add up to what a run has lost.
    """
    if env.actions_change_state:
        problem = "actions change what later steps pay"
        raise NotImplementedError(f"{problem}; expected lost_reward, or one_step_regret")
    return env


METRICS: dict[str, Callable[[PyEnvironment, Policy], Metric]] = {
    "reward": _make_reward_metric,
    "percent_optimal": lambda env, policy: OptimalActionMetric(_require_unchanged_state(env)),
    "regret": lambda env, policy: RegretMetric(_require_unchanged_state(env)),
    "one_step_percent_optimal": lambda env, policy: OptimalActionMetric(env),
    "one_step_regret": lambda env, policy: RegretMetric(env),
    "lost_reward": lambda env, policy: LostRewardMetric(env),
    "pareto_regret": lambda env, policy: ParetoRegretMetric(_require_unchanged_state(env)),
    "violations": lambda env, policy: ConstraintViolationMetric(env),
    "knapsack_regret": lambda env, policy: KnapsackRegretMetric(env),
    "simple_regret": lambda env, policy: SimpleRegretMetric(_require_unchanged_state(env), policy),
    "error": lambda env, policy: ErrorMetric(_require_unchanged_state(env), policy),
    "stopping_time": StoppingTimeMetric,
    "stopped": StoppedMetric,
    "bias": BiasMetric,
    "coverage": CoverageMetric,
    "suffix_failure": lambda env, policy: SuffixFailureMetric(env),
    "minimal_fraction": lambda env, policy: MinimalFractionMetric(env),
    "greedy": lambda env, policy: GreedyChoiceMetric(env),
}
"""The metrics of studies, by name: each is made for an environment and a policy."""

ON_REQUEST = frozenset(
    {
        "knapsack_regret",
        "bias",
        "coverage",
        "suffix_failure",
        "minimal_fraction",
        "greedy",
    }
)
"""The metrics that a study measures only if it names them; of others, all that are known."""


IN_PLACE_OF = {"one_step_percent_optimal": "percent_optimal", "one_step_regret": "regret"}
"""Metrics that a study measures, unless it names some, where it cannot measure the others."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quantity:
    """A statistic of a metric over runs, and how figures and tables show it."""

    metric: str
    """The name of the metric in `METRICS`."""

    kind: Literal["per_step", "cumulative", "mean"]
    """The field of its `MetricResult`: of each step, or of whole runs their sum or their mean."""

    is_share: bool = False
    """Whether its mean over steps is a share, as each row's value is one of two numbers."""

    is_probability: bool = False
    """Whether it is 0 or 1 in each run, so that its mean has Wilson's interval."""

    axis: str = ""
    """The title of the panel's axis; "" if there is no panel."""

    heading: str = ""
    """The heading of the column of the summary, of the last step; "" for no column."""

    decimals: int = 3
    """The smallest number of decimals in the summary."""

    limits: tuple[float, float] | None = None
    """The limits of the panel's axis; None to fit the curves."""

    ranks: bool = True
    """Whether a policy that has more of it, or less, is better: else policies are not compared."""

    quantiles: tuple[float, ...] = ()
    """The quantiles over runs that the summary has beside the mean."""

    def statistics(self, result: MetricResult) -> Statistics:
        """Returns the statistics [T], or of the mean over all T steps."""
        if self.kind == "per_step":
            return result.per_step
        return result.cumulative if self.kind == "cumulative" else result.mean

    def interval(self, statistics: Statistics) -> tuple[Floats, Floats]:
        """Returns means less and plus one standard error; of probabilities, Wilson's interval.

        That is the interval of the same confidence, 68.3%.
        """
        if self.is_probability:
            return statistics.wilson_interval(math.erf(math.sqrt(0.5)))
        error = np.nan_to_num(statistics.standard_error)  # one run has none
        return statistics.mean - error, statistics.mean + error

    def of_runs(self, sums: ArrayLike, steps: Iterable[int]) -> Floats:
        """Returns the quantity of each run [n, B], of the sums [n, B] of its first `steps` [n].

        If it is one of each step, that is the mean over the steps since those before; a share is
        that of all steps so far.
        """
        amounts = np.asarray(sums, np.float64)
        counts = np.array([*steps])[:, np.newaxis]
        if self.kind == "cumulative":
            return amounts
        if self.kind == "per_step" and not self.is_share:
            amounts = np.diff(amounts, axis=0, prepend=0)
            counts = np.diff(counts, axis=0, prepend=0)
        return np.asarray(amounts / counts)

    def shown_runs(self, sums: ArrayLike, steps: Iterable[int]) -> Floats:
        """Returns what quantiles over runs are taken of: that of each run, or shares of all steps.

        Between two steps, a quantity of 0 or 1 in each step has few values, and quantiles of them
        say little.
        """
        at = [*steps]
        if self.shows_share(sums, at):
            return np.asarray(np.asarray(sums, np.float64) / np.array(at)[:, np.newaxis])
        return self.of_runs(sums, at)

    def shows_share(self, sums: ArrayLike, steps: Iterable[int]) -> bool:
        """Whether sums [n, B] of the first `steps` [n] are of a quantity of 0 or 1 in each step."""
        if self.kind != "per_step" or self.is_share:
            return self.is_share
        amounts = np.diff(np.asarray(sums, np.float64), axis=0, prepend=0)
        most = np.diff(np.array([*steps]), prepend=0)[:, np.newaxis]
        is_count = (amounts == np.rint(amounts)) & (amounts >= 0.0) & (amounts <= most)
        return amounts.size > 0 and bool(is_count.all())


QUANTITIES = {
    "reward": Quantity(metric="reward", kind="per_step", axis="Average reward", heading="reward"),
    "percent_optimal": Quantity(
        metric="percent_optimal",
        kind="per_step",
        is_share=True,
        axis="% Optimal action",
        heading="% optimal",
        decimals=1,
        limits=(0, 100),
    ),
    "one_step_percent_optimal": Quantity(
        metric="one_step_percent_optimal",
        kind="per_step",
        is_share=True,
        axis="% Optimal for one step",
        heading="% optimal for one step",
        decimals=1,
        limits=(0, 100),
        ranks=False,
    ),
    "regret": Quantity(metric="regret", kind="per_step", axis="Average regret"),
    "one_step_regret": Quantity(
        metric="one_step_regret", kind="per_step", axis="Average one-step regret", ranks=False
    ),
    "mean_reward": Quantity(metric="reward", kind="mean", heading="mean reward"),
    "mean_percent_optimal": Quantity(metric="percent_optimal", kind="mean"),
    "mean_one_step_percent_optimal": Quantity(
        metric="one_step_percent_optimal", kind="mean", ranks=False
    ),
    "pareto_regret": Quantity(
        metric="pareto_regret", kind="per_step", axis="Average Pareto regret"
    ),
    "violations": Quantity(
        metric="violations",
        kind="per_step",
        is_share=True,
        axis="Share of violations",
        heading="violations",
    ),
    "cumulative_regret": Quantity(
        metric="regret", kind="cumulative", axis="Cumulative regret", heading="regret", decimals=1
    ),
    "cumulative_one_step_regret": Quantity(
        metric="one_step_regret",
        kind="cumulative",
        axis="Cumulative one-step regret",
        heading="one-step regret",
        decimals=1,
        ranks=False,
    ),
    "lost_reward": Quantity(
        metric="lost_reward",
        kind="cumulative",
        axis="Lost reward",
        heading="lost reward",
        decimals=1,
    ),
    "cumulative_pareto_regret": Quantity(
        metric="pareto_regret",
        kind="cumulative",
        axis="Cumulative Pareto regret",
        heading="Pareto regret",
        decimals=1,
    ),
    "mean_violations": Quantity(metric="violations", kind="mean"),
    "knapsack_regret": Quantity(
        metric="knapsack_regret",
        kind="cumulative",
        axis="Regret with the budget",
        heading="regret with the budget",
        decimals=1,
    ),
    "simple_regret": Quantity(
        metric="simple_regret",
        kind="cumulative",
        axis="Simple regret",
        heading="simple regret",
        decimals=4,
    ),
    "error": Quantity(
        metric="error",
        kind="cumulative",
        is_probability=True,
        axis="Probability of error",
        heading="errors",
    ),
    "stopping_time": Quantity(
        metric="stopping_time",
        kind="cumulative",
        axis="Steps until the stop",
        heading="steps until the stop",
        decimals=0,
        quantiles=(0.05, 0.5, 0.95),
    ),
    "stopped": Quantity(
        metric="stopped",
        kind="cumulative",
        axis="% Stopped",
        heading="% stopped",
        decimals=1,
        limits=(0, 100),
    ),
    "bias": Quantity(
        metric="bias",
        kind="cumulative",
        axis="Bias of the best action's mean",
        heading="bias of the mean",
        decimals=4,
    ),
    "coverage": Quantity(
        metric="coverage",
        kind="cumulative",
        axis="% Intervals hold",
        heading="% intervals hold",
        decimals=1,
        limits=(0, 100),
    ),
    "suffix_failure": Quantity(
        metric="suffix_failure",
        kind="cumulative",
        is_probability=True,
        axis="Suffix failure frequency",
        heading="suffix failures",
    ),
    "minimal_fraction": Quantity(
        metric="minimal_fraction",
        kind="cumulative",
        axis="Minimal fraction, times K",
        heading="minimal fraction",
    ),
    "greedy": Quantity(metric="greedy", kind="per_step", is_share=True, axis="% Greedy choices"),
    "mean_greedy": Quantity(metric="greedy", kind="mean", heading="% greedy", decimals=1),
}
"""Everything that studies measure, by name."""


def of_runs(result: Mapping[str, MetricResult]) -> dict[str, Floats]:
    """Returns the quantities of whole runs that were measured: for each name, one a run."""
    values = {}
    for name, quantity in QUANTITIES.items():
        if quantity.kind != "per_step" and quantity.metric in result:
            found = result[quantity.metric]
            values[name] = quantity.of_runs(found.totals[np.newaxis], [found.num_steps])[0]
    return values


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
    ours = of_runs(first)
    theirs = of_runs(second)
    differences = {}
    for name, values in ours.items():
        if name in theirs:
            if len(values) != len(theirs[name]):
                raise ValueError(f"second has {len(theirs[name])} runs; expected {len(values)}")
            differences[name] = Statistics.from_values(subtract(values, theirs[name]))
    return differences
