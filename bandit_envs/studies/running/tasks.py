"""Runs tasks. A long task saves where it is, and goes on from there after it was stopped."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.drivers import StepDriver
from bandit_envs.environments.environment_choice import Environment
from bandit_envs.metrics import METRICS, kept_steps
from bandit_envs.policies import Policy
from bandit_envs.policies.delayed import learner
from bandit_envs.studies.definition.made_policy import make_policy
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.results.records import (
    TaskResult,
    merge,
    result_from_arrays,
    result_to_arrays,
)
from bandit_envs.studies.running.checkpoints import Checkpoint

STEPS_AT_A_TIME = 500
"""At most so many steps between two reports of progress."""

FIRST_STEPS = 50
"""So many steps before the first report."""

SECONDS_AT_A_TIME = 0.5
"""If they take longer than this, there are fewer steps between two reports."""

Progress = Callable[[int], None]
"""Is called with numbers of steps taken."""


def run_task(
    task: Task, progress: Progress | None = None, checkpoint: Checkpoint | None = None
) -> TaskResult:
    """Makes the runs of a task.

    Seeds depend on the block alone, or on the number of a run whose rows share a problem: all
    policies meet the same problems.

    Args:
        task: the task.
        progress: is called with numbers of steps taken.
        checkpoint: where a long task is saved. The task goes on from what it holds.
    """
    checkpoint = checkpoint or Checkpoint(None, {})
    run = _resume(task, checkpoint.load())
    if progress is not None:
        progress(run.steps)
    while not run.has_ended:
        if checkpoint.is_due():
            checkpoint.save(run.get_state)
        steps = run.advance()
        if progress is not None:
            progress(steps)
    checkpoint.remove()
    return run.result


def _resume(task: Task, saved: Any) -> TaskRun:
    """Returns the run of a task at a state that was saved.

    It starts anew without one, or if the state does not fit: a file may hold an estimator with
    parts that its reader does not trust.
    """
    run = TaskRun(task)
    if saved is None:
        return run
    try:
        run.set_state(saved)
    except (KeyError, TypeError, ValueError):
        return TaskRun(task)
    return run


class TaskRun:
    """A task that runs step by step. Its batches run one after the other.

    Args:
        task: the task.
        first_steps: so many steps of a batch before the first report.
    """

    def __init__(self, task: Task, first_steps: int = FIRST_STEPS) -> None:
        self._task = task
        self._first_steps = first_steps
        self._num_ended = 0
        self._result: TaskResult = {}
        self._batch: Batch | None = None  # between two batches

    @property
    def steps(self) -> int:
        """The number of steps taken, of all batches."""
        steps = self._num_ended * self._task.steps
        return steps if self._batch is None else steps + self._batch.steps

    @property
    def has_ended(self) -> bool:
        """Whether all batches have ended."""
        return self._num_ended == self._task.batches

    @property
    def result(self) -> TaskResult:
        """What the batches that have ended have measured."""
        return self._result

    def advance(self) -> int:
        """Takes some steps and returns how many."""
        batch = self._batch or self._next_batch()
        steps = batch.advance()
        self._batch = batch
        if batch.steps == self._task.steps:
            found = batch.result()
            self._result = merge(self._result, found) if self._result else found
            self._num_ended += 1
            self._batch = None
        return steps

    def _next_batch(self) -> Batch:
        return Batch(self._task, self._task.block + self._num_ended, self._first_steps)

    def get_state(self) -> Any:
        """Returns the whole state, which `save_state` writes."""
        return {
            "ended": self._num_ended,
            "result": result_to_arrays(self._result),
            "batch": None if self._batch is None else self._batch.get_state(),
        }

    def set_state(self, state: Any) -> None:
        """Returns to a state of `get_state`."""
        self._num_ended = state["ended"]
        if self._num_ended:
            steps = kept_steps(self._task.steps)
            arrays = state["result"]
            self._result = result_from_arrays(self._task.metrics, steps, arrays, self._num_ended)
        self._batch = None
        if state["batch"] is not None:
            self._batch = self._next_batch()
            self._batch.set_state(state["batch"])


def make_pair(task: Task, number: int, runs: int) -> tuple[Environment, Policy]:
    """Returns the environment and the policy of a block, or of a run whose rows share a problem.

    The policy learns a model for each row if rows are problems of their own.
    """
    root = np.random.SeedSequence(task.seed, spawn_key=(number,))
    env_seed, policy_seed = root.spawn(2)
    env = task.environment.make(runs, env_seed)
    return env, make_policy(task.environment, task.policy, env, env_seed, policy_seed)


class Batch:
    """An environment with a row for each run, or one run whose rows share a problem.

    Args:
        task: the task that it belongs to.
        number: of the block, or of the run.
        first_steps: so many steps before the first report.
    """

    def __init__(self, task: Task, number: int, first_steps: int = FIRST_STEPS) -> None:
        self.steps = 0
        """The number of steps taken."""

        self._task = task
        self._is_one_run = not task.environment.entry.independent_rows
        self._env, self._policy = make_pair(task, number, 1 if self._is_one_run else task.runs)
        self._metrics = {name: METRICS[name](self._env, self._policy) for name in task.metrics}
        self._observers = (learner(self._env, self._policy), *self._metrics.values())
        self._may_end = all(metric.ends_when_stopped for metric in self._metrics.values())
        self._sums: list[NDArray[np.float32]] = []
        self._steps_at_a_time = first_steps

    def advance(self) -> int:
        """Takes some steps and returns how many."""
        kept = self._task.kept
        stop = min(self.steps + self._steps_at_a_time, self._task.steps)
        next_kept = bisect.bisect_right(kept, self.steps)
        if next_kept < len(kept):
            stop = min(stop, kept[next_kept])
        taken = stop - self.steps
        start = time.perf_counter()
        driver = self._driver(taken)
        if self._may_end:
            driver.run_until_stopped()
        else:
            driver.run()
        is_slow = time.perf_counter() - start > SECONDS_AT_A_TIME
        self._steps_at_a_time = max(1, taken // 2) if is_slow else min(2 * taken, STEPS_AT_A_TIME)
        self.steps = stop
        if stop in kept:
            totals = [metric.totals for metric in self._metrics.values()]
            self._sums.append(np.array(totals, np.float32))
        return taken

    def _driver(self, steps: int) -> StepDriver:
        """Returns a driver that takes so many steps."""
        return StepDriver(self._env, self._policy, self._observers, steps)

    def get_state(self) -> Any:
        """Returns the whole state, which `save_state` writes."""
        return {"steps": self.steps, "sums": self._sums, "driver": self._driver(1).get_state()}

    def set_state(self, state: Any) -> None:
        """Returns to a state of `get_state`."""
        self._driver(1).set_state(state["driver"])
        self.steps = state["steps"]
        self._sums = state["sums"]

    def result(self) -> TaskResult:
        """Returns what was measured. Rows that share a problem count as one."""
        result = {}
        for place, (name, metric) in enumerate(self._metrics.items()):
            found = metric.result().continued(self._task.steps)
            if self._task.kept:
                found = found._replace(curves=np.array([sums[place] for sums in self._sums]))
            result[name] = found.as_one_value() if self._is_one_run else found
        return result
