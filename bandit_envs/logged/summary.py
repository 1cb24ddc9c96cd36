"""What a log in batches holds, found in one pass over its parts."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.logged.columns import describe_actions
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.logged.row_order import RowOrder
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.names.visible import visible
from bandit_envs.nests import flatten
from bandit_envs.tables.encoding import TableEncoding

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose product with a number depends on all bits of it: 2^64 by the golden ratio."""

STEP = 0xD1342543DE82EF95
"""An odd number, as is each power of it: the places of rows are told apart by its powers."""

SHOWN = 10  # names of actions in a title


@dataclasses.dataclass(frozen=True)
class LogSummary:
    """What a part of a log holds. Those of parts, merged in order, are those of the whole.

    Args:
        empty: the part without its rows, which shows its columns; None of a part without batches.
        rewards: their statistics.
        weights: the statistics of the weights of rows; None if they have none.
        weighted: those of the rewards times the weights; likewise.
        lowest_propensity: of all rows.
        highest_propensity: of all rows.
        order: in which rows of a policy made the log.
        fingerprint: a sum that other decisions hardly have. It depends on the order of the rows,
            not on batches; and not on rewards, which may come late.
    """

    empty: BanditLog | None
    rewards: Statistics
    lowest_propensity: float
    highest_propensity: float
    order: RowOrder
    fingerprint: int
    weights: Statistics | None = None
    weighted: Statistics | None = None

    @classmethod
    def from_batches(cls, batches: Iterable[BanditLog]) -> LogSummary:
        """Returns what batches hold."""
        nothing = cls(
            empty=None,
            rewards=Statistics.from_values(np.zeros(0)),
            lowest_propensity=math.inf,
            highest_propensity=0.0,
            order=RowOrder(),
            fingerprint=0,
        )
        return functools.reduce(cls.merge, map(cls._from_batch, batches), nothing)

    @classmethod
    def _from_batch(cls, batch: BanditLog) -> LogSummary:
        weight = batch.weight
        return cls(
            empty=batch[:0],
            rewards=Statistics.from_values(batch.reward),
            lowest_propensity=float(np.fmin.reduce(batch.propensity, initial=math.inf)),
            highest_propensity=float(np.fmax.reduce(batch.propensity, initial=0.0)),
            order=RowOrder.from_rows(batch.row),
            fingerprint=_fingerprint(batch),
            weights=None if weight is None else Statistics.from_values(weight),
            weighted=None if weight is None else Statistics.from_values(weight * batch.reward),
        )

    def merge(self, later: LogSummary) -> LogSummary:
        """Returns what this part and a later one hold; ValueError if their columns differ."""
        empty = later.empty if self.empty is None else self.empty
        if self.empty is not None and later.empty is not None:
            empty = concatenate([self.empty, later.empty])
        return LogSummary(
            empty=empty,
            rewards=self.rewards.merge(later.rewards),
            lowest_propensity=min(self.lowest_propensity, later.lowest_propensity),
            highest_propensity=max(self.highest_propensity, later.highest_propensity),
            order=self.order.merge(later.order),
            fingerprint=(self.fingerprint + later.fingerprint * pow(STEP, self.size, 2**64))
            % 2**64,
            weights=_merge(self.weights, later.weights),
            weighted=_merge(self.weighted, later.weighted),
        )

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.rewards.count

    @property
    def num_actions(self) -> int:
        """The number of actions, K; 0 if they are real numbers, and of a part without batches."""
        return 0 if self.empty is None else self.empty.num_actions

    @property
    def batch_size(self) -> int:
        """How many rows of a policy made the log; 1 if no `LogRecorder` wrote it.

        Then it is of one problem, which one row of a policy learns.
        """
        return self.order.batch_size()

    def round_rows(self, rows: float) -> int:
        """Returns a number of rows, rounded down to complete batches."""
        return int(rows) // self.batch_size * self.batch_size

    def identify(self) -> str:
        """Returns a text that summaries of other decisions hardly have.

        It has no mean, which batches of other sizes may round otherwise.
        """
        # Names stay when others come, unlike the number of actions.
        actions = "named" if self._names else f"{self.num_actions}"
        return f"{self.size} rows, {actions} actions, fingerprint {self.fingerprint:016x}"

    @property
    def has_propensities(self) -> bool:
        """Whether the propensities are known, or were estimated."""
        return self.empty is None or self.empty.has_propensities

    @property
    def estimated(self) -> str:
        """How the propensities were estimated; "" if they were logged."""
        return self.empty.estimated if self.empty is not None and self.has_propensities else ""

    @property
    def encoding(self) -> TableEncoding | None:
        """How a table became the log; None if it comes from none."""
        return None if self.empty is None else self.empty.encoding

    @property
    def _names(self) -> Sequence[str]:
        return () if self.empty is None else self.empty.action_names

    def _mean_reward(self) -> float:
        """Returns the mean reward, in which rows count by their weights."""
        if self.weights is None or self.weighted is None:
            return float(self.rewards.mean)
        return float(self.weighted.mean / self.weights.mean)

    def __str__(self) -> str:
        propensities = f"propensities {self.lowest_propensity:.4g} to {self.highest_propensity:.4g}"
        if not self.has_propensities:
            propensities = "no propensities"
        mean = f"mean reward {self._mean_reward():.4g}"
        actions = "no actions" if self.empty is None else describe_actions(self.empty.action_kind)
        if self._names:
            shown = ", ".join(map(visible, self._names[:SHOWN]))
            actions += f" ({shown}{', ...' if len(self._names) > SHOWN else ''})"
        weights = "" if self.weights is None else ", rows with weights"
        return f"{self.size} rows, {actions}, {mean}, {propensities}{weights}"


def _merge(left: Statistics | None, right: Statistics | None) -> Statistics | None:
    """Returns the statistics of the values of both, of which one may have none."""
    if left is None or right is None:
        return right if left is None else left
    return left.merge(right)


def _fingerprint(batch: BanditLog) -> int:
    """Returns the sum of a hash of the action and the propensity of each row, times STEP^row."""
    hashes = np.zeros(len(batch), np.uint64)
    action = batch.action
    if batch.action_names:
        action = np.array([_hash_name(name) for name in batch.action_names], np.uint64)[action]
    columns = [*_numbers_of(flatten(action))]
    if not batch.estimated:  # more rows would change what is estimated
        columns.append(batch.propensity)
    for column in columns:
        hashes = (hashes ^ column.view(np.uint64)) * FACTOR
        hashes ^= hashes >> np.uint64(32)
    steps = np.full(len(batch), STEP, np.uint64)
    steps[:1] = 1
    return int((hashes * np.multiply.accumulate(steps)).sum())


def _numbers_of(leaves: Sequence[Array]) -> Iterator[Array]:
    """Yields the numbers of arrays [n, ...], as arrays [n] of eight bytes each."""
    for leaf in leaves:
        numbers = leaf.astype(np.float64 if leaf.dtype.kind == "f" else np.int64, copy=False)
        yield from numbers.reshape(len(leaf), math.prod(leaf.shape[1:])).T


def _hash_name(name: str) -> int:
    """Returns a number that other names hardly have."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


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
