"""Runs tasks."""

import itertools
from collections.abc import Callable

import numpy as np

from bandit_envs.drivers import StepDriver
from bandit_envs.metrics import METRICS
from bandit_envs.policies import Policy
from bandit_envs.policies.delayed import learner
from bandit_envs.studies.choice import Environment
from bandit_envs.studies.records import Result, merge
from bandit_envs.studies.study import Task

STEPS_AT_A_TIME = 500
"""Steps between two reports of progress."""

Progress = Callable[[int], None]
"""Is called with numbers of steps taken."""


def run_task(task: Task, progress: Progress | None = None) -> Result:
    """Makes the runs of a task.

    Seeds depend on the block alone, or on the number of a run whose rows share a problem: all
    policies meet the same problems.
    """
    if task.environment.entry.independent_rows:
        return _run_batch(task, task.block, task.runs, progress)
    numbers = range(task.block, task.block + task.runs)
    return merge(_run_shared_problem(task, number, progress) for number in numbers)


def make_pair(task: Task, number: int, runs: int) -> tuple[Environment, Policy]:
    """Returns the environment and the policy of a block, or of a run whose rows share a problem."""
    root = np.random.SeedSequence(task.seed, spawn_key=(number,))
    env_seed, policy_seed = root.spawn(2)
    env = task.environment.make(runs, env_seed)
    return env, task.policy.make(env, policy_seed)


def _run_shared_problem(task: Task, number: int, progress: Progress | None) -> Result:
    """Returns the result of a run whose rows share a problem: they count as one."""
    batch = _run_batch(task, number, 1, progress)
    return {name: found.as_one_value() for name, found in batch.items()}


def _run_batch(task: Task, number: int, runs: int, progress: Progress | None) -> Result:
    """Returns the result of one environment, with a row for each run."""
    env, policy = make_pair(task, number, runs)
    metrics = {name: METRICS[name](env, policy) for name in task.metrics}
    observers = (learner(env, policy), *metrics.values())
    may_end = all(metric.ends_when_stopped for metric in metrics.values())
    sums = []
    stops = {*range(0, task.steps, STEPS_AT_A_TIME), *task.kept, task.steps}
    for start, stop in itertools.pairwise(sorted(stops)):
        driver = StepDriver(env, policy, observers, stop - start)
        if may_end:
            driver.run_until_stopped()
        else:
            driver.run()
        if progress is not None:
            progress(stop - start)
        if stop in task.kept:
            sums.append(np.array([metric.totals for metric in metrics.values()], np.float32))
    result = {name: metric.result().continued(task.steps) for name, metric in metrics.items()}
    if not task.kept:
        return result
    curves = np.stack(sums, axis=1)
    return {
        name: found._replace(curves=curve) for (name, found), curve in zip(result.items(), curves)
    }
