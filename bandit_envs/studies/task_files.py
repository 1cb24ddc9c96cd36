"""Files on disk that are whole or not there, one for each finished task."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.studies.study import Task
from bandit_envs.studies.tasks import Result
from bandit_envs.metrics import MetricResult, Statistics
from bandit_envs.base.saving import read_archive, write_archive


@dataclasses.dataclass(frozen=True)
class TaskFiles:
    """The results of the finished tasks of one study.

    A file holds the curves, as an array, and the task that they are of, as JSON.

    Args:
        path: the folder.
        study: what identifies the study and the versions that it is run with.
    """

    path: Path
    study: str

    def save(self, task: Task, result: Result) -> None:
        """Writes the file of a finished task.

        Raises:
            OSError: the folder cannot be written, or the disk is full.
        """
        curves = [
            curve
            for metric in result.metrics.values()
            for statistics in (metric.per_step, metric.cumulative)
            for curve in (statistics.mean, statistics.squared_deviation)
        ]
        values = next(iter(result.metrics.values())).per_step.count
        header = {**self._header(task), "values": values, "seconds": result.seconds}
        write_archive(self._file(task), header, {"curves": np.array(curves)})

    def load(self, task: Task) -> Result | None:
        """Returns a task's result; None if its file is missing, damaged or of another study.

        Raises:
            OSError: there is a file that cannot be read.
        """
        try:
            header, arrays = read_archive(self._file(task))
            values, seconds = header.pop("values"), header.pop("seconds")
            groups = arrays["curves"].reshape(len(task.metrics), 2, 2, task.steps)
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if header != self._header(task):
            return None
        metrics = {
            name: MetricResult(*(Statistics(values, *curves) for curves in group))
            for name, group in zip(task.metrics, groups)
        }
        return Result(metrics, task.runs, seconds)

    def _file(self, task: Task) -> Path:
        return self.path / f"{task.cell.position:06d}-{task.block:06d}.npz"

    def _header(self, task: Task) -> dict[str, Any]:
        return {"study": self.study, "task": str(task), "runs": task.runs}
