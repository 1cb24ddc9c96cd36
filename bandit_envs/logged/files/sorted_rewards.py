"""Rewards in memory: of which decisions they are, and after which time none is known."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Mask

DAY = 86_400.0
"""In seconds."""

MISSED = 3.0
"""The export was made at the last reward if more rewards than this were expected after it.

If rewards come at random, none comes where three are expected with probability 1 in 20. A time that
is too early costs rows. One that is too late counts rewards as 0 that are not in the table.
"""


class Matches(NamedTuple):
    """The pairs of a row of a log and a reward with its id, sorted by rows and then by rewards.

    Fields:
        rows: the numbers of the rows.
        places: the places of the rewards among all rewards.
        is_counted: whether the reward came within the window.
    """

    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    is_counted: Mask

    def find_rewarded(self, size: int) -> Mask:
        """Returns which of so many rows have a reward that counts: [size]."""
        found = np.zeros(size, np.bool_)
        found[self.rows[self.is_counted]] = True
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class SortedRewards:
    """Rewards, sorted by the numbers of their ids, and then by their times.

    Args:
        ids: the number of the id of each reward, [m].
        times: of the rewards in seconds, [m]; all 0 without a window.
        values: the rewards, [m].
    """

    ids: Indices
    times: Floats
    values: Floats

    @classmethod
    def sort(cls, ids: Indices, times: Floats, values: Floats) -> SortedRewards:
        """Returns rewards, [m] each, which may be in any order."""
        order = np.lexsort((times, ids))
        return cls(ids[order], times[order], values[order])

    @functools.cached_property
    def are_dates(self) -> bool:
        """Whether the times are dates alone."""
        return not (self.times % DAY).any()

    @property
    def num_bytes(self) -> int:
        """How much memory they take."""
        return 24 * len(self.ids)

    def match(self, ids: Indices, decided: Floats, window: float | None) -> Matches:
        """Returns which rewards n decisions have.

        Args:
            ids: the numbers of their ids, [n].
            decided: when they were made, in seconds, [n].
            window: how long after them a reward counts, in seconds; None if all rewards count.
        """
        first = np.searchsorted(self.ids, ids, side="left")
        sizes = np.searchsorted(self.ids, ids, side="right") - first
        rows = np.repeat(np.arange(len(ids)), sizes)
        places = np.arange(len(rows)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        is_counted = np.ones(len(rows), np.bool_)
        if window is not None:
            begin = (decided - decided % DAY if self.are_dates else decided)[rows]
            times = self.times[places]
            is_counted = (times >= begin) & (times <= decided[rows] + window)
        return Matches(rows, places, is_counted)

    def sum_of(self, matches: Matches, size: int, only_first: bool) -> Floats:
        """Returns the sums of the rewards of decisions that count, or the first of them: [size]."""
        rows = matches.rows[matches.is_counted]
        values = self.values[matches.places[matches.is_counted]]
        if only_first:
            is_first = np.ones(len(rows), np.bool_)
            is_first[1:] = rows[1:] != rows[:-1]
            rows = rows[is_first]
            values = values[is_first]
        return np.bincount(rows, values, minlength=size).astype(np.float64)

    def count_duplicates(self) -> int:
        """Returns how many repeat the id, the time and the value of another reward.

        It is 0 if times of day are not known.
        """
        if self.are_dates:
            return 0
        order = np.lexsort((self.values, self.times, self.ids))
        columns = [column[order] for column in (self.ids, self.times, self.values)]
        is_same = np.all([column[1:] == column[:-1] for column in columns], axis=0)
        return int(np.count_nonzero(is_same))


class Export(NamedTuple):
    """When the rewards of a table were exported, so that no later one is known.

    Fields:
        time: in seconds.
        source: what the time follows from, in words.
        gap: how many seconds the log goes on after the time, in which more rewards were expected.
    """

    time: float
    source: str
    gap: float = 0.0

    @classmethod
    def find(cls, rewards: Floats, newest: float) -> Export:
        """Returns when rewards were exported, as their times and those of decisions tell.

        The later half of the rewards tells how many were expected after the last one.

        Args:
            rewards: their times, [m].
            newest: the time of the newest decision.
        """
        last = float(rewards.max(initial=-np.inf))
        if newest <= last:
            return cls(last, "the time of the last reward")
        span = last - float(np.median(rewards)) if len(rewards) else 0.0
        if len(rewards) / 2.0 * (newest - last) <= MISSED * span:
            return cls(newest, "the time of the newest decision")
        return cls(last, "the time of the last reward", newest - last)


NOT_KNOWN = Export(np.inf, "")
"""Of rewards without a window, for which the time of the export does not matter."""
