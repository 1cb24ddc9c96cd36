"""Folders of results, loaded once for all tables and figures."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base import saving
from bandit_envs.base.checks import short_repr
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import QUANTITIES, MetricResult, Statistics, of_runs
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.studies.definition.changing import find_changing, read_changing
from bandit_envs.studies.definition.rows_in_turn import Pair, find_row_by_row, read_row_by_row
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.definition.user_modules import digest_modules
from bandit_envs.studies.results.assignment import FORMAT, VERSIONS, Assignment
from bandit_envs.studies.results.task_folder import StoredResult, TaskFolder

SHOWN_KEYS = {"title", "panels", "over", "log_axes", "quantiles", "labels", "colors", "expected"}
"""Keys of a study that say what to show. A change of them keeps the results."""

OWN_NAMES = ("config.json", ".lock", "tasks")
SHOWN_SUFFIXES = (".csv", ".npy", ".png", ".svg", ".pdf", ".html")
"""What is read or written in a folder of results, beside the files of its tasks."""


PAGE = "study.html"
"""The file of a page in the folder of its results."""

AT_ONCE = 256 * 2**20
"""Results of so many bytes are read at once, and stay in memory. Of larger ones, each policy in
each environment is read when it is shown."""


class PairResult(NamedTuple):
    """What has finished of a policy in an environment: blocks of runs, merged."""

    environment: EnvironmentChoice
    policy: PolicyChoice
    runs: int
    result: Mapping[str, MetricResult]
    """What was measured, by the name of the metric. That of a large study is read when asked."""

    def statistics(self, name: str) -> Statistics:
        """Returns the statistics over runs of a quantity."""
        quantity = QUANTITIES[name]
        return quantity.statistics(self.result[quantity.metric])

    def probability_interval(self, name: str) -> tuple[Floats, Floats]:
        """Returns the ends of Wilson's 95% interval of a probability after each step: [n] each."""
        low, high = self.statistics(name).wilson_interval(0.95)
        return np.atleast_1d(low), np.atleast_1d(high)

    def last(self, name: str, study: Study) -> tuple[float, float, float]:
        """Returns the last value of a quantity, and the ends of what tables show beside it.

        These are the study's outer quantiles, Wilson's 95% interval of a probability, or else the
        mean less and plus its standard error.
        """
        _, value, low, high = self.band(name, study)[:, -1]
        if QUANTITIES[name].is_probability and not study.quantiles:
            lows, highs = self.probability_interval(name)
            low = lows[-1]
            high = highs[-1]
        return float(value), float(low), float(high)

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
            curves = self.result[QUANTITIES[name].metric].curves
            runs = QUANTITIES[name].shown_runs(curves, study.kept)
            median, low, high = np.quantile(runs, [0.5, *study.quantiles], axis=1)
            return np.array([study.kept, median, low, high])
        statistics = self.statistics(name)
        low, high = QUANTITIES[name].interval(statistics)
        mean = np.atleast_1d(statistics.mean)
        steps = self.result[QUANTITIES[name].metric].steps[-len(mean) :]
        return np.array([steps, mean, np.atleast_1d(low), np.atleast_1d(high)])


