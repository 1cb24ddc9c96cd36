"""The folder of a study's finished tasks, as the process that runs the study reads it."""

from __future__ import annotations

import functools
import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np

from bandit_envs.metrics import MetricResult, kept_steps
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.packs import Index, Pack, damaged, write_pack
from bandit_envs.studies.results.records import (
    Arrays,
    Record,
    columns_of,
    read_arrays,
    result_from_arrays,
    scan_records,
)

RECORDS = ".records"
"""How the names of files end to which workers append."""

PROGRESS = ".steps-"
"""How the names of files begin in which workers count their steps."""

CHECKPOINT = ".task-"
"""How the names of files begin in which long tasks are saved."""

MAX_SHARE = 0.05
"""Reading the files of progress takes at most about this share of the time."""

RECENT = 16
"""So many results of metrics that were read by slices stay in memory."""

Source: TypeAlias = Record | Pack


class TaskFolder:
    """Finds the results of finished tasks, reads them, and packs them once the study ends.

    Workers append records to files of their own. `pack` moves them to one archive.

    Args:
        path: the folder, which need not exist.
        study: the study.
        digest: of the study and the versions. What has another one is not of this study.
    """

    def __init__(self, path: Path, study: Study, digest: str) -> None:
        self.path = path
        self._study = study
        self.digest = digest
        self._steps = kept_steps(study.steps)
        self._packs: dict[Path, Pack] = {}
        self._records: dict[Path, list[Record]] = {}
        self._sources: dict[int, Source] = {}
        self._recent: dict[tuple[tuple[int, ...], str], MetricResult] = {}
        self._num_steps = 0
        self._next_count = 0.0

    def load(self) -> None:
        """Finds what has finished since the last call."""
        for path in sorted(self.path.glob("[!.]*.npz")):
            if path not in self._packs:
                pack = Pack(path)
                self._packs[path] = pack
                if pack.study == self.digest:
                    pack.check(self._steps)
                    for task, runs in zip(pack.index.task.tolist(), pack.index.runs.tolist()):
                        self._add(task, runs, pack)
        for path in sorted(self.path.glob(f"[!.]*{RECORDS}")):
            known = self._records.setdefault(path, [])
            start = known[-1].end if known else 0
            for record in scan_records(path, self.digest, start):
                known.append(record)
                self._add(record.task, record.runs, record)

    def _add(self, task: int, runs: int, source: Source) -> None:
        """Notes where a task's result is, if it has the sums of each run that the study needs."""
        is_task = task in range(self._study.num_tasks) and runs == self._study.task(task).runs
        if not is_task:
            raise damaged(source.path, f"it has a task {task} of {runs} runs")
        if not self._study.kept or source.kept == self._study.kept:
            self._sources.setdefault(task, source)

    def __contains__(self, task: int) -> bool:
        """Returns whether the task of a number has finished."""
        return task in self._sources

    def __len__(self) -> int:
        """Returns how many tasks have finished."""
        return len(self._sources)

    @property
    def num_bytes(self) -> int:
        """How long the files with results are."""
        paths = [*self._packs, *(path for path, records in self._records.items() if records)]
        return sum(path.stat().st_size for path in paths if path.exists())

    def read_metric(self, tasks: tuple[int, ...], metric: str) -> MetricResult:
        """Returns what a metric has seen in some finished tasks, read without all others."""
        found = self._recent.get((tasks, metric))
        if found is None:
            parts = (self._read_slice(task, metric) for task in tasks)
            found = functools.reduce(MetricResult.merge, parts)
            if len(self._recent) >= RECENT:
                self._recent.clear()
            self._recent[tasks, metric] = found
        return found

    def _read_slice(self, task: int, metric: str) -> MetricResult:
        """Returns what a metric has seen in a task."""
        runs = self._study.task(task).runs
        try:
            arrays = self._read_source(self._sources[task], task, runs, metric)
        except FileNotFoundError:  # the run that goes on has moved it to a pack
            self._forget_records()
            self.load()
            if task not in self._sources:
                raise damaged(self.path, f"the result of task {task} is gone") from None
            arrays = self._read_source(self._sources[task], task, runs, metric)
        return result_from_arrays([metric], self._steps, self._needed(arrays), runs)[metric]

    def _read_source(self, source: Source, task: int, runs: int, metric: str) -> Arrays:
        """Returns the arrays of a metric of a task."""
        metrics = self._study.metrics
        own = columns_of([metric], len(self._steps), runs, len(source.kept))
        if isinstance(source, Pack):
            return source.read_slice(task, own)
        before = metrics[: metrics.index(metric)]
        skipped = columns_of(before, len(self._steps), runs, len(source.kept))
        with source.path.open("rb", buffering=0) as file:
            file.seek(source.start + sum(column.num_bytes for column in skipped))
            content = file.read(sum(column.num_bytes for column in own))
        return read_arrays(content, own)

    def _forget_records(self) -> None:
        """Forgets what is not in a pack."""
        self._records.clear()
        self._sources = {
            task: source for task, source in self._sources.items() if isinstance(source, Pack)
        }

    def _needed(self, arrays: Arrays) -> Arrays:
        """Returns the arrays of a result that the study needs.

        A study without quantiles also uses tasks that kept the sums of each run. Those of other
        tasks may have kept none, or after other steps, and such sums do not merge.
        """
        if self._study.kept:
            return arrays
        return {name: array for name, array in arrays.items() if not name.endswith(".curves")}

    def pack(self) -> None:
        """Moves what workers have written to an archive, and deletes their files.

        No worker may be writing.
        """
        self.load()
        found: dict[tuple[int, ...], list[Record]] = defaultdict(list)
        for source in self._sources.values():
            if isinstance(source, Record):
                found[source.kept].append(source)
        for records in found.values():
            self._write_pack(sorted(records, key=attrgetter("path")))
        for path in self._records:
            path.unlink(missing_ok=True)
        self._forget_records()
        for path in self.path.glob(f"{CHECKPOINT}*"):  # of workers that were late
            if int(path.stem.removeprefix(CHECKPOINT)) in self:
                path.unlink(missing_ok=True)
        self.load()

    def _write_pack(self, records: list[Record]) -> None:
        """Writes an archive of records, under the first free name."""
        names = (self.path / f"results-{number}.npz" for number in itertools.count(1))
        path = next(name for name in names if not name.exists())
        tasks = [self._study.task(record.task) for record in records]
        index = Index(
            task=np.array([task.number for task in tasks], np.int64),
            position=np.array([task.position for task in tasks], np.int64),
            block=np.array([task.block for task in tasks], np.int64),
            runs=np.array([task.runs for task in tasks], np.int64),
            steps=self._steps,
            kept=np.array(records[0].kept, np.int64),
        )
        write_pack(path, self.digest, index, self._study.metrics, records)

    def steps_taken(self) -> int:
        """Returns the number of steps that all workers have taken.

        Where it takes long to read the files of many workers, they are read less often.
        """
        start = time.monotonic()
        if start >= self._next_count:
            self._num_steps = sum(map(read_number, self.path.glob(f"{PROGRESS}*")))
            end = time.monotonic()
            self._next_count = end + (end - start) / MAX_SHARE
        return self._num_steps

    def count_anew(self) -> None:
        """Lets `steps_taken` read the files again, however long that took the last time."""
        self._next_count = 0.0

    def forget_progress(self) -> None:
        """Deletes the files with numbers of steps taken."""
        for file in self.path.glob(f"{PROGRESS}*"):
            file.unlink(missing_ok=True)


class StoredResult(Mapping[str, MetricResult]):
    """What was measured in some finished tasks, by the name of the metric. It is read when asked.

    Args:
        folder: of the tasks.
        tasks: their numbers.
        metrics: the names of the metrics.
    """

    def __init__(
        self, folder: TaskFolder, tasks: tuple[int, ...], metrics: tuple[str, ...]
    ) -> None:
        self._folder = folder
        self._tasks = tasks
        self._metrics = metrics

    def __getitem__(self, metric: str) -> MetricResult:
        if metric not in self._metrics:
            raise KeyError(metric)
        return self._folder.read_metric(self._tasks, metric)

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __contains__(self, metric: object) -> bool:
        return metric in self._metrics


def read_number(file: Path) -> int:
    """Returns the number in a file; 0 if it is not there, or is just being written."""
    try:
        return int(file.read_text() or 0)
    except FileNotFoundError:
        return 0
