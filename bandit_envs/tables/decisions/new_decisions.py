"""Tables of decisions that are still to be made, in the encoding of a policy.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Mask
from bandit_envs.names.visible import visible
from bandit_envs.nests import Nest
from bandit_envs.tables.cells import cells_of, find_places
from bandit_envs.tables.decisions.candidate_rows import (
    CandidateRows,
    read_candidates,
    size_of_batches,
)
from bandit_envs.tables.decisions.candidate_table import TABLE_ROWS, CandidateTable, RowTable
from bandit_envs.tables.decisions.list_tables import ListColumns
from bandit_envs.tables.decisions.lists import read_sets
from bandit_envs.tables.decisions.search import ItemSearch, open_candidates
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import check_column, name_row
from bandit_envs.tables.folders import find_parts
from bandit_envs.tables.missing import OF_DECISIONS, MissingValues
from bandit_envs.tables.parts import FramePart, Part, Parts
from bandit_envs.tables.roles import check_column_names
from bandit_envs.tables.suffixes import TABLE_SUFFIXES
from bandit_envs.tables.whole_table import AnyTable

if TYPE_CHECKING:
    from pandas import DataFrame


class CandidateBatch(NamedTuple):
    """Some decisions that are still to be made.

    Fields:
        names: [n], of the decisions: those in their column, or else the numbers of the rows of the
            table, from 0.
        observation: what a policy sees: [n, d]; `observation` and `mask` of sets of actions; or
            `global`, `per_arm` and `mask` of items.
        items: [n, K], the names of the items, "" behind the last; None if actions are not items.
        mask: [n, K], where there is an item, or which actions are available; None if all are.
    """

    names: Array
    observation: Nest
    items: Array | None
    mask: Mask | None


@dataclasses.dataclass(frozen=True)
class CandidateScan:
    """Decisions that are still to be made, in batches; every loop reads the table anew.

    Args:
        table: where they are.
        encoding: of a policy.
        most: candidates of a decision: the K of all batches.
        batch_rows: the most decisions of a batch.
        drop_missing: whether decisions that miss values are left out.
        problems: what the policy does not know of the table, and how much is left out, in words.
        available: the column of lists of the actions that are available; None if all are.
    """

    table: CandidateTable
    encoding: TableEncoding
    most: int
    batch_rows: int
    drop_missing: bool = False
    problems: tuple[str, ...] = ()
    available: str | None = None

    def __iter__(self) -> Iterator[CandidateBatch]:
        """Yields the batches.

        Raises:
            ValueError: a decision misses a value, or has a cell of another kind than the policy
                learned from; the message has the line.
        """
        texts = [column.name for column in self.encoding.texts]
        texts += () if self.available is None else (self.available,)
        size = size_of_batches(self.encoding, self.most, self.batch_rows)
        first = 0
        for number, rows in self.table.scan(self._names(), texts):
            is_kept = self._find_kept(rows)
            numbers = first + np.flatnonzero(is_kept)
            first += len(rows)
            start = 0
            for some in rows.keep(is_kept).cut(size):
                with self.table.parts.found[number].reading():
                    yield self._make_batch(some, numbers[start : start + len(some)])
                start += len(some)

    def find_missing(self) -> MissingValues:
        """Returns which values decisions miss."""
        found = MissingValues(size=0, rows=0, columns={}, unit="decisions")
        for number, rows in self.table.scan(self._names(), []):
            is_missing = {name: rows.is_missing(name) for name in self._needed()}
            found = found.merge(rows.count_missing(is_missing, self.table.parts.found[number].name))
        return found

    def _names(self) -> list[str]:
        """Returns the names of the columns of features, and of the actions that are available."""
        names = [*self.encoding.names, *self.encoding.of_items().names]
        return names if self.available is None else [*names, self.available]

    def _needed(self) -> list[str]:
        """Returns the names of the columns that a decision may not miss."""
        return [*self.table.names_of_rows(), *self._names()]

    def _find_kept(self, rows: CandidateRows) -> Mask:
        """Returns which decisions are complete, [n]; ValueError if others may not be left out."""
        is_missing = rows.is_incomplete({name: rows.is_missing(name) for name in self._needed()})
        if is_missing.any() and not self.drop_missing:
            self.find_missing().check_none(OF_DECISIONS)
        return ~is_missing

    def _make_batch(self, rows: CandidateRows, numbers: Array) -> CandidateBatch:
        """Returns a batch of decisions, which miss no value.

        Args:
            rows: the decisions.
            numbers: [n], theirs in the table.
        """
        names = np.array(rows.names(), object) if rows.decision else numbers
        if self.table.item is None:
            context = self.encoding.read(rows.decisions)
            if self.available is None:
                return CandidateBatch(names, context, None, None)
            mask = self._read_available(rows.decisions)
            return CandidateBatch(names, {"observation": context, "mask": mask}, None, mask)
        items = rows.candidates[self.table.item].astype(str).to_numpy(object)
        padded = rows.pad(items, self.most)
        observation = read_candidates(rows, self.encoding, self.most)
        mask = np.asarray(observation["mask"], np.bool_)
        padded[~mask] = ""
        return CandidateBatch(names, observation, padded, mask)

    def _read_available(self, frame: DataFrame) -> Mask:
        """Returns which actions are available, [n, K]; ValueError if a row has no action."""
        name = str(self.available)
        mask = read_sets(frame, name, self.encoding.actions, self.most)
        check_column(frame, name, np.asarray(mask.any(axis=1)), "at least one action")
        return mask


def scan_candidates(
    table: AnyTable,
    encoding: TableEncoding,
    *,
    decision: str | None = None,
    item: str | None = None,
    only: str | None = None,
    available: str | None = None,
    num_actions: int = 0,
    batch_rows: int = TABLE_ROWS,
    drop_missing: bool = False,
) -> CandidateScan:
    """Returns decisions that are still to be made, in the encoding of a policy.

    The table needs no actions, rewards and propensities. A pass over it finds how many candidates a
    decision has at most, and which texts the policy does not know.

    Args:
        table: a pandas DataFrame; or the path of a CSV or Parquet file, or of a folder of such
            files, as for `scan_log`.
        encoding: of the policy.
        decision: the column of the names of the decisions. With `item`, adjacent rows that have
            the same name are the candidates of one decision, unless columns have lists.
        item: the column of the items, or of lists of them, if the policy chooses among items with
            features.
        only: a pattern of the files of a folder that are read.
        available: the column of the actions that are available in each decision, as lists, if the
            policy chooses no items.
        num_actions: of a policy that chooses no items.
        batch_rows: the most decisions of a batch.
        drop_missing: whether decisions that miss values are left out. By default, they raise a
            ValueError that counts them, and names the line of the first.

    Raises:
        ValueError: a column is missing; a decision begins again after another one; or `item` is
            given, and the policy chooses no items, or the other way round.
    """
    if isinstance(table, (str, os.PathLike)):
        name = os.path.basename(table)
        parts: Parts[Part] = find_parts(Path(table), TABLE_SUFFIXES, only)
    else:
        name = "table"
        parts = Parts([FramePart(table)])
    if (item is not None) != bool(encoding.item_features):
        which = "items with features" if encoding.item_features else "actions without features"
        expected = "a column" if encoding.item_features else "None"
        raise ValueError(f"item is {item!r}; expected {expected}, as the policy chooses {which}")
    if available is not None and item is not None:
        expected = "None, as each decision has the items that are available"
        raise ValueError(f"available is {available!r}; expected {expected}")
    context = encoding.names
    needed = [each for each in (decision, item, available) if each is not None]
    needed += [*context, *encoding.of_items().names]
    lists = ListColumns() if item is None else ListColumns.find(parts)
    with parts.found[0].reading():
        check_column_names(name, needed, lists.found or parts.found[0].column_names())
    most = num_actions
    source: CandidateTable = RowTable(parts, decision, None, context)
    if item is not None:
        source = open_candidates(parts=parts, lists=lists, decision=decision, item=item)
        source = dataclasses.replace(source, context=context)
        names = encoding.of_items().names
        most = ItemSearch(source, (), names, (), takes_same=False).find().most
    problems = [*_find_new_texts(source, encoding)]
    scan = CandidateScan(
        table=source,
        encoding=encoding,
        most=most,
        batch_rows=batch_rows,
        drop_missing=drop_missing,
        available=available,
    )
    if drop_missing:
        missing = scan.find_missing()
        if missing.rows:
            problems.append(missing.describe_left_out())
    return dataclasses.replace(scan, problems=tuple(problems))


def _find_new_texts(table: CandidateTable, encoding: TableEncoding) -> Iterator[str]:
    """Yields which texts an encoding does not know, with the line of the first of each column."""
    if not encoding.texts:
        return
    counts = dict.fromkeys((column.name for column in encoding.texts), 0)
    firsts: dict[str, str] = {}
    names = [*counts]
    for number, rows in table.scan(names, names):
        for column in encoding.texts:
            frame = rows.frame_of(column.name)
            present = frame[frame[column.name].notna()]
            is_new = find_places(column.levels, cells_of(present, column.name)) < 0
            counts[column.name] += int(is_new.sum())
            if is_new.any() and column.name not in firsts:
                row = int(is_new.argmax())
                file = table.parts.found[number].name
                place = name_row(present, row, file)
                firsts[column.name] = f"{present[column.name].iloc[row]!r} in {place}"
    for name, first in firsts.items():
        found = f"column {name!r} has {counts[name]} cells with texts that the policy does not know"
        yield f"{visible(found)}, first {visible(first)}: the features of such texts are 0"