class Results:
    """The results of one study in a folder.

    `load` finds what has finished, and `pairs` reads it.

    Args:
        path: the folder, which need not exist.
        study: the study.
        versions: the versions that results must be of; by default, those of this process.
        row_by_row: the pairs that have a policy for each run; by default, `lock` finds them.
        changing: environments whose actions change the state; by default, `lock` finds them.
    """

    def __init__(
        self,
        path: Path,
        study: Study,
        versions: Mapping[str, object] | None = None,
        row_by_row: Sequence[Pair] | None = None,
        changing: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.study = study
        self.row_by_row = row_by_row
        self.changing = changing
        self._versions = versions or {
            **VERSIONS,
            **digest_modules([*study.environment, *study.policy]),
        }
        rows = {str(each): each.entry.independent_rows for each in study.environment}
        self._config = {
            "study": study.to_dict(),
            "versions": self._versions,
            "independent_rows": rows,
        }
        text = json.dumps([_measured(self._config["study"]), self._versions])
        digest = hashlib.sha256(text.encode()).hexdigest()
        # The path is absolute, as workers may be in another folder.
        self.files = TaskFolder(path.absolute() / "tasks", study, digest)
        self.assignment = Assignment(
            digest, self._config["study"], dict(self._versions), os.getcwd()
        )

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
        study = _read_study({**config["study"], **changes}, config.get("independent_rows"))
        row_by_row = read_row_by_row(config.get("row_by_row"))
        changing = read_changing(config.get("actions_change_state"))
        results = cls(path, study, config["versions"], row_by_row, changing)
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
        theirs = _measured(found["study"])
        ours = _measured(self._config["study"])
        if theirs != ours:
            keys = [key for key in ours if theirs.get(key) != ours[key]]
            return f"folder {self.path} holds results of other arguments: {', '.join(keys)}"
        changed = {name for name, _ in found["versions"].items() ^ self._versions.items()}
        if changed:
            here = self._versions
            names = [_name_versions(name, found["versions"], here) for name in sorted(changed)]
            return f"folder {self.path} holds results of other versions of {', '.join(names)}"
        return ""

    def check_usable(self, overwrite: bool = False) -> str:
        """Returns what `conflict` does; ValueError if it says something that may not be deleted.

        Args:
            overwrite: whether to delete results of another study or version.
        """
        conflict = self.conflict()
        if conflict and not (overwrite and self.files.path.is_dir()):
            expected = "expected another folder (--output)"
            advice = "run and sweep delete its results with --overwrite"
            raise ValueError(f"{conflict}; {expected}; {advice}")
        return conflict

    @contextlib.contextmanager
    def lock(self, overwrite: bool = False) -> Iterator[None]:
        """Makes the folder and locks it, so that no other run uses it.

        Args:
            overwrite: whether to delete results of another study or version.

        Raises:
            ValueError: it holds something else, or another run uses it.
            OSError: it cannot be written.
        """
        refuse_links(self.path)
        conflict = self.check_usable(overwrite)
        with self._acquire_lock():
            if conflict:
                self._delete_results()
            if self.row_by_row is None:
                self.row_by_row = find_row_by_row(self.study)
            if self.changing is None:
                self.changing = find_changing(self.study)
            config = {
                **self._config,
                "row_by_row": self.row_by_row,
                "actions_change_state": self.changing,
            }
            text = (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
            if _read_bytes(self.path / "config.json") != text:
                self.remove_page()
            saving.atomic_write(self.path / "config.json", [text])
            self.files.path.mkdir(exist_ok=True)
            for folder in (self.path, self.files.path):
                saving.remove_temporary_files(folder)
            self.files.forget_progress()
            self.assignment.write(self.files.path)
            try:
                yield
            finally:
                self.files.forget_progress()

    def _acquire_lock(self) -> AbstractContextManager[object]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            return filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            raise ValueError(f"folder {self.path} is in use by another run") from None
        except OSError as error:
            raise OSError(f"output folder {self.path} cannot be written: {error}") from error

    def _delete_results(self) -> None:
        tables = [*self.path.glob("*.csv"), *self.path.glob("curves.npy")]
        figures = self.path.glob("figure*.png")
        for file in (*self.files.path.iterdir(), *tables, *figures):
            file.unlink()
        self.remove_page()

    def remove_page(self) -> None:
        """Removes the page in the folder: it must not be older than the results beside it."""
        (self.path / PAGE).unlink(missing_ok=True)

    def load(self) -> None:
        """Finds what has finished since the last call."""
        self.files.load()

    def missing(self) -> list[Task]:
        """Returns the tasks that have not finished."""
        return [task for task in self.study.tasks() if task.number not in self.files]

    def pairs(self) -> list[PairResult]:
        """Returns what has finished of each policy in each environment, in the study's order."""
        files = self.files
        pairs = []
        is_large = files.num_bytes > AT_ONCE
        finished = (task for task in self.study.tasks() if task.number in files)
        for _, tasks in itertools.groupby(finished, attrgetter("position")):
            done = list(tasks)
            runs = sum(task.runs for task in done)
            stored = StoredResult(files, tuple(task.number for task in done), self.study.metrics)
            result = stored if is_large else dict(stored)
            pairs.append(PairResult(done[0].environment, done[0].policy, runs, result))
        return pairs


def _read_bytes(file: Path) -> bytes:
    """Returns what is in a file; nothing if there is no such file."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def refuse_links(path: Path) -> None:
    """Raises ValueError if a file of a folder of results is a link, a pipe, or a device."""
    saving.refuse_links(path, lambda name: name in OWN_NAMES or _is_shown(name))
    saving.refuse_links(path / "tasks", lambda name: True)


def _is_shown(name: str) -> bool:
    """Returns whether a file has the ending of figures and tables."""
    return name.lower().endswith(SHOWN_SUFFIXES)


def read_config(path: Path) -> dict[str, Any]:
    """Returns what config.json says; raises ValueError if it is not of this version's results."""
    refuse_links(path)
    try:
        config: dict[str, Any] = json.loads((path / "config.json").read_bytes())
        is_study = isinstance(config["study"], dict)
        found = config["versions"]["results"]
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        is_study = False
        found = None
    if not is_study:
        raise ValueError(f"folder {path} holds no results of a study")
    saving.check_format(f"folder {path}", "results of a study", found, FORMAT)
    return config


def _name_versions(name: str, found: Mapping[str, object], here: Mapping[str, object]) -> str:
    """Returns a name with its versions in a folder and here; users' modules have digests."""
    if name not in VERSIONS:
        return name
    return f"{name} ({short_repr(found.get(name))}, here {short_repr(here.get(name))})"


def _read_study(values: Mapping[str, Any], independent_rows: object) -> Study:
    """Returns the study of results, of which nothing is imported, made or tried."""
    rows = independent_rows if isinstance(independent_rows, dict) else {}
    try:
        study = Study.read(values, {str(name): value is True for name, value in rows.items()})
    except KeyError as error:
        raise ValueError(f"the results do not say what the rows of {error} are") from error
    place = study.environment[0]
    if "arms" in study.panels and place.is_users:
        problem = f"panels has arms, but {place} is not imported to show results"
        raise ValueError(f"{problem}; expected other panels, or sweep the study file")
    return study


def _measured(study: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a study measures, without what it shows of that or has left out."""
    return {key: study[key] for key in sorted(study.keys() - SHOWN_KEYS - {"failed"})}
