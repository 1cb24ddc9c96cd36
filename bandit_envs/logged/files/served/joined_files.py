"""Files of decisions whose rows are one log."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from bandit_envs.logged.files.served.decision_file import DecisionFile
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.translation import translate_log
from bandit_envs.nests import Nest
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.parts import FilePart


@dataclasses.dataclass(frozen=True)
class JoinedFiles:
    """Files of services with the same columns, such as those of an old and of a new policy.

    An action or an item of the same name is the same one in all files.

    Args:
        files: of decisions, in the order of their rows.
        encoding: of all files: the names, and the levels of texts, that any of them has.
        num_actions: of all files together, K; the most items of a decision.
        is_masked: whether batches always tell which actions were available.
        reward: the name of a further reward, or "reward".
    """

    files: Sequence[DecisionFile]
    encoding: TableEncoding
    num_actions: int
    is_masked: bool
    reward: str

    @classmethod
    def open(cls, parts: Sequence[FilePart], reward: str) -> JoinedFiles:
        """Returns what files hold now.

        Raises:
            OSError, ValueError: a file cannot be read, is something else, or does not fit the
                first; or two files begin with the same decision; or none has such a reward.
        """
        files = [DecisionFile.open(part.file) for part in parts]
        _refuse_copies(files, parts)
        if reward != "reward":
            known = sorted({name for file in files for name in file.read_measure_names()})
            if reward not in known:
                expected = f"expected one of {['reward', *known]}"
                raise ValueError(f"reward is {reward!r}, which no decision has; {expected}")
        encoding = files[0].encoding
        for file, part in zip(files, parts):
            with errors_that_name(part.name):
                encoding = encoding.join(file.encoding)
        names = encoding.actions
        is_masked = any(
            file.seen.is_masked or len(file.encoding.actions) < len(names) for file in files
        )
        num_actions = len(names) or max(file.num_actions for file in files)
        return cls(files, encoding, num_actions, is_masked, reward)

    def scan(self, number: int, batch_rows: int, has_dates: bool) -> Iterator[BanditLog]:
        """Yields the decisions of a file that have rewards in batches, in the common encoding."""
        for batch in self.files[number].scan(batch_rows, has_dates, self.reward):
            yield self._recode(batch)

    def count_decisions(self) -> tuple[int, int]:
        """Returns how many decisions there are, and how many of them lack the reward."""
        counts = [file.count_decisions(self.reward) for file in self.files]
        return sum(size for size, _ in counts), sum(pending for _, pending in counts)

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
