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

from bandit_envs.studies.study import Cell, Study
from bandit_envs.studies.task_files import TaskFiles
from bandit_envs.studies.tasks import Result, merge_results
from bandit_envs.studies.versions import described, versions
from bandit_envs.base.saving import remove_unfinished, write_whole


class ResultsFolder:
    """The results of one study.

    Args:
        path: the folder.
        study: the study.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path = path
        self.study = study
        self._made_by = {"study": study.to_json(), "versions": versions()}
        identity = json.dumps(self._made_by, sort_keys=True).encode()
        # Absolute, for the processes that write there may have been started in another folder.
        self.files = TaskFiles(path.absolute() / "tasks", hashlib.sha256(identity).hexdigest())

    @classmethod
    def read(cls, path: Path) -> ResultsFolder:
        """Returns the folder of results that `path` is.

        Raises:
            ValueError: it is none, or one that was made with other versions.
        """
        try:
            folder = cls(path, Study.from_json(_read_config(path)["study"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} holds no results: {error}") from error
        folder._check_content()
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
        try:
            self.files.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(
                f"output folder {self.path} cannot be written: {error.strerror}; "
                "expected a folder that can"
            ) from error
        try:
            lock = filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            raise ValueError(f"output folder {self.path} is in use by another run") from None
        with lock:
            self._check_content()
            config = self.path / "config.json"
            if not config.exists():
                content = {**self._made_by, "python": platform.python_version()}
                text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                write_whole(config, [text.encode()])
            for folder in (self.path, self.files.path):
                remove_unfinished(folder)
            yield

    def result(self, cell: Cell) -> Result | None:
        """Returns the result over the finished tasks of a cell; None if there are none."""
        results = map(self.files.load, self.study.tasks(cell))
        return merge_results(result for result in results if result is not None)

    def results(self) -> Iterator[tuple[Cell, Result]]:
        """Yields the cells of which anything is there, in order, with their results."""
        for cell in self.study.cells():
            result = self.result(cell)
            if result is not None:
                yield cell, result

    def _check_content(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"output folder {self.path} is a file; expected a folder")
        try:
            there = _read_config(self.path)
        except (FileNotFoundError, NotADirectoryError):
            # A run may have been killed before it wrote anything.
            visible = self.path.absolute().glob("[!.]*") if self.path.exists() else ()
            same = all(file == self.files.path and not any(file.iterdir()) for file in visible)
        except ValueError:
            same = False
        else:
            same = there.get("study") == self._made_by["study"]
            if same and there["versions"] != self._made_by["versions"]:
                raise ValueError(
                    f"output folder {self.path} was made with {described(there['versions'])}; "
                    f"expected {described(versions())}, or another folder"
                )
        if not same:
            raise ValueError(
                f"output folder {self.path} holds something else; expected a new or empty folder, "
                "or one with results of the same arguments"
            )


def _read_config(path: Path) -> dict[str, Any]:
    """Returns what a folder's config.json says.

    Raises:
        OSError: it cannot be read; FileNotFoundError, if there is none.
        ValueError: it is not one that a run wrote.
    """
    try:
        config = json.loads((path / "config.json").read_bytes())
    except RecursionError:
        config = None
    if not (isinstance(config, dict) and isinstance(config.get("versions"), dict)):
        raise ValueError("its config.json is of something else")
    return config
