"""What a log in batches holds, found in one pass."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

import numpy as np

from bandit_envs.logged.log import BanditLog
from bandit_envs.metrics.statistics import Statistics


@dataclasses.dataclass(frozen=True)
class LogSummary:
    """What a log holds.

    Args:
        size: the number of rows.
        num_actions: K.
        rewards: their statistics.
        lowest_propensity: of all rows.
        highest_propensity: of all rows.
        batch_size: how many rows of a policy made the log; 1 if no `LogRecorder` wrote it. Then it
            is of one problem, which one row of a policy learns.
    """

    size: int
    num_actions: int
    rewards: Statistics
    lowest_propensity: float
    highest_propensity: float
    batch_size: int

    @classmethod
    def from_batches(cls, batches: Iterable[BanditLog]) -> LogSummary:
        """Returns what a log in batches holds; ValueError if it has no rows."""
        size = 0
        num_actions = 0
        rewards = Statistics.from_values(np.zeros(0))
        lowest = math.inf
        highest = 0.0
        batch_size = 0  # of a complete log; 0 before the first row
        for batch in batches:
            num_actions = batch.num_actions
            rewards = rewards.merge(Statistics.from_values(batch.reward))
            lowest = float(batch.propensity.min(initial=lowest))
            highest = float(batch.propensity.max(initial=highest))
            if len(batch):
                batch_size = _find_batch_size(batch, size, batch_size)
            size += len(batch)
        if not size:
            raise ValueError("the log has no rows")
        return cls(size, num_actions, rewards, lowest, highest, batch_size)

    def rows_of(self, fraction: float) -> int:
        """Returns how many rows a fraction of the log has, in complete batches."""
        return int(self.size * fraction) // self.batch_size * self.batch_size

    def __str__(self) -> str:
        propensities = f"{self.lowest_propensity:.4g} to {self.highest_propensity:.4g}"
        mean = f"mean reward {float(self.rewards.mean):.4g}"
        return f"{self.size} rows, {self.num_actions} actions, {mean}, propensities {propensities}"


@dataclasses.dataclass(frozen=True)
class LogRows:
    """Some rows of a log in batches, which can be passed over more than once.

    Args:
        batches: of the whole log.
        start: the first row.
        stop: the first row that is left out.
    """

    batches: Iterable[BanditLog]
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the rows in batches."""
        first_row = 0
        for batch in self.batches:
            if first_row >= self.stop:
                return
            part = batch[max(0, self.start - first_row) : self.stop - first_row]
            if len(part):
                yield part
            first_row += len(batch)


def _find_batch_size(batch: BanditLog, first_row: int, known: int) -> int:
    """Returns the batch size of a log up to a batch, from the size known of the rows before."""
    if batch.row is None or known == 1:
        return 1
    size = known or int(batch.row.max()) + 1
    expected = np.arange(first_row, first_row + len(batch)) % size
    return size if np.array_equal(batch.row, expected) else 1
