"""The log in a file of decisions, in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from bandit_envs.logged.files.decisions import DecisionFile
from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, times_of_batches
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.times import TimesOfRows


@dataclasses.dataclass(frozen=True)
class DecisionScan(Scan):
    """The log in a file of decisions, as it was when the scan was made.

    Decisions without a reward are left out, and the others are in the order of their rewards: a
    log that grows begins with the rows that it had.

    Args:
        parts: the file.
        decisions: what it held.
        batch_rows: the most rows of a batch.
        time: the column of times: `time`, when the rewards came, in UTC; or one that `to_frame`
            names.
    """

    parts: Parts[FilePart]
    decisions: DecisionFile
    batch_rows: int = BATCH_ROWS
    time: str | None = None

    condition = " of decisions that have a reward"

    @classmethod
    def open(
        cls, path: Path, batch_rows: int = BATCH_ROWS, time: str | None = None
    ) -> DecisionScan:
        """Returns a scan of what a file of decisions holds now."""
        decisions = DecisionFile.open(path)
        return cls(Parts([FilePart.find(path, path.name)]), decisions, batch_rows, time)

    def __iter__(self) -> Iterator[BanditLog]:
        return self.decisions.scan(self.batch_rows)

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        return iter(self)

    def remarks(self) -> list[str]:
        size, pending = self.decisions.count_decisions()
        left_out = f"{pending} of {size} decisions have no reward, and are left out"
        return [*super().remarks(), left_out]

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        source = self.parts.found[0].name
        if name == "time":
            return self.decisions.scan_times(self.batch_rows, source)
        return times_of_batches(self, name, source, {})
