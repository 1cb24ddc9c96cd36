"""How the columns of a table become numbers, found in one pass over its parts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bandit_envs.names.visible import visible
from bandit_envs.tables.cell_counts import CellCounts
from bandit_envs.tables.cells import cells_of, count_fractions, read_integers
from bandit_envs.tables.decisions.lists import flatten_column
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.folders import NAMED
from bandit_envs.tables.parts import Part, Parts

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_NAMES = 2**16
"""A table may have so many names of actions."""

MANY_ACTIONS = 1000
"""The most actions that a log can have of which it has no row."""


NO_ACTIONS = CellCounts(limit=MAX_NAMES)
"""The counts of no cells of actions."""


@dataclasses.dataclass(frozen=True)
class FoundCells:
    """What cells of actions and features a part of a table has. Those of parts merge.

    Args:
        features: the kinds of cells, by column.
        actions: the kinds of cells.
        smallest: action, if they are numbers; None without rows.
        largest: action.
        problem: why actions are not integers; "" if they are.
        fractions: how many actions are numbers that are not whole.
        others: how many are not.
    """

    features: Mapping[str, CellCounts] = dataclasses.field(default_factory=dict)
    actions: CellCounts = NO_ACTIONS
    smallest: int | None = None
    largest: int | None = None
    problem: str = ""
    fractions: int = 0
    others: int = 0

    @property
    def are_real(self) -> bool:
        """Whether actions are real numbers, such as prices: few of them are whole by chance."""
        return self.fractions > self.others

    def merge(self, other: FoundCells) -> FoundCells:
        """Returns what the rows of both have."""
        features = dict(self.features)
        for name, more in other.features.items():
            features[name] = features[name].merge(more) if name in features else more
        low = [each for each in (self.smallest, other.smallest) if each is not None]
        high = [each for each in (self.largest, other.largest) if each is not None]
        return FoundCells(
            features=features,
            actions=self.actions.merge(other.actions),
            smallest=min(low, default=None),
            largest=max(high, default=None),
            problem=self.problem or other.problem,
            fractions=self.fractions + other.fractions,
            others=self.others + other.others,
        )

    def all_counts(self) -> list[CellCounts]:
        """Returns the kinds of cells of all columns."""
        return [self.actions, *self.features.values()]


@dataclasses.dataclass(frozen=True)
class EncodingSearch:
    """Finds the encoding of a table.

    Args:
        parts: of the table.
        actions: the columns of the actions, which share their names; none if actions are real
            numbers, which have no names.
        features: the columns of the features.
        batch_rows: how many rows are read at a time.
        lists: those of the columns of actions that have lists of them.
    """

    parts: Parts[Part]
    actions: Sequence[str]
    features: Sequence[str]
    batch_rows: int
    lists: Sequence[str] = ()

    def find(self, num_actions: int | None) -> tuple[TableEncoding, int]:
        """Returns how columns become numbers, and the number of actions.

        Args:
            num_actions: if it is given, and the first rows have numbers alone, no others are read;
                0 if actions are real numbers; None for the largest plus 1, the number of names, or
                0 if most are numbers that are not whole.

        Raises:
            ValueError: there are no rows; actions are neither names nor numbers that can be; or a
                column has too many different texts.
        """
        if num_actions is not None:
            first = self._find_first()
            if all(counts.is_number for counts in first.all_counts()):
                return self._encoding_of(first), num_actions
        found = self._merge(texts=())
        half_read = self._find_half_read(found)
        if half_read:  # such as 007 in a batch of numbers, which would be 7
            found = self._merge(half_read)
        encoding = self._encoding_of(found)
        if num_actions == 0:
            return encoding, 0
        if not found.actions.size:
            named = ", ".join(visible(part.name) for part in self.parts.found[:NAMED])
            raise ValueError(f"the log has no rows in {named or 'frame'}, or none with an action")
        if encoding.actions:
            return encoding, _count_names(encoding, num_actions)
        if num_actions is None and found.are_real:
            return encoding, 0
        return encoding, num_actions or self._count_actions(found)

    def _find_first(self) -> FoundCells:
        """Returns what cells the first rows have."""
        first = FoundCells()
        for found in self._search(texts=()):
            first = first.merge(found)
            if any(counts.size for counts in found.all_counts()):
                break
        return first

    def _merge(self, texts: Sequence[str]) -> FoundCells:
        """Returns what cells the whole table has, if it is known that some columns are texts."""
        return functools.reduce(FoundCells.merge, self._search(texts), FoundCells())

    def _search(self, texts: Sequence[str]) -> Iterator[FoundCells]:
        """Yields what cells the parts of a table have, a batch at a time.

        Columns are not read of which a part knows enough.
        """
        for part in self.parts.found:
            with part.reading():
                actions = [name for name in self.actions if name not in texts]
                known = _find_known(part, actions, [n for n in self.features if n not in texts])
                features = [name for name in self.features if name not in known.features]
                actions = [] if known.actions.numbers else [*self.actions]
                if not actions and not features:
                    yield known
                    continue
                for frame in part.frames([*actions, *features], self.batch_rows, texts):
                    found = FoundCells(
                        {name: count_cells(frame, name, name in texts) for name in features}
                    )
                    for name in actions:
                        cells = frame[[name]].dropna()
                        if name in self.lists:
                            cells = flatten_column(cells, name).dropna()
                        found = found.merge(_search_actions(part, cells, name, name in texts))
                    yield known.merge(found)
                    known = FoundCells()

    def _find_half_read(self, found: FoundCells) -> list[str]:
        """Returns the columns of texts of which some cells were read as numbers or times."""
        is_half_read = found.actions.is_named and not found.actions.is_whole
        actions = self.actions if is_half_read else ()
        features = (
            name for name, each in found.features.items() if each.is_text and not each.is_whole
        )
        return [*actions, *features]

    def _encoding_of(self, found: FoundCells) -> TableEncoding:
        """Returns the encoding of the columns.

        A column that is mostly numbers or times counts as one of these; a later error names the
        cells that are something else.
        """
        names: tuple[str, ...] = ()
        if found.actions.is_named:
            advice = "expected names of actions, of which each has many rows"
            names = found.actions.levels(self.actions[0], advice)
        nothing = CellCounts()
        features = [found.features.get(name, nothing).likely_column(name) for name in self.features]
        return TableEncoding(names, tuple(features))

    def _count_actions(self, found: FoundCells) -> int:
        """Returns the largest action plus 1, of actions that are numbers.

        Raises:
            ValueError: an action is not an integer; the smallest is 1: actions then probably count
                from 1; or the largest exceeds the number of rows: it is then not the number of an
                action.
        """
        if found.problem:
            raise ValueError(found.problem)
        name = self.actions[0]
        if found.smallest == 1:
            problem = f"column {name!r} counts actions from 1, or has no action 0"
            raise ValueError(f"{problem}; subtract 1, or give num_actions")
        rows = found.actions.numbers
        largest = -1 if found.largest is None else found.largest
        if largest > max(rows, MANY_ACTIONS):
            problem = f"column {name!r} has the action {largest}, and {rows} rows"
            raise ValueError(f"{problem}; number the actions from 0, or give num_actions")
        return largest + 1


def _count_names(encoding: TableEncoding, num_actions: int | None) -> int:
    """Returns how many names of actions there are; ValueError if another number is given."""
    number = len(encoding.actions)
    if num_actions not in (None, number):
        problem = f"num_actions is {num_actions}, and the table names {number}"
        raise ValueError(f"{problem}; leave it out, and add_actions adds those that no row has")
    return number


def _find_known(part: Part, actions: Sequence[str], features: Sequence[str]) -> FoundCells:
    """Returns what a part says of columns of numbers before their cells are read.

    Args:
        part: of the table.
        actions: the columns of the actions; of several, it says nothing.
        features: the columns of the features.
    """
    numbers = part.find_numbers(features)
    known = FoundCells(dict.fromkeys(numbers, CellCounts(is_whole=False)))
    found = part.find_range(actions[0]) if len(actions) == 1 else None
    if found is None:
        return known
    return dataclasses.replace(
        known,
        actions=CellCounts(numbers=found.rows, is_whole=False, limit=MAX_NAMES),
        smallest=found.smallest,
        largest=found.largest,
        others=found.rows,
    )


def count_cells(frame: DataFrame, name: str, are_texts: bool) -> CellCounts:
    """Returns the kinds of cells of a column of features; missing ones do not count.

    Args:
        frame: some rows of a table.
        name: of the column.
        are_texts: whether it is known to have texts.
    """
    if frame[name].isna().any():
        frame = frame[[name]].dropna()
    cells = cells_of(frame, name)
    return CellCounts.from_cells(cells, as_texts=are_texts)


def _search_actions(part: Part, frame: DataFrame, name: str, are_texts: bool) -> FoundCells:
    """Returns what actions a column has, which misses none.

    Args:
        part: of the table that the rows are of.
        frame: some of its rows.
        name: of the column.
        are_texts: whether it is known to have texts.
    """
    found = cells_of(frame, name)
    cells = CellCounts.from_cells(found, MAX_NAMES, as_texts=are_texts)
    if are_texts:
        return FoundCells(actions=cells)
    try:
        with part.reading():
            actions = read_integers(frame, name)
    except ValueError as error:  # unless they are names, as other parts may tell
        fractions = count_fractions(found)
        others = len(frame) - fractions
        return FoundCells(actions=cells, problem=str(error), fractions=fractions, others=others)
    return FoundCells(
        actions=cells,
        smallest=int(actions.min()) if len(actions) else None,
        largest=int(actions.max()) if len(actions) else None,
        others=len(actions),
    )
