"""The engine: does what is missing of a study, on whatever joblib backend is active."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import time
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import joblib
import threadpoolctl

from bandit_envs.studies.results import ResultsFolder
from bandit_envs.studies.study import Task
from bandit_envs.studies.task_files import TaskFiles
from bandit_envs.studies.tasks import run_task
from bandit_envs.studies.versions import described, versions

GROUP_SECONDS = 5.0
"""How long the tasks should take that are handed over at once, where outcomes come all at once."""

NAMED_TASKS = 8
"""How many tasks an error names."""


class Outcome(NamedTuple):
    """What became of a task.

    Fields:
        task: the task.
        error: what went wrong; None if its file is written.
    """

    task: Task
    error: str | None


class EngineError(RuntimeError):
    """The workers, or the disk that they write to, failed. What was finished is in the folder."""


def missing_tasks(folder: ResultsFolder) -> list[Task]:
    """Returns the tasks of a study that its folder has no result of, in order."""
    study = folder.study
    return [
        task
        for cell in study.cells()
        for task in study.tasks(cell)
        if folder.files.load(task) is None
    ]


def run_tasks(folder: ResultsFolder, tasks: Iterable[Task]) -> Generator[Outcome, None, None]:
    """Does tasks and writes their files, and yields their outcomes in the order they finish.

    Where they are done is joblib's affair: enter `joblib.parallel_config` to choose. The processes
    that do them must reach the folder. Results do not depend on it: linear algebra runs on one
    thread, in a task's own process and in this one, and a process with another NumPy is refused.

    Raises:
        EngineError: a worker died, a file could not be written, or the backend failed. Unless it is
            the disk's fault, the message names the tasks under way, one of which may be to blame.
    """
    do, here, expected = joblib.delayed(_do), _process(), versions()
    under_way: dict[tuple[int, int], Task] = {}  # in the order they were handed over

    def calls() -> Iterator[Any]:
        for task in tasks:
            under_way[task.cell.position, task.block] = task
            yield do(task, folder.files, here, expected)

    with threadpoolctl.threadpool_limits(1):
        try:
            for outcome in _outcomes(calls()):
                del under_way[outcome.task.cell.position, outcome.task.block]
                yield outcome
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if not isinstance(error, OSError):
                unfinished = [t for t in under_way.values() if folder.files.load(t) is None]
                text += f" (under way: {_named(unfinished)})" if unfinished else ""
            raise EngineError(text) from error


def _named(tasks: list[Task]) -> str:
    names = "; ".join(str(task) for task in tasks[:NAMED_TASKS])
    return f"{names}; {len(tasks) - NAMED_TASKS} more" if len(tasks) > NAMED_TASKS else names


def _outcomes(calls: Iterator[Any]) -> Iterator[Outcome]:
    try:
        parallel = joblib.Parallel(return_as="generator_unordered")
    except ValueError:  # the backend has no generators: outcomes come when all are done
        with joblib.Parallel() as parallel:
            size = joblib.effective_n_jobs(parallel.n_jobs)
            while group := list(itertools.islice(calls, size)):
                started = time.monotonic()
                outcomes = parallel(group)
                size *= 1 if time.monotonic() - started > GROUP_SECONDS else 2
                yield from outcomes
    else:
        yield from parallel(calls)


def _do(task: Task, files: TaskFiles, main_process: Any, expected: dict[str, Any]) -> Outcome:
    if _process() != main_process:
        _use_one_thread()
    if versions() != expected:
        found = f"{platform.node()} has {described(versions())}"
        return Outcome(task, f"{found}; expected {described(expected)}")
    try:
        result = run_task(task)
    except Exception as error:  # whatever a task does, the others go on
        return Outcome(task, f"{type(error).__name__}: {error}")
    files.save(task, result)
    return Outcome(task, None)


def _process() -> tuple[str, int]:
    return platform.node(), os.getpid()


@functools.cache
def _use_one_thread() -> None:
    threadpoolctl.threadpool_limits(1)
