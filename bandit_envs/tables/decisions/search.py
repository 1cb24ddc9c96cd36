"""What a table of decisions among items has: how it becomes numbers, found in a pass over it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.cell_counts import CellCounts
from bandit_envs.tables.decisions.candidate_rows import CandidateRows, codes_of, find_changes
from bandit_envs.tables.decisions.candidate_table import CandidateTable
from bandit_envs.tables.decisions.list_tables import ListColumns, ListTable
from bandit_envs.tables.decisions.long_tables import LongTable
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.encoding_search import count_cells
from bandit_envs.tables.parts import Part, Parts


@dataclasses.dataclass(frozen=True)
class FoundItems:
    """What a table of decisions among items has.

    Args:
        encoding: how its columns become numbers, with the names of the items.
        ends: the name of the last decision in each part and those before it.
        fewest: candidates of a decision.
        most: candidates of a decision.
    """

    encoding: TableEncoding
    ends: tuple[Any, ...]
    fewest: int
    most: int


class ItemSearch:
    """Finds what a table of decisions among items has.

    Args:
        table: which is read once, or twice if a column has both texts and numbers.
        context: columns of the context.
        items: columns of the items.
        undecided: columns that are of the items if they differ in the rows of a decision.
        takes_same: whether those that do not differ are of the context; else they are left out.
    """

    def __init__(
        self,
        table: CandidateTable,
        context: Sequence[str],
        items: Sequence[str],
        undecided: Sequence[str],
        *,
        takes_same: bool,
    ) -> None:
        self._table = table
        self._context = context
        self._items = items
        self._undecided = undecided
        self._takes_same = takes_same
        self._cells: dict[str, CellCounts] = {}
        self._varying: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._hashes: list[Any] = []
        self._ends: list[Any] = [None] * len(table.parts.found)
        self._sizes: list[Any] = []

    def find(self) -> FoundItems:
        """Returns what it has.

        Raises:
            ValueError: it has no rows, a decision begins again after another one, no column is one
                of items, or a column has too many different texts.
        """
        named = [*self._context, *self._items, *self._undecided]
        numbers = self._table.find_known_numbers(named)
        self._cells.update(dict.fromkeys(numbers, CellCounts(is_whole=False)))
        counted = [name for name in named if name not in numbers]
        read = dict.fromkeys([*self._undecided, *counted])
        for number, rows in self._table.scan([*read], []):
            with self._table.parts.found[number].reading():
                self._add(number, rows)
                self._count(rows, counted, ())
        self._check_decisions()
        half_read = [
            name for name, each in self._cells.items() if each.is_text and not each.is_whole
        ]
        if half_read:  # such as 007 in a batch of numbers, which would be 7
            for name in half_read:
                del self._cells[name]
            for _, rows in self._table.scan(half_read, half_read):
                self._count(rows, half_read, half_read)
        sizes = np.concatenate(self._sizes)
        return FoundItems(
            encoding=self._encoding(),
            ends=tuple(self._ends),
            fewest=int(sizes.min()),
            most=int(sizes.max()),
        )

    def _add(self, number: int, rows: CandidateRows) -> None:
        """Takes note of the items, the names and the sizes of decisions."""
        pandas = import_extra("pandas", "logged")
        _, names = codes_of(rows.candidates[self._table.item])
        for name in names:
            self._numbers.setdefault(str(name), len(self._numbers))
        if self._table.decision is not None and len(rows):
            ids = rows.candidates[self._table.decision].iloc[rows.starts]
            self._hashes.append(pandas.util.hash_pandas_object(ids, index=False).to_numpy())
            for later in range(number, len(self._ends)):
                self._ends[later] = ids.iloc[-1]
        self._sizes.append(rows.sizes)
        is_inside = np.ones(len(rows.candidates), np.bool_)
        is_inside[rows.starts] = False
        for name in self._undecided:
            if (
                name not in self._varying
                and (find_changes(rows.candidates[name]) & is_inside).any()
            ):
                self._varying.add(name)

    def _count(self, rows: CandidateRows, names: Sequence[str], texts: Sequence[str]) -> None:
        """Counts the kinds of cells of some columns, of which some are known to be texts."""
        for name in names:
            counts = count_cells(rows.frame_of(name), name, name in texts)
            known = self._cells.get(name)
            self._cells[name] = counts if known is None else known.merge(counts)

    def _check_decisions(self) -> None:
        """Raises ValueError if there is no decision, or one begins again after another one."""
        if not sum(map(len, self._sizes)):
            raise ValueError("the table has no rows")
        hashes = np.sort(np.concatenate(self._hashes or [np.zeros(0)]))
        if (hashes[1:] == hashes[:-1]).any():
            self._table.refuse_return()

    def _encoding(self) -> TableEncoding:
        """Returns how the columns become numbers."""
        same = [name for name in self._undecided if name not in self._varying]
        context = [*self._context, *same] if self._takes_same else self._context
        items = [*self._items, *(n for n in self._undecided if n in self._varying)]
        if not items:
            expected = "item_features=[...] or --item-features, which names columns of the items"
            raise ValueError(f"no column tells the items of a decision apart; expected {expected}")
        nothing = CellCounts()
        columns = [
            tuple(self._cells.get(name, nothing).likely_column(name) for name in names)
            for names in (context, items)
        ]
        return TableEncoding((), columns[0], columns[1], tuple(self._numbers))


def open_candidates(
    *,
    parts: Parts[Part],
    lists: ListColumns,
    decision: str | None,
    item: str,
    chosen: str = "",
    of_chosen: Sequence[str] = (),
    gather: bool = False,
) -> CandidateTable:
    """Returns the decisions of a table, whose items are in lists, or have one row each.

    Args:
        parts: of the table.
        lists: which of its columns have lists.
        decision: the column of the names of the decisions, if they have some.
        item: the column of the items.
        chosen: the column that says which item was chosen; "" if the table has no such column.
        of_chosen: columns of what is known of the chosen items alone.
        gather: whether the rows of a decision may stand anywhere.

    Raises:
        ValueError: items have one row each, and no column tells decisions apart; or there is
            nothing to gather.
    """
    if item in lists:
        if gather:
            raise ValueError(
                f"gather is True, and column {item!r} has lists; expected one item a row"
            )
        return ListTable(parts, decision, item, lists=lists, chosen=chosen, of_chosen=of_chosen)
    if decision is None:
        expected = "the column that says which rows are candidates of one decision"
        raise ValueError(
            f"decision is None, and column {item!r} has no lists (JSON in CSV); expected {expected}"
        )
    table = LongTable(parts, decision, item)
    return table.gather(lists.found) if gather else table
