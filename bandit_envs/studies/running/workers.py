"""What a worker does: it reads a study from its folder, and runs bundles of its tasks."""

from __future__ import annotations

import functools
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import threadpoolctl

from bandit_envs.metrics import kept_steps
from bandit_envs.names.choice import describe_failure
from bandit_envs.names.users_code import exits_as_errors
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.definition.user_modules import check_same_modules
from bandit_envs.studies.results.assignment import VERSIONS, Assignment
from bandit_envs.studies.results.records import (
    TaskResult,
    columns_of,
    encode_record,
    result_to_arrays,
)
from bandit_envs.studies.results.task_folder import CHECKPOINT, PROGRESS, RECORDS, read_number
from bandit_envs.studies.running.checkpoints import Checkpoint
from bandit_envs.studies.running.tasks import run_task

SECONDS_BETWEEN_REPORTS = 0.5
"""A worker writes at most so often how many steps it has taken."""

_THREAD = threading.local()


class Bundle(NamedTuple):
    """Some tasks of a study: all that is sent to a worker."""

    folder: str
    """Of the tasks."""

    assignment: str
    """The token of the assignment that the workers should read there."""

    ranges: tuple[tuple[int, int], ...]
    """The first number of some tasks, and the number after the last of them."""

    @property
    def tasks(self) -> Iterator[int]:
        """The numbers of the tasks."""
        return (number for first, end in self.ranges for number in range(first, end))


class BundleOutcome(NamedTuple):
    """What became of a bundle."""

    num_tasks: int
    seconds: float
    problems: tuple[str, ...]
    """What went wrong in tasks that failed."""


def run_bundle(bundle: Bundle) -> BundleOutcome:
    """Runs the tasks of a bundle, and writes what each has found once it has finished."""
    start = time.perf_counter()
    _use_one_thread()  # results of linear algebra may depend on their number
    assignment = _read_assignment(bundle.folder, bundle.assignment)
    numbers = list(bundle.tasks)
    if not VERSIONS.items() <= assignment.versions.items():
        problem = f"{platform.node()} has {VERSIONS}; expected {assignment.versions}"
        problems = [f"task {number}: {problem}" for number in numbers]
    else:
        study = _restored_study(bundle.folder, bundle.assignment)
        with WorkerFile(Path(bundle.folder), assignment.digest) as file:
            problems = []
            for number in numbers:
                problem = _try_task(study.task(number), file)
                if problem:
                    problems.append(problem)
    return BundleOutcome(len(numbers), time.perf_counter() - start, tuple(problems))


def _try_task(task: Task, file: WorkerFile) -> str:
    """Runs a task and writes its result. Returns what went wrong, or ""."""
    try:
        with exits_as_errors():
            result = run_task(task, file.add_steps, file.checkpoint(task))
    except Exception as error:  # users' classes raise any
        return f"{task}: {describe_failure(error, task.environment, task.policy)}"
    file.save(task, result)
    return ""


class WorkerFile:
    """The file to which one worker appends results, and the one in which it counts steps.

    It is a context manager. A file is of one thread of one process: no other one appends to it.

    Args:
        folder: of the tasks.
        digest: of the study.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        name = _name_of_worker()
        self._folder = folder
        self._path = folder / f"{name}{RECORDS}"
        self._progress = folder / f"{PROGRESS}{name}"
        self._digest = digest
        self._descriptor: int | None = None
        self._steps = 0
        self._next_report = time.monotonic() + SECONDS_BETWEEN_REPORTS

    def __enter__(self) -> WorkerFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            try:
                os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)
        if self._steps:
            self._report()

    def checkpoint(self, task: Task) -> Checkpoint:
        """Returns where a long task is saved, for any worker to go on with it."""
        path = self._folder / f"{CHECKPOINT}{task.number}.npz"
        return Checkpoint(path, self._header(task))

    def _header(self, task: Task) -> dict[str, Any]:
        """Returns what tells the results of a task from others."""
        return {
            "study": self._digest,
            "task": task.number,
            "runs": task.runs,
            "kept": list(task.kept),
        }

    def save(self, task: Task, result: TaskResult) -> None:
        """Appends the result of a task."""
        header = self._header(task)
        points = len(kept_steps(task.steps))
        columns = columns_of(task.metrics, points, task.runs, len(task.kept))
        self._append(encode_record(header, result_to_arrays(result), columns))

    def _append(self, record: bytes) -> None:
        """Appends a record, or nothing: if the disk is full, it removes what it has written."""
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self._path, flags, 0o666)
        size = os.fstat(self._descriptor).st_size
        rest = memoryview(record)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except BaseException:
            os.ftruncate(self._descriptor, size)
            raise

    def add_steps(self, steps: int) -> None:
        """Adds steps to those taken."""
        self._steps += steps
        if time.monotonic() >= self._next_report:
            self._report()
            self._next_report = time.monotonic() + SECONDS_BETWEEN_REPORTS

    def _report(self) -> None:
        """Writes how many steps this worker has taken."""
        self._progress.write_text(str(read_number(self._progress) + self._steps))
        self._steps = 0


def _name_of_worker() -> str:
    """Returns a name that no other thread has, in any process that writes to the folder."""
    owner = os.getpid()
    if getattr(_THREAD, "owner", None) != owner:
        _THREAD.owner = owner
        _THREAD.name = f"{platform.node()}-{owner}-{uuid.uuid4().hex[:8]}"
    return str(_THREAD.name)


@functools.lru_cache(maxsize=4)
def _read_assignment(folder: str, token: str) -> Assignment:
    """Returns what the folder of the tasks says of a study."""
    return Assignment.read(Path(folder), token)


@functools.lru_cache(maxsize=4)
def _restored_study(folder: str, token: str) -> Study:
    """Returns the study of a folder of tasks."""
    assignment = _read_assignment(folder, token)
    study = Study.restored(assignment.study, assignment.modules)
    check_same_modules([*study.environment, *study.policy], assignment.versions)
    return study


@functools.cache
def _use_one_thread() -> None:
    """Limits the threads of linear algebra in this process, once."""
    threadpoolctl.threadpool_limits(1)
