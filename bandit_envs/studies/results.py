"""Folders of results: a file for each finished task, loaded once for all tables and figures."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import itertools
import json
import os
import platform
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
from numpy.typing import NDArray

from bandit_envs import __version__
from bandit_envs.base import saving
from bandit_envs.metrics import QUANTITIES, MetricResult, Statistics, of_runs
from bandit_envs.studies.choice import Choice, EnvironmentChoice, PolicyChoice
from bandit_envs.studies.study import Study, Task

FORMAT = 4
"""Raised whenever the layout of the files, or the numbers of an unchanged study, change."""

VERSIONS = {"bandit_envs": __version__, "results": FORMAT, "numpy": np.__version__}

SHOWN_KEYS = {"title", "panels", "over", "log_axes", "quantiles", "expected"}
"""Keys of a study that say what to show. A change of them keeps the results."""

PROGRESS = ".steps-"
"""How the names of files begin in which workers count their steps."""

Result = dict[str, MetricResult]
"""What was measured, by the name of the metric."""


class PairResult(NamedTuple):
    """What has finished of a policy in an environment: blocks of runs, merged."""

    environment: EnvironmentChoice
    policy: PolicyChoice
    runs: int
    result: Result

    def statistics(self, name: str) -> Statistics:
        """Returns the statistics over runs of a quantity."""
        quantity = QUANTITIES[name]
        return quantity.statistics(self.result[quantity.metric])

    def quantiles(self, name: str) -> dict[float, float]:
        """Returns the quantiles over runs that a quantity has beside its mean, by their levels."""
        levels = QUANTITIES[name].quantiles
        if not levels:
            return {}
        runs = of_runs(self.result)[name]
        return {level: float(np.quantile(runs, level)) for level in levels}

    def band(self, name: str, study: Study) -> NDArray[np.float64]:
        """Returns steps, a line over them, and the ends of its band: [4, n].

        They are means with one standard error to each side, which of probabilities is Wilson's
        interval, or medians with a study's quantiles.
        """
        if study.quantiles:
            quantity = QUANTITIES[name]
            runs = quantity.of_runs(self.result[quantity.metric].curves, study.kept)
            median, low, high = np.quantile(runs, [0.5, *study.quantiles], axis=1)
            return np.array([study.kept, median, low, high])
        statistics = self.statistics(name)
        low, high = QUANTITIES[name].interval(statistics)
        mean = np.atleast_1d(statistics.mean)
        steps = np.arange(len(mean)) + 1
        return np.array([steps, mean, np.atleast_1d(low), np.atleast_1d(high)])


class TaskFiles(NamedTuple):
    """The files of finished tasks. Workers get this, in place of the whole study."""

    folder: Path
    """An absolute path, as workers may be in another folder."""

    digest: str
    """Of the study and the versions. A file with another one is not of this study."""

    versions: Mapping[str, object]

    def save(self, task: Task, result: Result) -> None:
        """Writes the file of a finished task."""
        arrays = {}
        for name, found in result.items():
            parts = (found.per_step, found.cumulative)
            arrays[name] = np.array([(part.mean, part.squared_deviation) for part in parts])
            arrays[f"{name}_totals"] = found.totals
            if task.kept:
                arrays[f"{name}_curves"] = found.curves
        arrays["kept"] = np.array(task.kept, np.int64)
        saving.write_archive(self._path(task), [self.digest, str(task)], arrays)

    def load(self, task: Task) -> Result | None:
        """Returns a task's result; None if its file is missing, damaged or of another study.

        It is also None if the task keeps sums of other steps than the file has.
        """
        try:
            header, arrays = saving.read_archive(self._path(task))
            if header != [self.digest, str(task)]:
                return None
            if task.kept and task.kept != tuple(arrays["kept"]):
                return None
            return {name: _metric_result(task, name, arrays) for name in task.metrics}
        except (FileNotFoundError, ValueError, KeyError):
            return None

    def add_progress(self, steps: int) -> None:
        """Adds steps to those taken, in a file of this worker's own."""
        worker = f"{platform.node()}-{os.getpid()}-{threading.get_ident()}"
        file = self.folder / f"{PROGRESS}{worker}"
        file.write_text(str(_read_number(file) + steps))

    def steps_taken(self) -> int:
        """Returns the number of steps that all workers have taken."""
        return sum(map(_read_number, self.folder.glob(f"{PROGRESS}*")))

    def forget_progress(self) -> None:
        """Deletes the files with numbers of steps taken."""
        for file in self.folder.glob(f"{PROGRESS}*"):
            file.unlink()

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.position:06d}-{task.block:06d}.npz"


def _read_number(file: Path) -> int:
    """Returns the number in a file; 0 if it is not there, or is just being written."""
    try:
        return int(file.read_text() or 0)
    except FileNotFoundError:
        return 0


def _metric_result(task: Task, name: str, arrays: Mapping[str, NDArray[Any]]) -> MetricResult:
    """Returns the result of a metric in the arrays of a task's file."""
    per_step, cumulative = (Statistics(task.runs, *part) for part in arrays[name])
    totals = arrays[f"{name}_totals"]
    if not task.kept:
        return MetricResult(per_step, cumulative, totals)
    return MetricResult(per_step, cumulative, totals, arrays[f"{name}_curves"])


