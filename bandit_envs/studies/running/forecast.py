"""What a study will take: time, memory and room on disk, from a short trial of its tasks."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.extras import import_extra
from bandit_envs.metrics import kept_steps
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.running.tracking import Track, track_nothing
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.results.records import columns_of
from bandit_envs.studies.running.tasks import TaskRun

MOST = 40
"""At most so many policies in environments are tried; of more, some at equal distances."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a task takes: a part for each environment that it makes, and one for each step."""

    start: float
    step: float

    def of(self, task: Task) -> float:
        """Returns the seconds that a task takes."""
        return task.batches * (self.start + task.steps * self.step)


@dataclasses.dataclass(frozen=True)
class Forecast:
    """What some tasks will take on a machine like this one."""

    seconds: Floats
    """Of one processor for each task: [n]."""

    memory: int
    """Bytes of each worker; 0 where the system does not tell."""

    disk: int
    """Bytes of the results."""


def forecast(
    study: Study, tasks: Sequence[Task], seconds: float, track: Track = track_nothing
) -> Forecast:
    """Tries some tasks, and returns what all take.

    Policies in environments that are not tried are taken to cost as much as those that have the
    names of both, or of the policy, on average.

    Args:
        study: the study.
        tasks: the tasks, in increasing order; at least one.
        seconds: how long each policy in an environment is tried, at most about.
        track: shows how many have been tried.

    Raises:
        ValueError: a policy or an environment has failed.
    """
    first = [next(group) for _, group in itertools.groupby(tasks, attrgetter("position"))]
    places = np.unique(np.linspace(0, len(first) - 1, min(MOST, len(first))).astype(int))
    chosen = [first[place] for place in places]
    threadpoolctl = import_extra("threadpoolctl", "cli")
    with threadpoolctl.threadpool_limits(1):  # as in a worker
        tried = [(task, _try(task, seconds)) for task in track("trial", chosen)]
    costs = {task.position: cost for task, cost in tried}
    for task in first:
        if task.position not in costs:
            costs[task.position] = _cost_of_similar(task, tried)
    return Forecast(
        seconds=np.array([costs[task.position].of(task) for task in tasks]),
        memory=_peak_memory(),
        disk=sum(_num_bytes(study, task) for task in tasks),
    )


def _try(task: Task, seconds: float) -> Cost:
    """Runs the beginning of a task, and returns what it costs."""
    with name_in_errors(str(task), *task.modules):
        began = time.process_time()
        run = TaskRun(task, first_steps=1)
        first = run.advance()
        start = time.process_time() - began
        steps = 0
        began = time.process_time()
        while not run.has_ended and run.steps < task.steps and _since(began) < seconds:
            steps += run.advance()
        if not steps:  # all steps were the first ones
            return Cost(0.0, start / first)
        step = _since(began) / steps
    return Cost(max(start - first * step, 0.0), step)


def _since(began: float) -> float:
    """Returns the seconds of processor time since a time."""
    return time.process_time() - began


def _cost_of_similar(task: Task, tried: Sequence[tuple[Task, Cost]]) -> Cost:
    """Returns the mean cost of the most similar tasks that were tried."""
    same_policy = [each for each in tried if each[0].policy.name == task.policy.name]
    same_both = [each for each in same_policy if each[0].environment.name == task.environment.name]
    costs = [cost for _, cost in same_both or same_policy or tried]
    start = float(np.mean([cost.start for cost in costs]))
    return Cost(start, float(np.mean([cost.step for cost in costs])))


def _peak_memory() -> int:
    """Returns the largest memory that this process has had, in bytes; 0 if it is not known."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _num_bytes(study: Study, task: Task) -> int:
    """Returns how many bytes the result of a task has."""
    columns = columns_of(study.metrics, len(kept_steps(study.steps)), task.runs, len(task.kept))
    return sum(column.num_bytes for column in columns)
