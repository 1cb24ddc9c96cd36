"""Rewards in a table of their own, which are joined to decisions by their ids."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.sorted_rewards import DAY, NOT_KNOWN, Export, Matches, SortedRewards
from bandit_envs.logged.files.unit_columns import read_units
from bandit_envs.tables.cells import cells_of, find_zones, read_reals, read_seconds
from bandit_envs.tables.errors import check_column, name_some
from bandit_envs.tables.folders import find_parts
from bandit_envs.tables.missing import MissingValues
from bandit_envs.tables.parts import FramePart, Part
from bandit_envs.tables.roles import check_column_names
from bandit_envs.tables.suffixes import TABLE_SUFFIXES
from bandit_envs.tables.times import parse_duration, parse_seconds, write_seconds
from bandit_envs.tables.whole_table import AnyTable

if TYPE_CHECKING:
    from pandas import DataFrame

LONG_GAP = 0.1
"""The share of a window from which on a log without rewards at its end is doubtful."""

SHOWN_BYTES = 2**26
"""The size from which the memory that rewards take is told."""


class Arrivals(NamedTuple):
    """The rewards of n decisions so far.

    Fields:
        reward: [n], 0 where none has come.
        delay: [n], how many seconds the first took; NaN where none has come.
        age: [n], of the decisions in seconds when the rewards were exported: at least 0, and at
            most the window, after which no reward counts.
    """

    reward: Floats
    delay: Floats
    age: Floats


@dataclasses.dataclass(frozen=True)
class RewardTable:
    """A table of rewards, such as conversions, each with the id of its decision.

    Its columns have the names that the log's `decision`, `reward` and `time` say. A decision may
    have several rewards, or none. Ids of other decisions are allowed, and counted.

    Args:
        table: a data frame, or the path of a CSV or Parquet file, or of a folder of such files.
        window: how long after its decision a reward counts, such as "14d": a number of s, min, h, d
            or w. The log and the table need times then. Decisions that are younger than that when
            the rewards were exported are left out, whether or not they have a reward, as more may
            come. By default, all rewards count, so that young decisions have too few. If the times
            of rewards are dates alone, one of the day of its decision counts, too.
        until: when the rewards were exported, such as "2024-05-10" for the beginning of that day:
            later ones are not known. By default, it is the newest time of a decision or a reward.
            If the log goes on after the last reward for so long that more should have come, it is
            the time of the last reward.
        only_first: whether the first reward of a decision counts; by default, their sum does.
        drops_unrewarded: whether decisions without a reward are left out; by default, their reward
            is 0.
    """

    table: AnyTable
    window: str | None = None
    until: str | None = dataclasses.field(default=None, kw_only=True)
    only_first: bool = False
    drops_unrewarded: bool = False

    @classmethod
    def of(cls, rewards: AnyTable | RewardTable) -> RewardTable:
        """Returns a table of rewards, of which the table alone may be given."""
        return rewards if isinstance(rewards, RewardTable) else cls(rewards)

    def arrivals(
        self, frame: DataFrame, *, decision: str, reward: str = "reward", time: str
    ) -> Arrivals:
        """Returns which rewards the decisions in a data frame have, young ones too, and when.

        `LateRewards` corrects a log by that, rather than leave young decisions out.

        Args:
            frame: the decisions, n.
            decision: the column of their ids, here and in the table.
            reward: the column of the rewards, in the table.
            time: the column of times, here and in the table.

        Raises:
            ValueError: there is no window, decisions without a reward are to be left out, a
                decision has several rewards that count, or the tables cannot be joined.
        """
        if self.window is None:
            raise ValueError("window is None; expected one, such as 14d, in which rewards come")
        if self.drops_unrewarded:
            raise ValueError("drops_unrewarded is True; expected False, as a reward may still come")
        joined = JoinedRewards.read(self, RewardColumns(decision, reward, time))
        joined = joined.with_log([frame])
        delay = np.full(len(frame), np.nan)
        own = read_seconds(frame, time)
        rows, places, is_counted = joined.match(frame)
        counts = np.bincount(rows[is_counted], minlength=len(frame))
        if not self.only_first:
            expected = "one reward, of which the delay is; only_first=True takes the first"
            check_column(frame, decision, counts < 2, expected)
        waited = joined.rewards.times[places] - own[rows]
        delays = np.maximum(waited, 0.0)  # dates begin at midnight
        delay[rows[is_counted][::-1]] = delays[is_counted][::-1]  # so that the first stays
        age = np.clip(joined.export.time - own, 0.0, joined.window)
        return Arrivals(joined.rewards_of(frame), delay, age)

    def parts(self) -> list[Part]:
        """Returns the parts of the table."""
        if isinstance(self.table, (str, os.PathLike)):
            return [*find_parts(Path(self.table), TABLE_SUFFIXES).found]
        return [FramePart(self.table)]

    @property
    def name(self) -> str:
        """Names it in messages."""
        is_path = isinstance(self.table, (str, os.PathLike))
        return Path(self.table).name if is_path else "the frame of rewards"


class RewardColumns(NamedTuple):
    """The columns of a log and of its table of rewards, which have the same names in both."""

    decision: str
    reward: str
    time: str | None

    def of_rewards(self) -> list[str]:
        """Returns the columns of the table of rewards that are read."""
        return [name for name in self if name is not None]


class Survey(NamedTuple):
    """What a pass over the decisions of a log has found."""

    decisions: int = 0
    young: int = 0
    unrewarded: int = 0
    outside: int = 0
    foreign: int = 0


NOT_SURVEYED = Survey()


@dataclasses.dataclass(frozen=True, eq=False)
class JoinedRewards:
    """Rewards in a table, which are joined to the decisions of a log.

    Args:
        source: the table.
        columns: of the log and the table.
        window: in seconds; None if all rewards count.
        rewards: in memory.
        survey: of the log.
        export: when the rewards were exported; of no meaning without a window.
        zones: in which the times of the rewards are written, as `find_zones` has them.
    """

    source: RewardTable
    columns: RewardColumns
    window: float | None
    rewards: SortedRewards
    survey: Survey = NOT_SURVEYED
    export: Export = NOT_KNOWN
    zones: frozenset[str] = frozenset()

    @classmethod
    def read(cls, source: RewardTable, columns: RewardColumns) -> JoinedRewards:
        """Returns the rewards in a table, 24 bytes each.

        Raises:
            ValueError: a column is missing, a cell is empty or of another kind, or there is a
                window and no column of times, or `until` without a window.
        """
        if source.until is not None and source.window is None:
            problem = f"until is {source.until!r}, and window is None"
            raise ValueError(f"{problem}; expected one, such as 14d, in which rewards come")
        window = None if source.window is None else parse_duration("window", source.window)
        if window is None:
            columns = columns._replace(time=None)
        elif columns.time is None:
            found = f"window is {source.window!r}, and no column of times is named"
            raise ValueError(f"{found}; expected time, a column of the log and of the rewards")
        names = columns.of_rewards()
        ids = [np.empty(0, np.int64)]
        times = [np.empty(0)]
        values = [np.empty(0)]
        zones: set[str] = set()
        for part in source.parts():
            with part.reading():
                check_column_names("the table of rewards", names, part.column_names())
                for frame in part.frames(names, BATCH_ROWS, [columns.decision]):
                    MissingValues.from_frame(frame, names, part.name).check_none()
                    ids.append(read_units(frame, columns.decision))
                    times.append(_times_of(frame, columns.time))
                    zones |= _zones_of(frame, columns.time)
                    values.append(read_reals(frame, columns.reward))
        return cls(
            source=source,
            columns=columns,
            window=window,
            rewards=SortedRewards.sort(
                ids=np.concatenate(ids), times=np.concatenate(times), values=np.concatenate(values)
            ),
            zones=frozenset(zones),
        )

    def of_log(self) -> list[str]:
        """Returns the columns of the log that the rewards of its rows follow from."""
        return [name for name in (self.columns.decision, self.columns.time) if name is not None]

    def with_log(self, frames: Iterable[DataFrame]) -> JoinedRewards:
        """Returns the same rewards with what is found in the decisions of the log.

        Args:
            frames: the columns `of_log` of all decisions, with a row for each; they are passed over
                twice if there is a window.

        Raises:
            ValueError: a decision that has a reward is in the log twice, or none has a reward.
        """
        if self.window is not None:
            return dataclasses.replace(self, export=self._find_export(frames))._survey(frames)
        return self._survey(frames)

    def _find_export(self, frames: Iterable[DataFrame]) -> Export:
        """Returns when the rewards were exported."""
        if self.source.until is not None:
            return Export(parse_seconds("until", self.source.until), "as given")
        newest = -np.inf
        for frame in frames:
            newest = float(_times_of(frame, self.columns.time).max(initial=newest))
        return Export.find(self.rewards.times, newest)

    def _survey(self, frames: Iterable[DataFrame]) -> JoinedRewards:
        """Returns the same rewards with what a pass over the decisions finds, as `with_log`."""
        survey = NOT_SURVEYED
        seen = np.zeros(len(self.rewards.ids), np.bool_)
        for frame in frames:
            self._check_zones(_zones_of(frame, self.columns.time))
            matches = self.match(frame)
            rows, places, is_counted = matches
            known, counts = np.unique(places, return_counts=True)
            is_again = seen[places] | (counts[np.searchsorted(known, places)] > 1)
            is_good = np.ones(len(frame), np.bool_)
            is_good[rows[is_again]] = False
            check_column(frame, self.columns.decision, is_good, "each decision once")
            seen[places] = True
            is_old = self.is_old(frame)
            has_reward = matches.find_rewarded(len(frame))
            survey = survey._replace(
                decisions=survey.decisions + len(frame),
                young=survey.young + int(np.count_nonzero(~is_old)),
                unrewarded=survey.unrewarded + int(np.count_nonzero(is_old & ~has_reward)),
                outside=survey.outside + int(np.count_nonzero(is_old[rows] & ~is_counted)),
            )
        if not seen.any():
            found = f"no decision of the log has an id that {self.source.name} has"
            raise ValueError(f"{found} in column {self.columns.decision!r}; expected the same ids")
        survey = survey._replace(foreign=int(np.count_nonzero(~seen)))
        return dataclasses.replace(self, survey=survey)

    def _check_zones(self, zones: set[str]) -> None:
        """Raises ValueError if decisions and rewards are in different zones: ages would be wrong.

        Zones that have one in common pass, as those of summer and winter.
        """
        if zones and self.zones and self.zones.isdisjoint(zones):
            own = name_some(sorted(zones))
            found = f"zones of times are {own} in the log, and {name_some(sorted(self.zones))}"
            expected = "expected one zone in both, where '' is a time without a zone"
            raise ValueError(f"{found} in {self.source.name}; {expected}")

    def match(self, frame: DataFrame) -> Matches:
        """Returns which rewards the rows of a log have."""
        ids = read_units(frame, self.columns.decision)
        return self.rewards.match(ids, _times_of(frame, self.columns.time), self.window)

    def is_old(self, frame: DataFrame) -> Mask:
        """Returns whether the window of each row of a log is over: [n]."""
        if self.window is None:
            return np.ones(len(frame), np.bool_)
        ends = _times_of(frame, self.columns.time) + self.window
        return np.asarray(ends <= self.export.time)

    def is_used(self, frame: DataFrame) -> Mask:
        """Returns which rows of a log are not left out: [n]."""
        is_used = self.is_old(frame)
        if self.source.drops_unrewarded:
            is_used &= self.match(frame).find_rewarded(len(frame))
        return is_used

    def check_some_old(self) -> None:
        """Raises ValueError if all decisions of the log are too young to count."""
        size = self.survey.decisions
        if self.survey.young == size:
            found = (
                f"all {size} decisions are younger than {self.source.window} on {self._exported}"
            )
            raise ValueError(f"{found}, {self.export.source}; expected a shorter window")

    @property
    def _exported(self) -> str:
        """When the rewards were exported, in words."""
        return write_seconds(self.export.time)

    def doubts(self) -> list[str]:
        """Returns warnings of what the user may have meant in another way."""
        gap = self.export.gap - (DAY if self.rewards.are_dates else 0.0)
        if self.window is None or gap <= LONG_GAP * self.window:
            return []
        days = f"{self.export.gap / DAY:.3g} days"
        found = f"no reward of {self.source.name} is of the last {days} of the log"
        taken = f"as if it were exported at the time of its last reward, {self._exported}"
        named = "--window COLUMN:14d:DATE, or RewardTable(..., until=DATE), says when it was"
        return [f"{found}, so it counts {taken}; {named}"]

    def rewards_of(self, frame: DataFrame) -> Floats:
        """Returns the rewards of the rows of a log: [n]."""
        return self.rewards.sum_of(self.match(frame), len(frame), self.source.only_first)

    def remarks(self) -> list[str]:
        """Returns lines of what counts, and of what is left out."""
        found = self.survey
        which = "the first" if self.source.only_first else "the sum"
        until = "whenever they come, so that young decisions may have too few"
        if self.source.window is not None:
            until = f"up to {self.source.window} after it"
            if self.rewards.are_dates:
                until += ", from its day on, as the table has no times of day"
            until += f"; exported {self._exported}, {self.export.source}"
        memory = self.rewards.num_bytes
        size = f", {memory / 2**20:.0f} MB in memory" if memory > SHOWN_BYTES else ""
        lines = [f"rewards of {self.source.name}{size}: {which} of a decision's, {until}"]
        effect = "and are left out" if self.source.drops_unrewarded else "which counts as 0"
        old = found.decisions - found.young
        lines.append(f"{found.unrewarded} of {old} decisions have no reward, {effect}")
        if found.young:
            problem = f"decisions younger than {self.source.window}: {found.young}, left out"
            since = write_seconds(self.export.time - (self.window or 0.0))
            lines.append(f"{problem}: those after {since}, as rewards may still come")
        if found.outside:
            lines.append(f"rewards before or too long after their decision: {found.outside}")
        if found.foreign:
            lines.append(f"rewards of no decision of the log: {found.foreign}")
        duplicates = self.rewards.count_duplicates()
        if duplicates:
            same = "with the decision, the time and the value of another"
            lines.append(f"rewards {same}: {duplicates}, which count, too")
        return lines


def _times_of(frame: DataFrame, name: str | None) -> Floats:
    """Returns the times in a column, in seconds: [n]; 0 if none is read."""
    return np.zeros(len(frame)) if name is None else read_seconds(frame, name)


def _zones_of(frame: DataFrame, name: str | None) -> set[str]:
    """Returns the zones in which the times in a column are written; none if none is read."""
    return set() if name is None else find_zones(cells_of(frame, name))