class Results:
    """The results of one study in a folder.

    `load` reads what has finished. Each file is read once: all tables and the figure are made of
    `pairs`.

    Args:
        path: the folder, which need not exist.
        study: the study.
        versions: the versions that results must be of; by default, those of this process.
    """

    def __init__(
        self, path: Path, study: Study, versions: Mapping[str, object] | None = None
    ) -> None:
        self.path = path
        self.study = study
        self._versions = versions or {**VERSIONS, **_digests_of_user_code(study)}
        self._config = {"study": study.to_dict(), "versions": self._versions}
        text = json.dumps([_measured(self._config["study"]), self._versions])
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.files = TaskFiles(path.absolute() / "tasks", digest, self._versions)
        self._loaded: dict[tuple[int, int], Result] = {}

    @classmethod
    def read(cls, path: Path, changes: Mapping[str, object]) -> Results:
        """Returns what has finished in a folder, also if it is of other versions.

        Args:
            path: the folder.
            changes: keys of its study that say what to show.

        Raises:
            ValueError: it holds no results of a study.
        """
        config = read_config(path)
        study = Study.from_dict({**config["study"], **changes})
        results = cls(path, study, config["versions"])
        conflict = results.conflict()
        if conflict:
            raise ValueError(conflict)
        results.load()
        return results

    def conflict(self) -> str:
        """Returns why the folder cannot be used; "" if it is empty or has results of the study."""
        if not any(self.path.absolute().glob("[!.]*")):
            return ""
        try:
            found = read_config(self.path)
        except ValueError as error:
            return str(error)
        if _measured(found["study"]) != _measured(self._config["study"]):
            return f"folder {self.path} holds results of other arguments"
        changed = {name for name, _ in found["versions"].items() ^ self._versions.items()}
        if changed:
            names = ", ".join(sorted(changed))
            return f"folder {self.path} holds results of other versions of {names}"
        return ""

    @contextlib.contextmanager
    def lock(self, overwrite: bool = False) -> Iterator[None]:
        """Makes the folder and locks it, so that no other run uses it.

        Args:
            overwrite: whether to delete results of another study or version.

        Raises:
            ValueError: it holds something else, or another run uses it.
            OSError: it cannot be written.
        """
        conflict = self.conflict()
        if conflict and not (overwrite and self.files.folder.is_dir()):
            raise ValueError(f"{conflict}; expected another folder (--output), or --overwrite")
        with self._acquire_lock():
            if conflict:
                self._delete_results()
            text = json.dumps(self._config, indent=2, ensure_ascii=False) + "\n"
            saving.atomic_write(self.path / "config.json", [text.encode()])
            self.files.folder.mkdir(exist_ok=True)
            for folder in (self.path, self.files.folder):
                saving.remove_temporary_files(folder)
            self.files.forget_progress()
            yield

    def _acquire_lock(self) -> AbstractContextManager[object]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            return filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            raise ValueError(f"folder {self.path} is in use by another run") from None
        except OSError as error:
            raise OSError(f"output folder {self.path} cannot be written: {error}") from error

    def _delete_results(self) -> None:
        tables = self.path.glob("*.csv")
        figures = self.path.glob("figure*.png")
        for file in (*self.files.folder.glob("*.npz"), *tables, *figures):
            file.unlink()

    def load(self) -> None:
        """Reads the files of tasks that have finished since the last call."""
        for task in self.missing():
            result = self.files.load(task)
            if result is not None:
                self._loaded[task.position, task.block] = result

    def missing(self) -> list[Task]:
        """Returns the tasks of which no result is loaded."""
        tasks = self.study.tasks()
        return [task for task in tasks if (task.position, task.block) not in self._loaded]

    def pairs(self) -> list[PairResult]:
        """Returns what is loaded of each policy in each environment, in the study's order."""
        loaded = []
        for position, tasks in itertools.groupby(self.study.tasks(), lambda task: task.position):
            done = [task for task in tasks if (position, task.block) in self._loaded]
            if done:
                runs = sum(task.runs for task in done)
                result = merge(self._loaded[position, task.block] for task in done)
                loaded.append(PairResult(done[0].environment, done[0].policy, runs, result))
        return loaded


def merge(results: Iterable[Result]) -> Result:
    """Returns the result of the runs of all."""
    return functools.reduce(_merge_two, results)


def _merge_two(first: Result, second: Result) -> Result:
    return {name: found.merge(second[name]) for name, found in first.items()}


def read_config(path: Path) -> dict[str, Any]:
    """Returns what config.json says; raises ValueError if it is not of this version's results."""
    try:
        config: dict[str, Any] = json.loads((path / "config.json").read_bytes())
        found = config["study"].keys() and config["versions"]["results"]
    except (AttributeError, OSError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(f"folder {path} holds no results of a study") from None
    if found != FORMAT:
        age = "older" if found in range(FORMAT) else "newer"
        raise ValueError(f"folder {path} holds {age} results")
    return config


def _measured(study: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a study measures, without what it shows of that."""
    return {key: study[key] for key in sorted(study.keys() - SHOWN_KEYS)}


def _digests_of_user_code(study: Study) -> dict[str, str]:
    """Returns a digest of each module with a user's class in the study."""
    digests = {}
    choices: list[Choice[Any]] = [*study.environment, *study.policy]
    for choice in choices:
        if choice.is_users:
            make = choice.entry.make
            code = Path(inspect.getfile(make)).read_bytes()
            digests[make.__module__] = hashlib.sha256(code).hexdigest()
    return digests
