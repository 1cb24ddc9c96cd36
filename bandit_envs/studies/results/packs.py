"""Packs of results: archives of NumPy, with an array of each kind for many tasks."""

from __future__ import annotations

import contextlib
import errno
import itertools
import struct
import threading
import weakref
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.archives import (
    CONTENT_ERRORS,
    open_arrays,
    read_array,
    read_array_header,
)
from bandit_envs.base.saving import atomic_file
from bandit_envs.studies.results.records import Arrays, Record, ResultColumn, columns_of

STUDY = "study"
"""The name of the array with the digest of the study."""

PIECE = 2**20
"""Bytes that are written at once."""

NAME_LENGTHS = 26
"""Where the header of a file in an archive says how long its name and its extra field are."""


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
    columns = columns_of(metrics, len(index.steps), int(index.runs.sum()), len(index.kept))
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, values in {STUDY: np.array(study), **index._asdict()}.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values)
        bounds = {}
        for runs in set(index.runs.tolist()):
            own = columns_of(metrics, len(index.steps), runs, len(index.kept))
            bounds[runs] = [0, *itertools.accumulate(column.num_bytes for column in own)]
        for place, column in enumerate(columns):
            shape = column.shape if column.is_of_runs else (len(records), *column.shape)
            header = {"descr": column.dtype, "fortran_order": False, "shape": shape}
            with archive.open(f"{column.name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for part in _joined(_read_parts(records, bounds, place)):
                    member.write(part)


def _read_parts(
    records: Sequence[Record], bounds: Mapping[int, Sequence[int]], place: int
) -> Iterator[bytes]:
    """Yields the bytes of an array of each record.

    Args:
        records: those of a file stand one after the other.
        bounds: where the arrays of a record begin and the last one ends, by its number of runs.
        place: the place of the array among those of a record.
    """
    for path, group in itertools.groupby(records, attrgetter("path")):
        with path.open("rb", buffering=0) as file:
            for record in group:
                start, end = bounds[record.runs][place : place + 2]
                file.seek(record.start + start)
                yield file.read(end - start)


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yields bytes in pieces of about a megabyte: to write many small ones takes longer."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting.clear()
            size = 0
    yield b"".join(waiting)


class Pack:
    """An archive that `write_pack` wrote. `np.load` reads it, too.

    Args:
        path: the file.

    Raises:
        ValueError: it is damaged, or no pack.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _errors_as_damage(path):
            with path.open("rb") as file, open_arrays(file) as archive:
                found = {name: read_array(archive, name) for name in (STUDY, *Index._fields)}
            self.study = str(found.pop(STUDY))
            self.index = Index(**found)
        self.kept = tuple(self.index.kept.tolist())
        self._rows: dict[int, int] = {}
        self._ends: list[int] = []
        self._file: IO[bytes] | None = None
        self._members: dict[str, Member] = {}
        self._lock = threading.Lock()  # a place in a file and what is read there belong together

    def check(self, steps: NDArray[np.int64]) -> None:
        """Raises ValueError if the index is not that of a study with statistics of these steps."""
        index = self.index
        if not np.array_equal(index.steps, steps):
            raise damaged(self.path, "its steps are not those of the study")
        for name in ("task", "position", "block", "runs"):
            values = getattr(index, name)
            if values.dtype != np.int64 or values.shape != (index.task.size,):
                raise damaged(self.path, f"{name} is not a list with an integer for each task")
        if np.unique(index.task).size != index.task.size:
            raise damaged(self.path, "it has a task twice")

    def read_slice(self, task: int, columns: Sequence[ResultColumn]) -> Arrays:
        """Returns arrays of a task, which are read without the others.

        Args:
            task: the number of the task.
            columns: the arrays, with the runs of the task as their first axis where that is of
                runs.

        The first call checks all bytes of the file, and opens it: what it reads later is of the
        same file, though another run may have replaced it.
        """
        with _errors_as_damage(self.path):
            file = self._file or self._open()
            row = self._rows[task]
            end = self._ends[row]
            runs = end - self._ends[row - 1] if row else end
            arrays: Arrays = {}
            for column in columns:
                member = self._members[f"{column.name}.npy"]
                size = column.num_bytes
                if column.is_of_runs:
                    shape = (self._ends[-1], *column.shape[1:])
                    start = (end - runs) * (size // max(runs, 1))
                else:
                    shape = (len(self._rows), *column.shape)
                    start = row * size
                member.check(column, shape)
                with self._lock:
                    file.seek(member.start + start)
                    content = file.read(size)
                arrays[column.name] = np.frombuffer(content, column.dtype).reshape(column.shape)
        return arrays

    def _open(self) -> IO[bytes]:
        """Opens the file, once its checksums are right and its arrays are not compressed.

        Raises:
            Exception: one of `CONTENT_ERRORS`, if they are not.
        """
        file = self.path.open("rb", buffering=0)
        weakref.finalize(self, file.close)
        with open_arrays(file) as archive:
            broken = archive.testzip()
            if broken is not None:
                raise ValueError(f"the checksum of {broken} is wrong")
            for info in archive.infolist():
                self._members[info.filename] = _find_member(file, info)
        self._rows = {task: row for row, task in enumerate(self.index.task.tolist())}
        self._ends = self.index.runs.cumsum().tolist()
        self._file = file
        return file


@contextlib.contextmanager
def _errors_as_damage(path: Path) -> Iterator[None]:
    """Turns what the content of an archive makes its reader raise into the error of damage."""
    try:
        yield
    except CONTENT_ERRORS as error:
        raise damaged(path, error) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a place ahead of the file, where an array would be
            raise
        raise damaged(path, error) from error


class Member(NamedTuple):
    """Where an array is in an archive, and what it is."""

    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def check(self, column: ResultColumn, shape: tuple[int, ...]) -> None:
        """Raises ValueError if it is not of the dtype of a column and of a shape."""
        if self.dtype != np.dtype(column.dtype) or self.shape != shape:
            found = f"{column.name} has dtype {self.dtype} and shape {self.shape}"
            raise ValueError(f"{found}; expected {column.dtype} and {shape}")


def _find_member(file: IO[bytes], info: zipfile.ZipInfo) -> Member:
    """Returns where an array of an archive is."""
    file.seek(info.header_offset + NAME_LENGTHS)
    lengths = struct.unpack("<HH", file.read(4))
    start = info.header_offset + NAME_LENGTHS + 4 + sum(lengths)
    file.seek(start)
    header = read_array_header(file)
    length = file.tell() - start
    if header.is_fortran or length + header.num_bytes != info.file_size:
        raise ValueError(f"{info.filename} is not an array of {header.shape}")
    return Member(start + length, header.dtype, header.shape)


def damaged(path: Path, problem: object) -> ValueError:
    """Returns the error of a file of results that is damaged: it says what to do."""
    text = f"{path} is damaged: {problem}"
    return ValueError(f"{text}; without this file, the same command repeats its tasks")
