"""The engine: does what is missing of a study, on whatever joblib backend is active."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import joblib
import threadpoolctl

from bandit_envs.experiments.folder import ResultsFolder
from bandit_envs.experiments.studies import Task
from bandit_envs.experiments.task_files import TaskFiles
from bandit_envs.experiments.tasks import run_task


class Outcome(NamedTuple):
    """What became of a task.

    Fields:
        task: the task.
        error: what went wrong; None if its file is written.
    """

    task: Task
    error: str | None


def missing_tasks(folder: ResultsFolder) -> list[Task]:
    """Returns the tasks of a study that its folder has no result of, in order."""
    study = folder.study
    return [
        task for cell in study.cells() for task in study.tasks(cell) if not folder.files.has(task)
    ]


def run_tasks(folder: ResultsFolder, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Does tasks and writes their files, and yields their outcomes in the order they finish.

    Where they are done is joblib's affair: enter `joblib.parallel_config` to choose. The processes
    that do them must reach the folder. Results do not depend on it: linear algebra runs on one
    thread, in a task's own process and in this one.

    Raises:
        Exception: a worker died, or the backend failed; what was finished is in the folder.
    """
    do = joblib.delayed(_do)
    calls = (do(task, folder.files, os.getpid()) for task in tasks)
    with threadpoolctl.threadpool_limits(1):
        try:
            parallel = joblib.Parallel(return_as="generator_unordered")
        except ValueError:  # the backend has no generators: outcomes come when all are done
            parallel = joblib.Parallel()
        yield from parallel(calls)


def _do(task: Task, files: TaskFiles, main_process: int) -> Outcome:
    if os.getpid() != main_process:
        _use_one_thread()
    try:
        files.save(task, run_task(task))
    except Exception as error:  # whatever a task does, the others go on
        return Outcome(task, f"{type(error).__name__}: {error}")
    return Outcome(task, None)


@functools.cache
def _use_one_thread() -> None:
    threadpoolctl.threadpool_limits(1)
