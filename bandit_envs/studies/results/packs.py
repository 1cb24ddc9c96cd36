"""Packs of results: archives of NumPy, with an array of each kind for many tasks."""

from __future__ import annotations

import functools
import itertools
import zipfile
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.saving import atomic_file
from bandit_envs.studies.results.records import Arrays, Column, Record, columns_of, map_file

STUDY = "study"
"""The name of the array with the digest of the study."""


class Index(NamedTuple):
    """The arrays of a pack that say what the others are of."""

    task: NDArray[np.int64]
    """The numbers of the tasks: [n], as the next three."""

    position: NDArray[np.int64]
    block: NDArray[np.int64]
    runs: NDArray[np.int64]

    steps: NDArray[np.int64]
    """The steps that have statistics."""

    kept: NDArray[np.int64]
    """The steps after which there are the sums of each run."""


def write_pack(
    path: Path, study: str, index: Index, metrics: Sequence[str], records: Sequence[Record]
) -> None:
    """Writes an archive of the arrays of records. It takes one record at a time into memory.

    Args:
        path: the file.
        study: the digest of the study.
        index: with an item for each record, in this order.
        metrics: the names of the metrics.
        records: those of a file stand one after the other.
    """

    @functools.cache
    def columns(runs: int) -> list[Column]:
        return columns_of(metrics, len(index.steps), runs, len(index.kept))

    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, values in {STUDY: np.array(study), **index._asdict()}.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values)
        for place, column in enumerate(columns(int(index.runs.sum()))):
            shape = column.shape if column.is_of_runs else (len(records), *column.shape)
            header = {"descr": column.dtype, "fortran_order": False, "shape": shape}
            with archive.open(f"{column.name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for part in _parts(records, place, columns):
                    member.write(part)


def _parts(
    records: Sequence[Record], place: int, columns: Callable[[int], list[Column]]
) -> Iterator[bytes]:
    """Yields the bytes of an array of each record.

    Args:
        records: those of a file stand one after the other.
        place: the place of the array among those of a record.
        columns: returns these for a number of runs.
    """
    for path, group in itertools.groupby(records, attrgetter("path")):
        with map_file(path) as content:
            for record in group:
                before = columns(record.runs)[:place]
                start = record.start + sum(column.num_bytes for column in before)
                yield content[start : start + columns(record.runs)[place].num_bytes]


class Pack:
    """An archive that `write_pack` wrote. `np.load` reads it, too.

    Args:
        path: the file.

    Raises:
        ValueError: it is damaged, or no pack.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with np.load(path) as archive:
                self.study = str(archive[STUDY])
                self.index = Index(**{name: archive[name] for name in Index._fields})
        except Exception as error:  # damaged bytes make zipfile and NumPy raise almost anything
            raise damaged(path, error) from error
        self.kept = tuple(self.index.kept.tolist())

    def check(self, steps: NDArray[np.int64]) -> None:
        """Raises ValueError if the index is not that of a study with statistics of these steps."""
        index = self.index
        if not np.array_equal(index.steps, steps):
            raise damaged(self.path, "its steps are not those of the study")
        for name in ("task", "position", "block", "runs"):
            values = getattr(index, name)
            if values.dtype != np.int64 or values.shape != (index.task.size,):
                raise damaged(self.path, f"{name} is no list with an integer for each task")
        if np.unique(index.task).size != index.task.size:
            raise damaged(self.path, "it has a task twice")

    def read(self, metrics: Sequence[str]) -> Iterator[tuple[int, int, Arrays]]:
        """Yields the number, the runs and the arrays of each task.

        Args:
            metrics: the names of the metrics.
        """
        index = self.index
        columns = columns_of(metrics, len(index.steps), 1, len(index.kept))
        try:
            with np.load(self.path) as archive:
                whole = {column.name: archive[column.name] for column in columns}
            for column in columns:
                shape = (index.task.size, *column.shape)
                if column.is_of_runs:
                    shape = (int(index.runs.sum()), *column.shape[1:])
                _check_array(whole[column.name], column, shape)
        except Exception as error:
            raise damaged(self.path, error) from error
        stops = index.runs.cumsum().tolist()
        for row, (task, runs, stop) in enumerate(
            zip(index.task.tolist(), index.runs.tolist(), stops)
        ):
            rows = slice(stop - runs, stop)
            arrays = {
                column.name: whole[column.name][rows if column.is_of_runs else row]
                for column in columns
            }
            yield task, runs, arrays


def _check_array(array: NDArray[Any], column: Column, shape: tuple[int, ...]) -> None:
    """Raises ValueError if an array is not of the dtype of a column and of a shape."""
    if array.dtype != np.dtype(column.dtype) or array.shape != shape:
        found = f"{column.name} has dtype {array.dtype} and shape {array.shape}"
        raise ValueError(f"{found}; expected {column.dtype} and {shape}")


def damaged(path: Path, problem: object) -> ValueError:
    """Returns the error of a file of results that is damaged: it says what to do."""
    text = f"{path} is damaged: {problem}"
    return ValueError(f"{text}; without this file, the same command repeats its tasks")
