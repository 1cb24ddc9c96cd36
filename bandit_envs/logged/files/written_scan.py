"""Logs in files that `write_log` wrote, in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from bandit_envs.logged.files.layout import (
    has_plain_observation,
    join_frame,
    labels_of,
    without_observation,
)
from bandit_envs.logged.files.log_files import (
    csv_options,
    is_archive,
    read_csv_layout,
    read_file,
    read_parquet_layout,
)
from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, are_parquet, times_of_batches
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.tables.csv_files import scan_csv
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.parquet_files import scan_parquet
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.suffixes import is_parquet
from bandit_envs.tables.times import TimesOfRows


@dataclasses.dataclass(frozen=True)
class WrittenScan(Scan):
    """A log in files that `write_log` wrote.

    Args:
        parts: the files, in order.
        batch_rows: the most rows of a batch.
        time: the column of times, named as `to_frame` names it, such as "step"; or a key of the
            folders.
        reads_observation: whether batches have the observation, rather than one of no features.
    """

    parts: Parts[FilePart]
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    reads_observation: bool = True

    def __iter__(self) -> Iterator[BanditLog]:
        first: BanditLog | None = None
        for number, part in enumerate(self.parts.found):
            for batch in self.scan_part(number):
                with errors_that_name(part.name):
                    first = batch[:0] if first is None else first
                    concatenate([first, batch[:0]])  # an error if their columns differ
                yield batch

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        part = self.parts.found[number]
        with part.reading():
            yield from _scan_written(part.file, self.batch_rows, self.reads_observation)

    def read(self) -> BanditLog:
        """Returns the whole log, of which each file is read at once."""
        logs: list[BanditLog] = []
        for part in self.parts.found:
            with part.reading():
                logs.append(read_file(part.file))
                concatenate([logs[0][:0], logs[-1][:0]])  # an error if their columns differ
        return logs[0] if len(logs) == 1 else concatenate(logs)  # which is of native byte order

    def keep_features(self, names: Sequence[str]) -> WrittenScan:
        if names or not are_parquet(self.parts):
            return self
        for part in self.parts.found:
            with part.reading():
                layout = read_parquet_layout(part.file)
            if not has_plain_observation(layout):
                return self
        return dataclasses.replace(self, reads_observation=False)

    @property
    def unread(self) -> str:
        return "" if self.reads_observation else "observations are"

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for number, part in enumerate(self.parts.found):
            yield from times_of_batches(self.scan_part(number), name, part.name, part.keys)


def _scan_written(file: Path, batch_rows: int, reads_observation: bool) -> Iterator[BanditLog]:
    """Yields the batches of a file that `write_log` wrote.

    Args:
        file: which is read.
        batch_rows: the most rows of a batch.
        reads_observation: whether they have the observation, of which a file is read by column.
    """
    if is_archive(file.name):
        log = read_file(file)
        for start in range(0, len(log), batch_rows):
            yield log[start : start + batch_rows]
        return
    if is_parquet(file):
        layout = read_parquet_layout(file)
        names = None
        if not reads_observation:
            layout = without_observation(layout)
            names = list(labels_of(layout))
        frames = scan_parquet(file, batch_rows, names)
    else:
        layout = read_csv_layout(file)
        frames = scan_csv(file, batch_rows, **csv_options(layout))
    rows = 0
    for frame in frames:
        rows += len(frame)
        layout_of_batch = layout.copy()
        layout_of_batch["rows"] = len(frame)
        yield join_frame(layout_of_batch, frame)
    if rows != layout["rows"]:
        raise ValueError(f"it has {rows} rows; expected {layout['rows']}")
