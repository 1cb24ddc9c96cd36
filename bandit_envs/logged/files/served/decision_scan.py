"""The log in one or several files of decisions, in batches."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, times_of_batches
from bandit_envs.logged.files.served.decision_file import DecisionFile
from bandit_envs.logged.files.served.joined_files import JoinedFiles
from bandit_envs.logged.log import BanditLog
from bandit_envs.names.visible import visible
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.times import TimesOfRows


@dataclasses.dataclass(frozen=True)
class DecisionScan(Scan):
    """The log in files of decisions, as they were when the scan was made.

    Decisions without a reward are left out, and the others of a file are in the order of their
    rewards: a log that grows begins with the rows that it had.

    Args:
        parts: the files, in the order of their first decisions.
        decisions: what they held.
        batch_rows: the most rows of a batch.
        time: the column of times by which `split` cuts: `time`, when the rewards came, in UTC; or
            one that `to_frame` names.
        has_dates: whether batches have the times of the decisions, in UTC, as their `time`.
    """

    parts: Parts[FilePart]
    decisions: JoinedFiles
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    has_dates: bool = False

    condition = " of decisions that have a reward"

    @classmethod
    def open(
        cls,
        parts: Parts[FilePart],
        batch_rows: int = BATCH_ROWS,
        time: str | None = None,
        reward: str = "reward",
    ) -> DecisionScan:
        """Returns a scan of what files of decisions hold now."""
        ordered = sorted(parts.found, key=_time_of_first)
        files = JoinedFiles.open(ordered, reward)
        return cls(Parts(ordered, parts.left_out), files, batch_rows, time)

    def __iter__(self) -> Iterator[BanditLog]:
        for number in range(len(self.parts.found)):
            yield from self.scan_part(number)

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        return self.decisions.scan(number, self.batch_rows, self.has_dates)

    def remarks(self) -> list[str]:
        size, pending = self.decisions.count_decisions()
        reward = visible(self.decisions.reward)
        left_out = f"{pending} of {size} decisions have no {reward}, and are left out"
        return [*super().remarks(), left_out]

    def with_dates(self, name: str) -> DecisionScan:
        return super().with_dates(name)._replace(has_dates=True)

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for number, part in enumerate(self.parts.found):
            if name == "time":
                file = self.decisions.files[number]
                yield from file.scan_times(self.batch_rows, part.name, self.decisions.reward)
            else:
                yield from times_of_batches(self.scan_part(number), name, part.name, part.keys)


def _time_of_first(part: FilePart) -> float:
    """Returns the time of the first decision of a file; infinity if it has no decision."""
    first = DecisionFile.open(part.file).find_first_decision()
    return math.inf if first is None else first[1]
