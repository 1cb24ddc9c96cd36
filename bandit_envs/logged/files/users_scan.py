"""Logs in users' tables, in batches: what those of actions and those of items have in common."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.again import Again
from bandit_envs.logged.files.reward_table import JoinedRewards
from bandit_envs.logged.files.scan import Scan
from bandit_envs.logged.files.unit_columns import read_units
from bandit_envs.logged.rows.likely_units import describe_unused, is_called_unit
from bandit_envs.tables.cells import read_seconds
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.missing import MissingValues
from bandit_envs.tables.parts import Part, Parts
from bandit_envs.tables.roles import Roles, check_column_names, describe_unnamed

if TYPE_CHECKING:
    from pandas import DataFrame

UsersScanType = TypeVar("UsersScanType", bound="UsersScan")


@dataclasses.dataclass(frozen=True)
class UsersScan(Scan):
    """A log in a user's table, of any kind.

    Args:
        parts: of the table, in order: CSV or Parquet files, or a data frame.
        roles: what its columns are.
        batch_rows: the most rows of a batch.
        drop_missing: whether decisions that miss values are left out; by default, they are an
            error.
        encoding: how columns become numbers.
        rewards: those of a table of their own; None if a column has them.
        has_dates: whether batches have the dates of the column of times, as their `time`.
    """

    parts: Parts[Part]
    roles: Roles
    batch_rows: int
    drop_missing: bool
    encoding: TableEncoding
    rewards: JoinedRewards | None = dataclasses.field(default=None, kw_only=True)
    has_dates: bool = dataclasses.field(default=False, kw_only=True)

    @property
    def features(self) -> Sequence[str]:  # type: ignore[override]
        return self.encoding.names

    @property
    def time(self) -> str | None:  # type: ignore[override]
        return self.roles.one_of("time")

    @property
    def condition(self) -> str:  # type: ignore[override]
        return " without missing values" if self.drop_missing else ""

    @property
    def doubts(self) -> Sequence[str]:  # type: ignore[override]
        unnamed = self.roles.unnamed
        found = [describe_unnamed(unnamed)] if unnamed else []
        found += [] if self.rewards is None else self.rewards.doubts()
        return [*found, *self.encoding.find_other_dates()]

    def remarks(self) -> list[str]:
        lines = super().remarks()
        if self.drop_missing:
            lines.append(self.find_missing().describe_left_out())
        if self.rewards is not None:
            lines += self.rewards.remarks()
        return [*lines, *self.doubts, *map(describe_unused, self._find_unused_units())]

    def _find_unused_units(self) -> list[str]:
        """Returns the columns without a role that are called as units are, if there are none."""
        if self.roles.all_of("unit"):
            return []
        left_out = self.roles.rest(self.parts.found[0].column_names())
        return [name for name in left_out if is_called_unit(name)]

    def with_dates(self: UsersScanType, name: str) -> UsersScanType:
        column = name or self.time
        if column is None:
            expected = "expected its name and the period, as in day:week for a column 'day'"
            raise ValueError(f"no column of times is named; {expected}")
        if self.time not in (None, column):
            found = f"{self.time!r} and {column!r} are named as times"
            raise ValueError(f"{found}; expected one column")
        check_column_names("it", [column], self.parts.found[0].column_names())
        scan = self if self.time else self.with_time(column)
        return scan._replace(has_dates=True)

    def _read_dates(self, frame: DataFrame) -> Floats | None:
        """Returns when decisions were made, in seconds, [n]; None if nothing asks for it."""
        return read_seconds(frame, self.roles.column_of("time")) if self.has_dates else None

    def _read_units(self, frame: DataFrame) -> Indices | None:
        """Returns the units of decisions, [n]; None if each is a unit of its own."""
        column = self.roles.one_of("unit")
        return None if column is None else read_units(frame, column)

    def with_rewards(
        self: UsersScanType, rewards: JoinedRewards | None, table: str, found: Sequence[str]
    ) -> UsersScanType:
        """Returns the same log with the rewards of another table, after passes over its decisions.

        Args:
            rewards: of the other table; None if a column of the log has them.
            table: what messages call the log.
            found: its columns.

        Raises:
            ValueError: the log has a column of rewards, too; or `JoinedRewards.with_log` or
                `check_some_old` refuses its decisions.
        """
        if rewards is None:
            return self
        if rewards.columns.reward in found:
            problem = f"{table} has a column {rewards.columns.reward!r}"
            raise ValueError(f"{problem}, and rewards are in a table of their own")
        frames = Again(functools.partial(self._scan_decisions, rewards.of_log()))
        joined = rewards.with_log(frames)
        joined.check_some_old()
        return self._replace(rewards=joined)

    @abc.abstractmethod
    def _scan_decisions(self, names: Sequence[str]) -> Iterator[DataFrame]:
        """Yields some columns, with one row a decision, of those that miss no value."""

    @abc.abstractmethod
    def find_missing(self) -> MissingValues:
        """Returns which values the columns miss."""
