"""A folder of results, which one run at a time writes to.

config.json      all that reruns the study: what it is, and the versions it is run with
tasks/           a file for each finished task
summary.csv      a row for each finished policy
curves.csv       a row for each of its steps
figure.png       what the study draws
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from bandit_envs import __version__
from bandit_envs.experiments.studies import Cell, Study
from bandit_envs.experiments.task_files import TaskFiles
from bandit_envs.experiments.tasks import Result, merge_results
from bandit_envs.saving import write_whole

FORMAT = 1
"""Raised whenever the layout of the files, or the numbers of an unchanged study, change."""


class ResultsFolder:
    """The results of one study.

    Args:
        path: the folder.
        study: the study.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path = path
        self.study = study
        config = {"study": study.to_json(), "versions": _versions()}
        self._config = (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
        self.files = TaskFiles(path / "tasks", hashlib.sha256(self._config).hexdigest())

    @classmethod
    def read(cls, path: Path) -> ResultsFolder:
        """Returns the folder of results that `path` is.

        Raises:
            ValueError: it is none, or one that was made with other versions.
        """
        try:
            config = json.loads((path / "config.json").read_bytes())
            folder, versions = cls(path, Study.from_json(config["study"])), config["versions"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} holds no results: {error}") from error
        if versions != _versions():
            raise ValueError(f"{path} was made with {versions}; expected {_versions()}")
        return folder

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Makes the folder this run's, and no other's, while the context lasts.

        Raises:
            ValueError: it holds anything but results of the same study and versions, or another
                run is writing to it.
            OSError: it cannot be written.
        """
        self._check_content()
        self.files.path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise ValueError(f"output folder {self.path} is in use by another run") from None
        with lock:
            if not (self.path / "config.json").exists():
                write_whole(self.path / "config.json", [self._config])
            self._check_content()
            for folder in (self.path, self.files.path):
                for left_behind in folder.glob(".*.part"):
                    left_behind.unlink(missing_ok=True)
            yield
        lock.release()

    def result(self, cell: Cell) -> Result | None:
        """Returns the result over the finished tasks of a cell; None if there are none."""
        results = [self.files.load(task) for task in self.study.tasks(cell)]
        finished = [result for result in results if result is not None]
        return merge_results(finished) if finished else None

    def results(self) -> Iterator[tuple[Cell, Result]]:
        """Yields the cells of which anything is there, in order, with their results."""
        for cell in self.study.cells():
            result = self.result(cell)
            if result is not None:
                yield cell, result

    def _check_content(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"output folder {self.path} is a file; expected a folder")
        config = self.path / "config.json"
        if config.exists():
            same = config.read_bytes() == self._config
        else:  # a run may have been killed before it wrote any result
            visible = self.path.glob("[!.]*") if self.path.exists() else ()
            same = all(file == self.files.path and not any(file.iterdir()) for file in visible)
        if not same:
            raise ValueError(
                f"output folder {self.path} holds something else; expected a new or empty folder, "
                "or one with results of the same arguments and versions"
            )


def _versions() -> dict[str, Any]:
    return {
        "bandit_envs": __version__,
        "results": FORMAT,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
