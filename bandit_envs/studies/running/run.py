"""Runs the missing tasks of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bandit_envs.base.extras import import_extra
from bandit_envs.running.apply import Apply
from bandit_envs.running.backends import check_backend, start_workers
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.loaded import LoadedStudy
from bandit_envs.studies.results.expected import check_expected_values

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import Results


class TasksFailedError(RuntimeError):
    """Some tasks of a study have failed. What has finished is kept."""


class RunObserver:
    """Sees how a study is run. Its methods do nothing; subclasses override some."""

    def start(self, tasks: Sequence[Task], count_steps: Callable[[], int]) -> None:
        """Is called before anything runs.

        Args:
            tasks: those that are missing; there may be none.
            count_steps: returns how many steps the workers have taken.
        """

    def fail(self, problem: str) -> None:
        """Is called with what went wrong in a task. The other tasks go on."""

    def finish(self, found: LoadedStudy) -> None:
        """Is called in the end, also of an interrupted run, while the folder is locked."""


def run(
    study: Study,
    folder: str | Path,
    *,
    backend: str = "loky",
    workers: int = 1,
    address: str | None = None,
    overwrite: bool = False,
    observer: RunObserver | None = None,
) -> LoadedStudy:
    """Runs what is missing of a study and returns what has finished.

    Args:
        study: the study; `Study.from_dict` or `Study.from_toml` makes it.
        folder: where its results are, as the command leaves them.
        backend: "loky", "threading", "dask" or "ray".
        workers: processes or threads.
        address: of a running Dask or Ray cluster.
        overwrite: whether to delete the folder's results of another study or version.
        observer: sees what is run, and what has finished.

    Raises:
        TasksFailedError: tasks have failed, or users' policies that the study left out. What has
            finished is kept.
        ValueError: the folder holds something else, or another run uses it.
    """
    check_backend(backend, workers, address)
    # These are packages of the extra "cli", or need some; loading the package does not.
    threadpoolctl = import_extra("threadpoolctl", "cli")
    import_extra("filelock", "cli")
    from bandit_envs.studies.results.results import Results  # noqa: PLC0415

    check_expected_values(study)
    watcher = observer or RunObserver()
    results = Results(Path(folder), study)
    # Tasks may run in this process, in which workers limit the threads of linear algebra only once.
    one_thread = threadpoolctl.threadpool_limits(1)
    with one_thread, start_workers(backend, workers, address) as apply, results.lock(overwrite):
        results.load()
        try:
            problems = _run_missing(results, apply, watcher)
            results.files.pack()
        finally:
            results.load()
            found = LoadedStudy.from_results(results)
            watcher.finish(found)
    if problems:
        number = "1 task has" if len(problems) == 1 else f"{len(problems)} tasks have"
        raise TasksFailedError(f"{number} failed, such as {problems[0]}")
    if study.failed:
        problem = next(iter(study.failed.values()))
        raise TasksFailedError(f"a policy was left out, as it failed: {problem}")
    return found


def _run_missing(results: Results, apply: Apply, observer: RunObserver) -> list[str]:
    """Runs the missing tasks and returns what went wrong in those that failed."""
    from bandit_envs.studies.running.bundles import Bundles  # noqa: PLC0415
    from bandit_envs.studies.running.workers import run_bundle  # noqa: PLC0415

    tasks = results.missing()
    files = results.files
    observer.start(tasks, files.steps_taken)
    if not tasks:
        return []
    results.remove_page()
    numbers = [task.number for task in tasks]
    token = results.assignment.token
    bundles = Bundles(
        str(files.path), token, numbers, apply.count_workers, seconds=apply.seconds_of_item
    )
    problems: list[str] = []
    with closing(apply(run_bundle, bundles)) as outcomes:
        for outcome in outcomes:
            bundles.note(outcome)
            problems += outcome.problems
            for problem in outcome.problems:
                observer.fail(problem)
    files.count_anew()  # the observer shows the last steps, too
    return problems
