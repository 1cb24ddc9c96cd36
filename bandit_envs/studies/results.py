"""Folders of results: a file for each finished task, and what is written of them."""

import contextlib
import csv
import functools
import hashlib
import inspect
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray

from bandit_envs import __version__
from bandit_envs.base import saving
from bandit_envs.metrics import QUANTITIES, MetricResult, Statistics, of_runs
from bandit_envs.studies.study import Study, Task

FORMAT = 3  # raised whenever the layout of the files, or the numbers of an unchanged study, change
VERSIONS = {"bandit_envs": __version__, "results": FORMAT, "numpy": np.__version__}
Result = dict[str, MetricResult]


def columns(result: Result, names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Returns means and standard errors of quantities, as far as they were measured."""
    found: dict[str, NDArray[np.float64]] = {}
    for name in names:
        if QUANTITIES[name].metric in result:
            statistics = QUANTITIES[name].statistics(result[QUANTITIES[name].metric])
            found |= {name: statistics.mean, f"{name}_se": statistics.standard_error}
    return {name: np.atleast_1d(column) for name, column in found.items()}


def band(study: Study, result: Result, name: str) -> NDArray[np.float64]:
    """Returns steps, a line over them, and the ends of its band [4, n], for tables and figures.

    They are means with one standard error to each side, or medians with a study's quantiles.
    """
    if study.quantiles:
        runs = QUANTITIES[name].of_runs(result[QUANTITIES[name].metric].curves, study.kept)
        return np.array([study.kept, *np.quantile(runs, [0.5, *study.quantiles], axis=1)])
    mean, error = columns(result, [name]).values()
    error = np.nan_to_num(error)  # one run has none
    return np.array([np.arange(len(mean)) + 1, mean, mean - error, mean + error])


def merge(results: Iterable[Result]) -> Result:
    """Returns the results of the runs of all."""
    return functools.reduce(lambda a, b: {name: a[name].merge(b[name]) for name in a}, results)


class Results:
    """The results of one study, in the folder `path`; of these versions by default."""

    def __init__(self, path: Path, study: Study, versions: Any = None) -> None:
        self.path, self.study = path, study
        own = [c.entry.make for c in (*study.environment, *study.policy) if ":" in c.name]
        code = {make.__module__: Path(inspect.getfile(make)).read_bytes() for make in own}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in code.items()}
        self.versions = versions or {**VERSIONS, **digests}
        self._config = {"study": study.to_dict(), "versions": self.versions}
        text = json.dumps([_measured(self._config["study"]), self.versions])
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.folder = path.absolute() / "tasks"  # as workers may be in another folder

    def problem(self) -> str:
        """Returns "" if the folder is empty or holds results of the same study; else what it is."""
        if not any(self.path.absolute().glob("[!.]*")):
            return ""
        try:
            found = read_config(self.path)
        except ValueError as error:
            return str(error)
        text = f"folder {self.path} holds results of other"
        if _measured(found["study"]) != _measured(self._config["study"]):
            return f"{text} arguments"
        changed = {name for name, _ in found["versions"].items() ^ self.versions.items()}
        return f"{text} versions of {', '.join(sorted(changed))}" if changed else ""

    @contextlib.contextmanager
    def opened(self, overwrite: bool = False) -> Iterator[None]:
        """Makes the folder this run's alone; raises ValueError or OSError if it cannot.

        With `overwrite`, it deletes the results of another study or version.
        """
        problem = self.problem()
        if problem and not (overwrite and self.folder.is_dir()):
            raise ValueError(f"{problem}; expected another folder (--output), or --overwrite")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            raise ValueError(f"folder {self.path} is in use by another run") from None
        except OSError as error:
            raise OSError(f"output folder {self.path} cannot be written: {error}") from error
        with lock:
            if problem:
                for file in (*self.folder.glob("*.npz"), *self.path.glob("*.csv")):
                    file.unlink()
            text = json.dumps(self._config, indent=2, ensure_ascii=False) + "\n"
            saving.atomic_write(self.path / "config.json", [text.encode()])
            self.folder.mkdir(exist_ok=True)
            for folder in (self.path, self.folder):
                saving.remove_temporary_files(folder)
            (self.folder / ".steps").write_text("")
            yield

    def missing(self) -> list[Task]:
        """Returns the tasks that have no result."""
        return [task for task in self.study.tasks() if not self.load(task)]

    def save(self, task: Task, result: Result) -> None:
        """Writes the file of a finished task."""
        arrays = {}
        for name, found in result.items():
            parts = found.per_step, found.cumulative
            arrays[name] = np.array([(part.mean, part.squared_deviation) for part in parts])
            arrays |= {f"{name}_{kind}": getattr(found, kind) for kind in _kinds(task)}
        saving.write_archive(self._path(task), [self.digest, str(task)], arrays)

    def load(self, task: Task) -> Result:
        """Returns a task's result; {} if its file is missing, damaged or of another study.

        So it is if the task keeps curves, and the file is of a run of the study that kept none.
        """
        result = {}
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError):
            header, arrays = saving.read_archive(self._path(task))
            for name in task.metrics if header == [self.digest, str(task)] else ():
                per_step, cumulative = (Statistics(task.runs, *part) for part in arrays[name])
                sums = (arrays[f"{name}_{kind}"] for kind in _kinds(task))
                result[name] = MetricResult(per_step, cumulative, *sums)
        return result

    def report(self, steps: int) -> None:
        """Adds steps to those taken."""
        with (self.folder / ".steps").open("a") as file:
            file.write(f"{steps}\n")  # short enough to be written at once, from any process

    def reported(self) -> int:
        """Returns the number of steps taken since the folder was opened."""
        return sum(map(int, (self.folder / ".steps").read_text().split()))

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.position:06d}-{task.block:06d}.npz"

    def __iter__(self) -> Iterator[tuple[Task, Result]]:
        """Yields what has finished of each policy in each environment, as one task."""
        for _, tasks in itertools.groupby(self.study.tasks(), attrgetter("position")):
            if found := [(task, result) for task in tasks if (result := self.load(task))]:
                runs = sum(task.runs for task, _ in found)
                yield found[0][0]._replace(block=0, runs=runs), merge(result for _, result in found)

    def write_tables(self) -> None:
        """Writes `summary.csv`, `curves.csv` and so on of what has finished all its runs."""
        study = self.study
        steps, runs = (range(1, number + 1) for number in (study.steps, study.runs))
        for name, index, numbers, found in (
            ("summary", "step", steps[-1:], lambda result: columns(result, study.summary)),
            ("curves", "step", steps, lambda result: columns(result, study.metrics)),
            ("runs", "run", runs, of_runs),
        ):
            saving.atomic_write(self.path / f"{name}.csv", self._csv(index, numbers, found))

    def _csv(
        self, index: str, numbers: Sequence[int], columns_of: Callable[[Result], Mapping[str, Any]]
    ) -> Iterator[bytes]:
        """Yields a table of the last rows of some columns, which `numbers` counts."""
        for number, (task, result) in enumerate(self):
            found, pair = columns_of(result), (str(task.environment), str(task.policy))
            if number == 0:
                yield csv_rows([("environment", "policy", index, *found)])
            if task.runs == self.study.runs:
                last = (map("{:.10g}".format, c[-len(numbers) :]) for c in found.values())
                yield csv_rows((*pair, *row) for row in zip(numbers, *last))


def _kinds(task: Task) -> tuple[str, ...]:
    return ("totals", "curves") if task.kept else ("totals",)


def csv_rows(rows: Iterable[Sequence[Any]]) -> bytes:
    """Returns rows of a table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _measured(study: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a study measures, without what it shows of that."""
    shown = {"title", "panels", "over", "log_axes", "quantiles", "expected"}
    return {key: study[key] for key in sorted({*study} - shown)}


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
