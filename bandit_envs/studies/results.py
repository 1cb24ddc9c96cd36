"""Folders of results: a file for each finished task, and what is written of them."""

import contextlib
import csv
import hashlib
import inspect
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

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
    """Returns the results of the runs of all; without runs, an empty one."""
    merged: Result = {}
    for result in results:
        merged = {k: merged[k].merge(v) if merged else v for k, v in result.items()} or merged
    return merged


class TaskFiles(NamedTuple):
    """The files of the finished tasks of a study, of which `study` is a digest."""

    folder: Path
    study: str

    def save(self, task: Task, result: Result) -> None:
        """Writes the file of a finished task."""
        arrays = {}
        for name, found in result.items():
            parts = found.per_step, found.cumulative
            arrays[name] = np.array([(part.mean, part.squared_deviation) for part in parts])
            arrays |= {f"{name}_{kind}": getattr(found, kind) for kind in _kinds(task)}
        saving.write_archive(self._path(task), [self.study, str(task)], arrays)

    def load(self, task: Task) -> Result:
        """Returns a task's result; {} if its file is missing, damaged or of another study.

        So it is if the task keeps curves, and the file is of a run of the study that kept none.
        """
        result = {}
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError):
            header, arrays = saving.read_archive(self._path(task))
            for name in task.metrics if header == [self.study, str(task)] else ():
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


def _kinds(task: Task) -> tuple[str, ...]:
    return ("totals", "curves") if task.kept else ("totals",)


class Results:
    """The results of one study, in the folder `path`."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        own = [c.entry.make for c in (*study.environment, *study.policy) if ":" in c.name]
        code = {make.__module__: Path(inspect.getfile(make)).read_bytes() for make in own}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in code.items()}
        self._config = {"study": study.to_dict(), "versions": {**VERSIONS, **digests}}
        text = json.dumps([_measured(self._config["study"]), self._config["versions"]])
        # Absolute, as workers may be in another folder.
        self.files = TaskFiles(path.absolute() / "tasks", hashlib.sha256(text.encode()).hexdigest())

    def check(self) -> None:
        """Raises ValueError unless the folder is empty, or holds results of the same study."""
        if any(self.path.absolute().glob("[!.]*")):
            found = read_config(self.path)
            if _measured(found["study"]) != _measured(self._config["study"]):
                raise _refusal(self.path, "holds results of other arguments")
            if found["versions"] != self._config["versions"]:
                raise _refusal(self.path, f"holds results of other versions: {found['versions']}")

    @contextlib.contextmanager
    def opened(self, overwrite: bool = False) -> Iterator[None]:
        """Makes the folder this run's alone; raises ValueError or OSError if it cannot.

        With `overwrite`, it deletes the results of another study or version.
        """
        try:
            if not (overwrite and self.files.folder.is_dir()):
                self.check()
            self.path.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            raise _refusal(self.path, "is in use by another run") from None
        except ValueError as error:
            hint = "expected another folder (--output), or --overwrite"
            raise ValueError(f"{error}; {hint}") from error
        except OSError as error:
            raise OSError(f"output folder {self.path} cannot be written: {error}") from error
        with lock:
            try:
                self.check()
            except ValueError:
                if not overwrite:
                    raise
                for file in (*self.files.folder.glob("*.npz"), *self.path.glob("*.csv")):
                    file.unlink()
            text = json.dumps(self._config, indent=2, ensure_ascii=False) + "\n"
            saving.atomic_write(self.path / "config.json", [text.encode()])
            self.files.folder.mkdir(exist_ok=True)
            for folder in (self.path, self.files.folder):
                saving.remove_temporary_files(folder)
            (self.files.folder / ".steps").write_text("")
            yield

    def missing(self) -> list[Task]:
        """Returns the tasks that have no result."""
        return [task for task in self.study.tasks() if not self.files.load(task)]

    def __iter__(self) -> Iterator[tuple[Task, Result]]:
        """Yields what has finished of each policy in each environment, as one task."""
        for _, tasks in itertools.groupby(self.study.tasks(), attrgetter("position")):
            runs = 0
            merged: Result = {}
            for task in tasks:
                if result := self.files.load(task):
                    runs += task.runs
                    merged = merge([merged, result])
            if merged:
                yield task._replace(block=0, runs=runs), merged

    def write_tables(self) -> None:
        """Writes `summary.csv`, `curves.csv` and so on of what has finished all its runs."""
        study, summed_up = self.study, [name for name, q in QUANTITIES.items() if q.heading]
        steps, runs = (range(1, number + 1) for number in (study.steps, study.runs))
        for name, index, numbers, found in (
            ("summary", "step", steps[-1:], lambda result: columns(result, summed_up)),
            ("curves", "step", steps, lambda result: columns(result, study.metrics)),
            ("runs", "run", runs, of_runs),
            ("quantiles", "step", study.kept, self._quantiles),
        ):
            if numbers:
                saving.atomic_write(self.path / f"{name}.csv", self._csv(index, numbers, found))

    def _quantiles(self, result: Result) -> dict[str, NDArray[np.float64]]:
        names = [name for name, q in QUANTITIES.items() if q.axis and q.metric in result]
        return {
            f"{name}_{level:g}": column
            for name in names
            for level, column in zip(
                (0.5, *self.study.quantiles), band(self.study, result, name)[1:]
            )
        }

    def write_comparison(self, rows: Sequence[Any]) -> None:
        """Writes `comparison.csv`: expected values beside those measured."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([type(rows[0])._fields, *rows])
        saving.atomic_write(self.path / "comparison.csv", [text.getvalue().encode()])

    def _csv(
        self, index: str, numbers: Sequence[int], columns_of: Callable[[Result], Mapping[str, Any]]
    ) -> Iterator[bytes]:
        """Yields a table of the last rows of some columns, which `numbers` counts."""
        text, writer = io.StringIO(), None
        for task, result in self:
            row = {"environment": str(task.environment), "policy": str(task.policy)}
            found = columns_of(result)
            if writer is None:
                writer = csv.DictWriter(text, [*row, index, *found], lineterminator="\n")
                writer.writeheader()
            if task.runs == self.study.runs:
                last = (column[-len(numbers) :] for column in found.values())
                texts = [[f"{value:.10g}" for value in column] for column in last]
                for number, values in zip(numbers, zip(*texts)):
                    writer.writerow({**row, index: number, **dict(zip(found, values))})
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()


def _measured(study: Any) -> Any:
    """Returns what a study measures, without what it shows of that."""
    shown = {"title", "panels", "over", "log_axes", "quantiles", "expected"}
    return (
        {key: study[key] for key in sorted({*study} - shown)} if isinstance(study, dict) else study
    )


def _refusal(path: Path, problem: str) -> ValueError:
    return ValueError(f"folder {path} {problem}")


def read_config(path: Path) -> dict[str, Any]:
    """Returns what config.json says; raises ValueError if it is not of this version's results."""
    try:
        config: dict[str, Any] = json.loads((path / "config.json").read_bytes())
        found = config["versions"]["results"]
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        raise _refusal(path, "holds no results of a study") from None
    if found != FORMAT:
        raise _refusal(path, f"holds {'older' if found in range(FORMAT) else 'newer'} results")
    return config
