"""What a log in batches holds, found in one pass over its parts."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.moments import merge_tables
from bandit_envs.logged.rows.hashes import hash_text
from bandit_envs.logged.rows.likely_outcomes import ValuesOfActions, find_values_of_actions
from bandit_envs.logged.rows.likely_units import Repeats, count_repeats
from bandit_envs.logged.rows.row_order import RowOrder
from bandit_envs.logged.rows.units import SLICES, slices_of_units
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.names.visible import visible
from bandit_envs.nests import flatten
from bandit_envs.tables.encoding import TableEncoding

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose product with a number depends on all bits of it: 2^64 by the golden ratio."""

STEP = 0xD1342543DE82EF95
"""An odd number, as is each power of it: the places of rows are told apart by its powers."""

SHOWN = 10  # names of actions in a title


class ItemRow(NamedTuple):
    """What a log says of an item.

    Fields:
        item: its name, or its number.
        offered: in how many rows.
        chosen: in how many rows.
        propensity: the mean of these rows; NaN if there are none, or it is not known.
        reward: the mean of these rows, which count by their weights; NaN if there are none.
    """

    item: str | int
    offered: int
    chosen: int
    propensity: float
    reward: float


@dataclasses.dataclass(frozen=True, eq=False)
class ItemSums:
    """How often items were offered and chosen in a part of a log. Those of parts merge.

    Args:
        items: [m], the numbers of the items that were offered, ascending.
        sums: [5, m], in how many rows each was offered and chosen, and the sums of its propensities
            where it was chosen, of its rewards times the weights of the rows, and of these weights.
    """

    items: Indices = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    sums: Floats = dataclasses.field(default_factory=lambda: np.zeros((5, 0)))

    @classmethod
    def from_log(cls, log: BanditLog) -> ItemSums:
        """Returns the sums of a part of a log; of no item if it does not number them."""
        if log.item is None:
            return cls()
        weight = np.ones(len(log)) if log.weight is None else log.weight
        chosen = log.item[np.arange(len(log)), log.action]
        offered = log.item[log.item >= 0]
        items, places = np.unique(offered, return_inverse=True)
        size = len(items)
        of_chosen = np.searchsorted(items, chosen)
        rows = [
            np.bincount(places.reshape(-1), minlength=size),
            np.bincount(of_chosen, minlength=size),
            np.bincount(of_chosen, log.propensity, minlength=size),
            np.bincount(of_chosen, log.reward * weight, minlength=size),
            np.bincount(of_chosen, weight, minlength=size),
        ]
        return cls(items, np.array(rows, np.float64).reshape(5, size))

    def merge(self, other: ItemSums) -> ItemSums:
        """Returns the sums of the rows of both."""
        items = np.union1d(self.items, other.items)
        sums = np.zeros((5, len(items)))
        for part in (self, other):
            sums[:, np.searchsorted(items, part.items)] += part.sums
        return ItemSums(items, sums)

    def count_offers(self, item: int) -> int:
        """Returns in how many rows an item was offered."""
        return int(self.sums[0, self.items == item].sum())

    def rows(self, names: Sequence[str] = ()) -> list[ItemRow]:
        """Returns what the log says of each item, of those most offered first.

        Args:
            names: of the items, by number; () if they have none.
        """
        order = np.argsort(-self.sums[0], kind="stable")
        found = []
        for number, column in zip(self.items[order].tolist(), self.sums[:, order].T.tolist()):
            offered, chosen, propensity, reward, weight = column
            row = ItemRow(
                item=names[number] if names else number,
                offered=int(offered),
                chosen=int(chosen),
                propensity=propensity / chosen if chosen else math.nan,
                reward=reward / weight if chosen else math.nan,
            )
            found.append(row)
        return found


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
        repeats: of the columns of numbers of a table whose rows have no units.
        of_actions: what the features of a table are where each action was taken.
        slices: [4096], the numbers of rows in slices of units; None if each row is a unit.
        offers: [K], in how many rows each action is available; None if all always are.
        items: how often items were offered and chosen.
    """

    empty: BanditLog | None
    rewards: Statistics
    lowest_propensity: float
    highest_propensity: float
    order: RowOrder
    fingerprint: int
    repeats: Mapping[str, Repeats] = dataclasses.field(default_factory=dict, compare=False)
    of_actions: Mapping[str, ValuesOfActions] = dataclasses.field(
        default_factory=dict, compare=False
    )
    slices: Indices | None = dataclasses.field(default=None, compare=False)
    offers: Indices | None = dataclasses.field(default=None, compare=False)
    items: ItemSums = dataclasses.field(default_factory=ItemSums, compare=False)
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
            repeats=count_repeats(batch),
            of_actions=find_values_of_actions(batch),
            slices=None if batch.unit is None else count_slices(batch.unit),
            offers=_count_offers(batch),
            items=ItemSums.from_log(batch),
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
            repeats=merge_tables(self.repeats, later.repeats),
            of_actions=merge_tables(self.of_actions, later.of_actions),
            slices=_add_counts(self.slices, later.slices),
            offers=_add_counts(self.offers, later.offers),
            items=self.items.merge(later.items),
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
        # Names and items stay when others come, unlike the number of actions.
        actions = "named" if self._names or self._has_items else f"{self.num_actions}"
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

    def item_rows(self) -> list[ItemRow]:
        """Returns what the log says of each item, of those most offered first."""
        return self.items.rows(() if self.encoding is None else self.encoding.items)

    def find_units(self) -> list[str]:
        """Returns the columns that look like units, of a table whose rows have none."""
        return [name for name, each in self.repeats.items() if each.look_like_units]

    def find_telling(self) -> list[str]:
        """Returns the features of a table that have one value for each action."""
        return [name for name, each in self.of_actions.items() if each.tell_actions(self.size)]

    @property
    def _has_items(self) -> bool:
        """Whether actions are items with features, of a table."""
        return self.encoding is not None and bool(self.encoding.item_features)

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
        actions = "no actions" if self.empty is None else self.empty.describe_choices()
        if self._names:
            shown = ", ".join(map(visible, self._names[:SHOWN]))
            actions += f" ({shown}{', ...' if len(self._names) > SHOWN else ''})"
        weights = "" if self.weights is None else ", rows with weights"
        return f"{self.size} rows, {actions}, {mean}, {propensities}{weights}"


def count_slices(unit: Indices) -> Indices:
    """Returns how many rows are in each slice of units: [4096]."""
    return np.bincount(slices_of_units(unit), minlength=SLICES)


def _count_offers(batch: BanditLog) -> Indices | None:
    """Returns in how many rows each action is available: [K]; None if all always are."""
    available = available_actions(batch.seen(), batch.num_actions)
    return None if available is None else np.count_nonzero(available, axis=0)


def _add_counts(left: Indices | None, right: Indices | None) -> Indices | None:
    """Returns the sums of the numbers of rows; those of a part without batches are None."""
    if left is None or right is None:
        return right if left is None else left
    return left + right


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
        action = np.array([hash_text(name) for name in batch.action_names], np.uint64)[action]
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
