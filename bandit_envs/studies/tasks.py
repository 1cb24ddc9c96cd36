"""Running a task: the only place where a study meets environments, policies and metrics."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bandit_envs.drivers import StepDriver
from bandit_envs.studies.study import Task
from bandit_envs.metrics import AverageRewardMetric, MetricResult, OptimalActionMetric, RegretMetric


class Result(NamedTuple):
    """What was measured of a policy in an environment.

    Fields:
        metrics: by name, in the order of the study.
        runs: how many runs.
        seconds: how long they took, in the process that made them.
    """

    metrics: dict[str, MetricResult]
    runs: int
    seconds: float

    def merge(self, other: Result) -> Result:
        """Returns the result over the runs of both."""
        merged = {name: one.merge(other.metrics[name]) for name, one in self.metrics.items()}
        return Result(merged, self.runs + other.runs, self.seconds + other.seconds)


def run_task(task: Task) -> Result:
    """Makes the runs of a task.

    Seeds come from the block's position alone. So every policy meets the same problems, whichever
    others there are, and whoever runs what.
    """
    started = time.perf_counter()
    root = np.random.SeedSequence(task.seed, spawn_key=(task.block,))
    env_seed, policy_seed = root.spawn(2)
    env = task.cell.environment.make(task.runs, env_seed)
    policy = task.cell.policy.make(env, policy_seed)
    available = {
        "reward": AverageRewardMetric(),
        "percent_optimal": OptimalActionMetric(env),
        "regret": RegretMetric(env),
    }
    metrics = {name: available[name] for name in task.metrics}
    StepDriver(env, policy, (policy, *metrics.values()), task.steps).run()
    results = {name: metric.result() for name, metric in metrics.items()}
    if not task.cell.environment.rows_are_runs:
        results = {name: result.as_one_value() for name, result in results.items()}
    return Result(results, task.runs, time.perf_counter() - started)


def merge_results(results: Iterable[Result]) -> Result | None:
    """Returns the result over all runs, merged in the order given; None if there are none."""
    merged: Result | None = None
    for result in results:
        merged = result if merged is None else merged.merge(result)
    return merged
