"""Logs in users' tables, in batches: a data frame is one part of such a log."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.columns import BadValueError
from bandit_envs.logged.files.log_roles import LoggerColumns, LogRoles
from bandit_envs.logged.files.scan import BATCH_ROWS, are_parquet
from bandit_envs.logged.files.users_scan import UsersScan
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.cells import (
    cells_of,
    read_categories,
    read_integers,
    read_names,
    read_numbers,
    read_reals,
)
from bandit_envs.tables.decisions.lists import read_sets
from bandit_envs.tables.encoding_search import EncodingSearch
from bandit_envs.tables.errors import bad_value, name_row
from bandit_envs.tables.missing import MissingValues
from bandit_envs.tables.parts import Part, Parts
from bandit_envs.tables.roles import (
    check_column_names,
    describe_role,
    find_unnamed,
)
from bandit_envs.tables.times import TimesOfRows

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclasses.dataclass(frozen=True)
class TableScan(UsersScan):
    """A log in a table with a row for each decision. `open` finds how columns become numbers.

    Args:
        parts: of the table. The base class explains this and all that is not named here.
        num_actions: 0 if actions are real numbers.
        propensity: of all decisions; None if a column has them, or they are not known.
        loggers: the columns of several logging policies; None for one.
        num_unread: how many columns of features `keep_features` has left out.
    """

    num_actions: int
    propensity: float | None = None
    loggers: LoggerColumns | None = None
    num_unread: int = 0

    @classmethod
    def open(
        cls,
        table: str,
        parts: Parts[Part],
        columns: LogRoles,
        batch_rows: int = BATCH_ROWS,
    ) -> TableScan:
        """Returns the log in a table, which is read once to find its encoding.

        Args:
            table: what messages call it.
            parts: of the table.
            columns: what they are. Another pass counts the rows of several logging policies.
            batch_rows: the most rows of a batch.

        Raises:
            ValueError: a column is missing, `EncodingSearch.find` refuses what is in them, there is
                a mixture of logging policies of real numbers, or `gather` is for items.
        """
        if columns.gather:
            raise ValueError(f"gather is True; expected {describe_role('item')}")
        num_actions = columns.num_actions
        if num_actions is not None:
            check_integer("num_actions", num_actions, minimum=0)
        first = parts.found[0]
        found = first.column_names()
        roles = columns.roles.complete(found)
        with first.reading():
            check_column_names(table, roles.names(), found)
        search = EncodingSearch(
            parts=parts,
            actions=() if num_actions == 0 else roles.all_of("action") + roles.all_of("available"),
            features=roles.features,
            batch_rows=batch_rows,
            lists=roles.all_of("available"),
        )
        encoding, number = search.find(num_actions)
        if not number and roles.all_of("available"):
            expected = "numbered or named actions"
            raise ValueError(
                f"available is given, and actions are real numbers; expected {expected}"
            )
        if not number and columns.loggers is not None and columns.loggers.balance:
            expected = "numbered or named actions, as nothing tests a mixture of others"
            raise ValueError(f"balance is True, and actions are real numbers; expected {expected}")
        scan = cls(
            parts=parts,
            roles=roles,
            loggers=columns.loggers,
            batch_rows=batch_rows,
            num_actions=number,
            propensity=columns.propensity,
            drop_missing=columns.drop_missing,
            encoding=encoding,
        )
        scan = scan.with_rewards(columns.rewards, table, found)
        if columns.loggers is None:
            return scan
        rows = scan._count_loggers(columns.loggers)
        return scan._replace(loggers=columns.loggers.with_all_rows(rows))

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        part = self.parts.found[number]
        for frame in self._complete_frames(part, self.roles.names()):
            with part.reading():
                yield self._make_batch(frame)

    def remarks(self) -> list[str]:
        lines = super().remarks()
        if self.loggers is not None:
            found = f"logging policies: {self.loggers}"
            if self.loggers.balance:
                found += "; propensities are of their mixture in the rows that are used"
            lines.append(found)
        return lines

    def limit(self, rows: int, numbers: int) -> TableScan:
        # No batch is read first, which may have too many features.
        width = max(self.num_actions, len(self.encoding.labels()), 1)
        return self._replace(batch_rows=min(self.batch_rows, rows, max(1, numbers // width)))

    def find_missing(self) -> MissingValues:
        names = self.roles.names()
        found = MissingValues(size=0, rows=0, columns={})
        for part in self.parts.found:
            for frame in self._frames(part, names):
                found = found.merge(MissingValues.from_frame(frame, names, part.name))
        return found

    def keep_features(self, names: Sequence[str]) -> TableScan:
        if self.drop_missing or not are_parquet(self.parts):
            return self
        roles = self.roles.keep_features(names)
        left_out = len(self.roles.features) - len(roles.features)
        return self._replace(
            roles=roles,
            encoding=self.encoding.keep(roles.features),
            num_unread=self.num_unread + left_out,
        )

    def scan_left_out(self) -> Iterator[tuple[BanditLog, Mapping[str, Array]]]:
        names = self._find_left_out()
        for part in self.parts.found:
            for frame in self._complete_frames(part, self.roles.names(), names):
                with part.reading():
                    batch = self._make_batch(frame)
                yield batch, {name: frame[name].to_numpy() for name in names}

    def _find_left_out(self) -> list[str]:
        """Returns the columns that all parts have and that have no role, and that of the times."""
        found = self.parts.found[0].column_names()
        common = set(found).intersection(*(part.column_names() for part in self.parts.found))
        known = {*self.roles.names(), *find_unnamed(found)}
        names = [name for name in found if name in common - known]
        if self.time is not None and self.time not in self.features:
            names.append(self.time)
        return names

    @property
    def unread(self) -> str:
        if not self.num_unread:
            return ""
        return f"{self.num_unread} {'feature is' if self.num_unread == 1 else 'features are'}"

    def balance(self, start: int, stop: int) -> TableScan:
        if self.loggers is None or not self.loggers.balance:
            return self
        rows = self._count_loggers(self.loggers, start, stop)
        return self._replace(loggers=dataclasses.replace(self.loggers, rows=rows))

    def with_time(self, name: str) -> TableScan:
        roles = self.roles.with_time(name)
        return self._replace(roles=roles, encoding=self.encoding.keep(roles.features))

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for part in self.parts.found:
            for frame in self._complete_frames(part, [name]):
                place = functools.partial(name_row, frame, file=part.name)
                yield TimesOfRows(cells_of(frame, name), place)

    def _count_loggers(
        self, loggers: LoggerColumns, start: int = 0, stop: int | None = None
    ) -> collections.Counter[str]:
        """Returns how many of some rows each of several logging policies has."""
        counts: collections.Counter[str] = collections.Counter()
        row = 0
        for part in self.parts.found:
            for frame in self._complete_frames(part, [loggers.logger]):
                last = None if stop is None else max(stop - row, 0)
                with part.reading():
                    counts.update(loggers.count(frame.iloc[max(start - row, 0) : last]))
                row += len(frame)
        return counts

    def _make_batch(self, frame: DataFrame) -> BanditLog:
        """Returns the log of some rows, which miss no value; ValueError if a value cannot be."""
        own = None if self.loggers is None else self.loggers.own(frame)
        is_mixed = self.loggers is not None and self.loggers.balance
        try:
            return BanditLog(
                observation=self.encoding.read(frame),
                action=self._read_actions(frame),
                reward=self._read_rewards(frame),
                propensity=self._read_propensities(frame, own),
                available=self._read_available(frame),
                num_actions=self.num_actions,
                embedding=read_categories(frame, self.roles.all_of("embedding")),
                own_propensity=own if is_mixed else None,
                unit=self._read_units(frame),
                time=self._read_dates(frame),
                weight=self._read_weights(frame),
                encoding=self.encoding,
            )
        except BadValueError as error:
            column = self.roles.column_of(error.name)
            raise bad_value(frame, column, error.row, error.expected) from error

    def _read_actions(self, frame: DataFrame) -> Any:
        """Returns the actions: [n]."""
        column = self.roles.column_of("action")
        if self.encoding.actions:
            return read_names(frame, column, self.encoding.actions)
        return read_integers(frame, column) if self.num_actions else read_reals(frame, column)

    def _read_available(self, frame: DataFrame) -> Mask | None:
        """Returns which actions are available, [n, K]; None if no column says it."""
        column = self.roles.one_of("available")
        if column is None:
            return None
        return read_sets(frame, column, self.encoding.actions, self.num_actions)

    def _read_propensities(self, frame: DataFrame, own: Floats | None) -> Any:
        """Returns the propensities, [n]; None if they are not known.

        Args:
            frame: the rows.
            own: [n], those of each row's own logging policy; None if there is one policy.
        """
        if self.loggers is not None:
            return self.loggers.mix(frame) if self.loggers.balance else own
        if self.propensity is not None:
            return np.full(len(frame), self.propensity)
        column = self.roles.one_of("propensity")
        return None if column is None else read_numbers(frame, column)

    def _read_rewards(self, frame: DataFrame) -> Floats:
        """Returns the rewards, [n]."""
        if self.rewards is not None:
            return self.rewards.rewards_of(frame)
        return read_numbers(frame, self.roles.column_of("reward"))

    def _read_weights(self, frame: DataFrame) -> Any:
        """Returns how many decisions rows stand for, [n]; None if no column says so."""
        column = self.roles.one_of("weight")
        return None if column is None else read_numbers(frame, column)

    def _complete_frames(
        self, part: Part, names: Sequence[str], others: Sequence[str] = ()
    ) -> Iterator[DataFrame]:
        """Yields the rows of a part that miss no value in any column; ValueError if others do.

        Args:
            part: of the table.
            names: of columns to read; if rows may be left out, all columns decide which.
            others: of more columns to read, which may miss values.
        """
        needed = [*self.roles.names()] if self.drop_missing else [*names]
        needed += [] if self.rewards is None else self.rewards.of_log()
        needed = list(dict.fromkeys(needed))
        for frame in self._frames(part, list(dict.fromkeys([*needed, *others]))):
            is_complete = frame[needed].notna().all(axis=1)
            if not is_complete.all() and not self.drop_missing:
                self.find_missing().check_none()
            complete = frame if is_complete.all() else frame[is_complete]
            if self.rewards is not None:
                with part.reading():
                    is_used = self.rewards.is_used(complete)
                complete = complete if is_used.all() else complete[is_used]
            yield complete

    def _scan_decisions(self, names: Sequence[str]) -> Iterator[DataFrame]:
        for part in self.parts.found:
            for frame in self._complete_frames(part, names):
                with part.reading():
                    yield frame

    def _frames(self, part: Part, names: Sequence[str]) -> Iterator[DataFrame]:
        """Yields some columns of a part."""
        texts = [column.name for column in self.encoding.texts]
        texts += self.roles.all_of("action") if self.encoding.actions else ()
        texts += (*self.roles.all_of("logger"), *self.roles.all_of("available"))
        texts += (
            *self.roles.all_of("unit"),
            *self.roles.all_of("decision"),
        )  # so that no number is read as a float
        with part.reading():
            yield from part.frames(names, self.batch_rows, texts)
