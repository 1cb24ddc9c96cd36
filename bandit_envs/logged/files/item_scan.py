"""Logs of items with features in users' tables, in batches."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.logged.columns import TOLERANCE, BadValueError
from bandit_envs.logged.files.log_roles import LogRoles
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.users_scan import UsersScan
from bandit_envs.logged.log import BanditLog
from bandit_envs.names.visible import visible
from bandit_envs.tables.cells import as_numbers, cells_of, read_numbers
from bandit_envs.tables.decisions import candidate_table
from bandit_envs.tables.decisions.candidate_rows import (
    CandidateRows,
    codes_of,
    read_candidates,
    size_of_batches,
)
from bandit_envs.tables.decisions.candidate_table import CandidateTable
from bandit_envs.tables.decisions.list_tables import ListColumns, ListTable
from bandit_envs.tables.decisions.search import ItemSearch, open_candidates
from bandit_envs.tables.errors import bad_value, name_row
from bandit_envs.tables.missing import OF_DECISIONS, MissingValues
from bandit_envs.tables.parts import Part, Parts, keep_small
from bandit_envs.tables.roles import Roles, check_column_names
from bandit_envs.tables.times import TimesOfRows

if TYPE_CHECKING:
    from pandas import DataFrame

OF_WHOLE = ("unit", "time", "weight")
"""The roles of columns that say one thing of a whole decision, beside its context."""


@dataclasses.dataclass(frozen=True)
class ItemScan(UsersScan):
    """A log of items with features in a table. `open` finds how columns become numbers.

    Args:
        parts: of the table. The base class explains this and all that is not named here.
        table: which cuts the rows of the parts into decisions.
        fewest: candidates of a decision.
        most: candidates of a decision: the K of all batches.
        tells_all: whether the propensities of all candidates are known, or of the chosen alone.
        propensity: of the chosen ones, if it is the same in all decisions.
    """

    table: CandidateTable
    fewest: int
    most: int
    tells_all: bool
    propensity: float | None

    @classmethod
    def open(
        cls,
        name: str,
        parts: Parts[Part],
        columns: LogRoles,
        batch_rows: int = BATCH_ROWS,
    ) -> ItemScan:
        """Returns the log in a table, which is read once to find its encoding.

        Args:
            name: what messages call the table.
            parts: of the table.
            columns: what they are. With `gather`, all rows are read into memory.
            batch_rows: the most rows of a batch.

        Raises:
            ValueError: a column is missing, `ItemSearch.find` refuses what is in them, or the
                number of actions is given.
        """
        if columns.num_actions is not None:
            found = f"num_actions is {columns.num_actions}"
            raise ValueError(f"{found}; expected None, as the table says it")
        lists = ListColumns.find(parts)
        roles = columns.roles.complete(lists.found)
        with parts.found[0].reading():
            check_column_names(name, roles.names(), lists.found)
        item = roles.column_of("item")
        if item not in lists and not columns.gather:
            texts = [name for role in ("decision", "item", "unit") for name in roles.all_of(role)]
            parts = keep_small(parts, roles.names(), candidate_table.TABLE_ROWS, texts)
        table = open_candidates(
            parts=parts,
            lists=lists,
            decision=roles.one_of("decision"),
            item=item,
            chosen=roles.column_of("chosen"),
            of_chosen=(*roles.all_of("reward"), *roles.all_of("propensity")),
            gather=columns.gather,
        )
        columns_found = _find_features(roles, lists, table)
        known = ItemSearch(table, *columns_found, takes_same=roles.are_all).find()
        context = tuple(known.encoding.names)
        same = [name for role in OF_WHOLE for name in roles.all_of(role)]
        scan = cls(
            parts=table.parts,
            roles=roles.with_items(context, known.encoding.of_items().names),
            batch_rows=batch_rows,
            drop_missing=columns.drop_missing,
            encoding=known.encoding,
            table=dataclasses.replace(table, context=(*context, *same), ends=known.ends),
            fewest=known.fewest,
            most=known.most,
            tells_all=False,
            propensity=columns.propensity,
        )
        scan = scan._replace(tells_all=scan._find_tells_all())
        return scan.with_rewards(columns.rewards, name, lists.found)

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        size = size_of_batches(self.encoding, self.most, self.batch_rows)
        numbers = {name: number for number, name in enumerate(self.encoding.items)}
        for rows in self._complete_rows(number, self.roles.names()):
            for some in rows.cut(size):
                with self.parts.found[number].reading():
                    yield self._make_batch(some, numbers)

    def limit(self, rows: int, numbers: int) -> ItemScan:
        size = min(self.batch_rows, rows, max(1, numbers // self.most))
        return self._replace(batch_rows=size)

    def remarks(self) -> list[str]:
        most = f" to {self.most}" if self.most > self.fewest else ""
        found = f"{len(self.encoding.items)} items, {self.fewest}{most} in a decision"
        return [*super().remarks(), found]

    def find_missing(self) -> MissingValues:
        found = MissingValues(size=0, rows=0, columns={}, unit="decisions")
        for number, part in enumerate(self.parts.found):
            for rows in self._rows(number, self.roles.names()):
                with part.reading():
                    found = found.merge(rows.count_missing(self._find_missing(rows), part.name))
        return found

    def with_time(self, name: str) -> ItemScan:
        roles = self.roles.with_time(name)
        table = dataclasses.replace(self.table, context=(*self.table.context, name))
        return self._replace(table=table, roles=roles, encoding=self.encoding.keep(roles.features))

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        for number, part in enumerate(self.parts.found):
            for rows in self._complete_rows(number, [*self.roles.names(), name]):
                first = rows.candidates.iloc[rows.starts]
                place = functools.partial(name_row, first, file=part.name)
                yield TimesOfRows(cells_of(rows.decisions, name), place)

    def _scan_decisions(self, names: Sequence[str]) -> Iterator[DataFrame]:
        for number, part in enumerate(self.parts.found):
            decisions = self._rows(number, names)
            if self.drop_missing:  # all columns decide which decisions are left out
                decisions = self._complete_rows(number, self.roles.names())
            for rows in decisions:
                with part.reading():
                    yield rows.decisions

    def _rows(self, number: int, names: Sequence[str]) -> Iterator[CandidateRows]:
        """Yields the decisions that begin in a part, with some columns."""
        texts = [column.name for column in self.encoding.texts]
        texts += self.roles.all_of("unit")  # so that no number is read as a float
        needed = [*names] if self.rewards is None else [*names, *self.rewards.of_log()]
        yield from self.table.scan_part(number, list(dict.fromkeys(needed)), texts)

    def _complete_rows(self, number: int, names: Sequence[str]) -> Iterator[CandidateRows]:
        """Yields the decisions of a part that miss no value; ValueError if others do."""
        for rows in self._rows(number, names):
            with self.parts.found[number].reading():
                is_missing = rows.is_incomplete(self._find_missing(rows))
            if is_missing.any() and not self.drop_missing:
                self.find_missing().check_none(OF_DECISIONS)
            complete = rows.keep(~is_missing) if is_missing.any() else rows
            if self.rewards is not None:
                with self.parts.found[number].reading():
                    is_used = self.rewards.is_used(complete.decisions)
                complete = complete if is_used.all() else complete.keep(is_used)
            yield complete

    def _find_missing(self, rows: CandidateRows) -> dict[str, Mask]:
        """Returns which values of the candidates of decisions are missing, [N], by column."""
        needed = self.roles.names()
        if self.roles.all_of("reward"):  # else rewards are joined by the names of the decisions
            needed = [name for name in needed if name not in self.roles.all_of("decision")]
        is_missing = {name: rows.is_missing(name) for name in needed}
        is_chosen = self._read_chosen(rows)
        counts = rows.sum_of(is_chosen.astype(np.int64))
        is_chosen &= np.repeat(counts == 1, rows.sizes)  # others are refused
        for role in ("reward", "propensity"):
            if role == "reward" or not self.tells_all:
                for name in self.roles.all_of(role):
                    is_missing[name] = is_missing[name] & is_chosen
        return is_missing

    def _find_tells_all(self) -> bool:
        """Returns whether the first decisions have propensities of others than the chosen."""
        name = self.roles.one_of("propensity")
        if name is None:
            return False
        for number, rows in self.table.scan([self.roles.column_of("chosen"), name], []):
            with self.parts.found[number].reading():
                is_other = ~self._read_chosen(rows)
            if is_other.any():
                return bool(rows.candidates[name].notna().to_numpy(np.bool_)[is_other].any())
        return False

    def _read_chosen(self, rows: CandidateRows) -> Mask:
        """Returns which candidates were chosen: [N]; False where it is missing."""
        name = self.roles.column_of("chosen")
        column = rows.candidates[name]
        is_known = column.notna().to_numpy(np.bool_)
        chosen = as_numbers(cells_of(rows.candidates, name))
        is_good = ~is_known | (chosen == 0.0) | (chosen == 1.0)
        rows.check_candidates(name, is_good, "1 for the chosen candidate, else 0")
        return np.asarray(chosen == 1.0)

    def _make_batch(self, rows: CandidateRows, numbers: Mapping[str, int]) -> BanditLog:
        """Returns the log of some decisions, which miss no value; ValueError if one cannot be.

        Args:
            rows: the decisions.
            numbers: of the items, by name.
        """
        items = self._read_items(rows, numbers)
        chosen = self._find_chosen(rows)
        probabilities = self._read_all_probabilities(rows)
        observation = read_candidates(rows, self.encoding, self.most)
        if self.fewest == self.most:
            del observation["mask"]
        try:
            return BanditLog(
                observation=observation,
                action=rows.places[chosen],
                reward=self._read_rewards(rows, chosen),
                propensity=self._read_propensities(rows, chosen),
                num_actions=self.most,
                action_probabilities=probabilities,
                item=items,
                unit=self._read_units(rows.decisions),
                time=self._read_dates(rows.decisions),
                weight=self._read_weights(rows, chosen),
                encoding=self.encoding,
            )
        except BadValueError as error:
            column = self.roles.one_of(error.name)
            if column is None:
                raise
            place = int(chosen[error.row])
            raise bad_value(rows.candidates, column, place, error.expected) from error

    def _find_chosen(self, rows: CandidateRows) -> NDArray[np.intp]:
        """Returns the rows of the chosen candidates: [n]."""
        is_chosen = self._read_chosen(rows)
        counts = rows.sum_of(is_chosen.astype(np.int64))
        rows.check(counts > 0, "no chosen candidate", "one")
        rows.check(counts < 2, "several chosen candidates", "one")
        return np.flatnonzero(is_chosen)

    def _read_items(self, rows: CandidateRows, numbers: Mapping[str, int]) -> Array:
        """Returns the numbers of the items, [n, K], and -1 behind; ValueError if one is twice."""
        codes, names = codes_of(rows.candidates[self.roles.column_of("item")])
        known = np.array([numbers[str(name)] for name in names], np.int64)
        items = rows.pad(known[codes] + 1, self.most) - 1
        ordered = np.sort(items, axis=1)
        is_twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        if is_twice.any():
            number = int(is_twice.argmax())
            own = ordered[number]
            twice = own[1:][(own[1:] == own[:-1]) & (own[1:] >= 0)][0]
            name = visible(repr(self.encoding.items[twice]))
            rows.check(~is_twice, f"the item {name} twice", "each item once")
        return items

    def _read_rewards(self, rows: CandidateRows, chosen: NDArray[np.intp]) -> Floats:
        """Returns the rewards of the chosen candidates, [n]; ValueError if others have others."""
        if self.rewards is not None:
            return self.rewards.rewards_of(rows.decisions)
        name = self.roles.column_of("reward")
        column = rows.candidates[name]
        rewards = as_numbers(cells_of(rows.candidates, name))
        own = rewards[chosen]
        is_empty = column.isna().to_numpy(np.bool_)
        is_good = is_empty | (rewards == 0.0) | (rewards == np.repeat(own, rows.sizes))
        is_good[chosen] = ~np.isnan(own)
        expected = "a number for the chosen candidate; and for others nothing, 0 or the same"
        rows.check_candidates(name, is_good, expected)
        return own

    def _read_propensities(self, rows: CandidateRows, chosen: NDArray[np.intp]) -> Any:
        """Returns the propensities of the chosen candidates, [n]; None if they are not known."""
        if self.propensity is not None:
            return np.full(len(rows), self.propensity)
        name = self.roles.one_of("propensity")
        return None if name is None else read_numbers(rows.candidates.iloc[chosen], name)

    def _read_weights(self, rows: CandidateRows, chosen: NDArray[np.intp]) -> Any:
        """Returns how many decisions each stands for, as its chosen candidate says; or None."""
        name = self.roles.one_of("weight")
        return None if name is None else read_numbers(rows.candidates.iloc[chosen], name)

    def _read_all_probabilities(self, rows: CandidateRows) -> Floats | None:
        """Returns the probabilities of all candidates, [n, K]; None if they are not known."""
        name = self.roles.one_of("propensity")
        if name is None or not self.tells_all:
            return None
        values = read_numbers(rows.candidates, name)
        is_good = (values >= 0.0) & (values <= 1.0)
        rows.check_candidates(name, is_good, "0 to 1")
        sums = rows.sum_of(values)
        is_whole = np.abs(sums - 1.0) <= TOLERANCE
        found = "" if is_whole.all() else f"{name!r} with the sum {sums[is_whole.argmin()]:.6g}"
        rows.check(is_whole, found, "1, as of the probabilities of all candidates")
        return rows.pad(values, self.most)


def _find_features(
    roles: Roles, lists: ListColumns, table: CandidateTable
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Returns the columns of the context, those of items, and those that may be of either.

    Args:
        roles: what the columns are.
        lists: which of them have lists, and so tell of items.
        table: whose items are lists, or have a row each.

    Raises:
        ValueError: a column of the context has lists, or one of items has none.
    """
    named = roles.all_of("item_features")
    rest = roles.features if roles.are_all else roles.rest(lists.found)
    if not isinstance(table, ListTable):
        if named:
            return roles.features, named, ()
        return () if roles.are_all else roles.features, (), rest
    context = [name for name in roles.features if not (roles.are_all and name in lists)]
    for name in context:
        if name in lists:
            raise ValueError(f"column {name!r} has lists; expected none, as of the context")
    for name in named:
        if name not in lists:
            raise ValueError(
                f"column {name!r} has no lists (JSON in CSV); expected some, as of items"
            )
    return context, named or [name for name in rest if name in lists], ()
