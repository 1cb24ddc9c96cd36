"""The log in one or several files of decisions, in batches."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, times_of_batches
from bandit_envs.logged.files.served.decision_file import DecisionFile
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.translation import translate_log
from bandit_envs.names.visible import visible
from bandit_envs.nests import Nest
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.times import TimesOfRows


@dataclasses.dataclass(frozen=True)
class DecisionScan(Scan):
    """The log in files of decisions, as they were when the scan was made.

    Files have the same columns, such as those of an old and of a new policy. Actions or items
    of the same name are the same in all files. Decisions without a reward are left out, and the
    others of a file are in the order of their rewards: a log that grows begins with the rows that
    it had.

    Args:
        parts: the files, in the order of their first decisions.
        files: what they held.
        encoding: of all files: the names, and the levels of texts, that any of them has.
        num_actions: of all files together, K; the most items of a decision.
        is_masked: whether batches always tell which actions were available.
        batch_rows: the most rows of a batch.
        time: the column of times by which `split` cuts: `time`, when the rewards came, in UTC; or
            one that `to_frame` names.
        reward: the name of a further reward, or "reward".
        has_dates: whether batches have the times of the decisions, in UTC, as their `time`.
    """

    parts: Parts[FilePart]
    files: Sequence[DecisionFile]
    encoding: TableEncoding
    num_actions: int
    is_masked: bool
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    reward: str = "reward"
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
        """Returns a scan of what files of decisions hold now.

        Raises:
            OSError, ValueError: a file cannot be read, is something else, or does not fit the
                first; two files begin with the same decision; or no file has such a reward.
        """
        ordered = sorted(parts.found, key=_time_of_first)
        files = [DecisionFile.open(part.file) for part in ordered]
        _refuse_copies(files, ordered)
        if reward != "reward":
            known = sorted({name for file in files for name in file.read_measure_names()})
            if reward not in known:
                expected = f"expected one of {['reward', *known]}"
                raise ValueError(f"reward is {reward!r}, which no decision has; {expected}")
        encoding = files[0].encoding
        for file, part in zip(files, ordered):
            with errors_that_name(part.name):
                encoding = encoding.join(file.encoding)
        size = len(encoding.actions)
        return cls(
            parts=Parts(ordered, parts.left_out),
            files=files,
            encoding=encoding,
            num_actions=size or max(file.num_actions for file in files),
            is_masked=any(
                file.seen.is_masked or len(file.encoding.actions) < size for file in files
            ),
            batch_rows=batch_rows,
            time=time,
            reward=reward,
        )

    def read(self) -> BanditLog:
        batches = list(self)
        if not batches:
            raise ValueError(f"{self.name} has no decision that has a reward")
        return concatenate(batches)

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        for batch in self.files[number].scan(self.batch_rows, self.has_dates, self.reward):
            yield self._recode(batch)

    def remarks(self) -> list[str]:
        counts = [file.count_decisions(self.reward) for file in self.files]
        size = sum(decisions for decisions, _ in counts)
        pending = sum(without for _, without in counts)
        name = visible(self.reward)
        left_out = f"{pending} of {size} decisions have no {name}, and are left out"
        sign = f"more {name} counts as better: if it is a cost, a gain below 0 is good"
        return [*super().remarks(), *([] if self.reward == "reward" else [sign]), left_out]

    def with_dates(self, name: str) -> DecisionScan:
        return super().with_dates(name)._replace(has_dates=True)

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for number, part in enumerate(self.parts.found):
            if name == "time":
                file = self.files[number]
                yield from file.scan_times(self.batch_rows, part.name, self.reward)
            else:
                yield from times_of_batches(self.scan_part(number), name, part.name, part.keys)

    def _recode(self, batch: BanditLog) -> BanditLog:
        """Returns a batch of a file with the numbers, the features and the width of all files."""
        if self.is_masked and batch.available is None:
            everything = np.ones((len(batch), batch.num_actions), np.bool_)
            batch = dataclasses.replace(batch, available=everything)
        own = batch.encoding
        batch = translate_log(batch, self.encoding)
        if batch.item is None or own is None:
            return batch
        places = {name: place for place, name in enumerate(self.encoding.items)}
        numbers = np.array([*(places[name] for name in own.items), -1])
        more = self.num_actions - batch.num_actions
        return dataclasses.replace(
            batch,
            observation=_widen(batch.observation, more),
            item=np.pad(numbers[batch.item], ((0, 0), (0, more)), constant_values=-1),
            num_actions=self.num_actions,
            encoding=self.encoding,
        )


def _widen(observation: dict[str, Nest], more: int) -> dict[str, Nest]:
    """Returns an observation of items with more places, where there is no item."""
    per_arm = np.pad(observation["per_arm"], ((0, 0), (0, more), (0, 0)))
    mask = np.pad(observation["mask"], ((0, 0), (0, more)))
    return {**observation, "per_arm": per_arm, "mask": mask}


def _refuse_copies(files: Sequence[DecisionFile], parts: Sequence[FilePart]) -> None:
    """Raises ValueError if two files begin with the same decision, as one and its copy do."""
    known: dict[tuple[str, float], str] = {}
    for file, part in zip(files, parts):
        decision = file.find_first_decision()
        if decision is None:
            continue
        first = known.setdefault(decision, part.name)
        if first != part.name:
            problem = f"{first} and {part.name} begin with the same decision"
            raise ValueError(f"{problem}, and its rows would count twice; expected one of them")


def _time_of_first(part: FilePart) -> float:
    """Returns the time of the first decision of a file; infinity if it has no decision."""
    first = DecisionFile.open(part.file).find_first_decision()
    return math.inf if first is None else first[1]
