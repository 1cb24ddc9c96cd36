"""Results of tasks as arrays, and as records in files that workers append to."""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.metrics import MetricResult, Statistics

MAGIC = b"bandits:"
"""How a record begins."""

PREFIX = struct.Struct("<8sIIQ")
"""`MAGIC`, the CRC-32 of all that follows, and the lengths of the header and of the arrays."""

CHECKED_FROM = 12
"""The place in a record from which its checksum counts."""

TaskResult = dict[str, MetricResult]
"""What was measured, by the name of the metric."""

Arrays = dict[str, NDArray[Any]]


class ResultColumn(NamedTuple):
    """An array of a task's result."""

    name: str
    """The name of the metric, a dot, and what it is."""

    dtype: str
    shape: tuple[int, ...]

    is_of_runs: bool = False
    """Whether its first axis is of runs."""

    @property
    def num_bytes(self) -> int:
        """How long it is in a record."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)


class Record(NamedTuple):
    """Where the arrays of a finished task are in a file."""

    path: Path
    start: int
    end: int

    task: int
    """The number of the task."""

    runs: int
    kept: tuple[int, ...]
    """The steps after which it has the sums of each run."""


def columns_of(metrics: Sequence[str], points: int, runs: int, kept: int) -> list[ResultColumn]:
    """Returns the arrays of a task's result, in the order in which a record has them.

    Args:
        metrics: the names of the metrics.
        points: how many steps have statistics.
        runs: of the task.
        kept: how many steps have the sums of each run.
    """
    columns = []
    for metric in metrics:
        for part in ("mean", "squared_deviation", "sum_mean", "sum_squared_deviation"):
            columns.append(ResultColumn(f"{metric}.{part}", "<f8", (points,)))
        columns.append(ResultColumn(f"{metric}.totals", "<f8", (runs,), is_of_runs=True))
        if kept:
            columns.append(ResultColumn(f"{metric}.curves", "<f4", (runs, kept), is_of_runs=True))
    return columns


def result_to_arrays(result: TaskResult) -> Arrays:
    """Returns the arrays of a result, as `columns_of` describes them."""
    arrays: Arrays = {}
    for metric, found in result.items():
        arrays[f"{metric}.mean"] = found.per_step.mean
        arrays[f"{metric}.squared_deviation"] = found.per_step.squared_deviation
        arrays[f"{metric}.sum_mean"] = found.cumulative.mean
        arrays[f"{metric}.sum_squared_deviation"] = found.cumulative.squared_deviation
        arrays[f"{metric}.totals"] = found.totals
        if len(found.curves):
            arrays[f"{metric}.curves"] = found.curves.T
    return arrays


def result_from_arrays(
    metrics: Sequence[str], steps: NDArray[np.int64], arrays: Arrays, count: int
) -> TaskResult:
    """Returns the result that `result_to_arrays` was given.

    Args:
        metrics: the names of the metrics.
        steps: which have statistics.
        arrays: of the result.
        count: of how many values the statistics are.
    """
    result = {}
    for metric in metrics:
        mean = arrays[f"{metric}.mean"]
        sum_mean = arrays[f"{metric}.sum_mean"]
        found = MetricResult(
            Statistics(count, mean, arrays[f"{metric}.squared_deviation"]),
            Statistics(count, sum_mean, arrays[f"{metric}.sum_squared_deviation"]),
            arrays[f"{metric}.totals"],
            steps,
        )
        curves = arrays.get(f"{metric}.curves")
        result[metric] = found if curves is None else found._replace(curves=curves.T)
    return result


def merge(first: TaskResult, second: TaskResult) -> TaskResult:
    """Returns the result of the runs of both."""
    return {name: found.merge(second[name]) for name, found in first.items()}


def encode_record(
    header: Mapping[str, Any], arrays: Arrays, columns: Sequence[ResultColumn]
) -> bytes:
    """Returns a record of arrays, with a header that JSON can hold."""
    text = json.dumps(header).encode()
    parts = [np.ascontiguousarray(arrays[column.name], column.dtype) for column in columns]
    content = b"".join(part.tobytes() for part in parts)
    lengths = struct.pack("<IQ", len(text), len(content))
    checksum = zlib.crc32(content, zlib.crc32(text, zlib.crc32(lengths)))
    return PREFIX.pack(MAGIC, checksum, len(text), len(content)) + text + content


def scan_records(path: Path, study: str, start: int = 0) -> Iterator[Record]:
    """Yields the whole records of a study in a file. It takes no arrays into memory.

    Records of other studies, and those with a wrong checksum, are left out. The file ends where a
    record is torn.

    Args:
        path: the file.
        study: the digest of the study.
        start: where the first record begins.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        while start + PREFIX.size <= size:
            file.seek(start)
            prefix = file.read(PREFIX.size)
            magic, checksum, header_length, length = PREFIX.unpack(prefix)
            arrays_start = start + PREFIX.size + header_length
            end = arrays_start + length
            if magic != MAGIC or end > size:
                return
            rest = file.read(header_length + length)
            if zlib.crc32(rest, zlib.crc32(prefix[CHECKED_FROM:])) == checksum:
                header = json.loads(rest[:header_length])
                if header["study"] == study:
                    kept = tuple(header["kept"])
                    yield Record(path, arrays_start, end, header["task"], header["runs"], kept)
            start = end


def read_arrays(content: bytes, columns: Sequence[ResultColumn]) -> Arrays:
    """Returns the arrays of a part of a record, one after the other."""
    arrays: Arrays = {}
    start = 0
    for column in columns:
        count = math.prod(column.shape)
        part = np.frombuffer(content, column.dtype, count, start).reshape(column.shape)
        arrays[column.name] = part.astype(part.dtype.newbyteorder("="))
        start += column.num_bytes
    return arrays
