"""Tables as decisions with their candidates, whatever their rows are."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bandit_envs.names.visible import visible
from bandit_envs.tables.decisions.candidate_rows import CandidateRows
from bandit_envs.tables.errors import name_row
from bandit_envs.tables.parts import Part, Parts

TABLE_ROWS = 65_536
"""How many rows of a table are read at a time."""


@dataclasses.dataclass(frozen=True)
class CandidateTable(abc.ABC):
    """A table that can be read as decisions, in every loop anew.

    Args:
        parts: of the table, in order.
        decision: the column of the names of the decisions; None if they have none.
        item: the column of the names of the items; None if actions are no items.
        context: columns that are of the decision, and not of one of its items.
        ends: the name of the last decision in each part and those before it; () before it is known.
    """

    parts: Parts[Part]
    decision: str | None = None
    item: str | None = None
    context: Sequence[str] = ()
    ends: tuple[Any, ...] = ()

    @abc.abstractmethod
    def scan(
        self, names: Sequence[str], texts: Sequence[str], first: int = 0
    ) -> Iterator[tuple[int, CandidateRows]]:
        """Yields the decisions, and the number of the part in which they begin.

        Args:
            names: of the columns to read; those of the decisions and items are read, too.
            texts: columns whose cells are texts, even where they look like numbers, as those
                of decisions and items always are.
            first: the number of the first part that is read. Rows of a decision that begins in an
                earlier one are left out.
        """

    def scan_part(
        self, number: int, names: Sequence[str], texts: Sequence[str]
    ) -> Iterator[CandidateRows]:
        """Yields the decisions that begin in a part, by its number; see `scan`."""
        for first, rows in self.scan(names, texts, first=number):
            if first > number:
                return
            yield rows

    def names_of_rows(self) -> list[str]:
        """Returns the columns of the names of decisions and items, as far as they have some."""
        return [name for name in (self.decision, self.item) if name is not None]

    def find_known_numbers(self, names: Sequence[str]) -> list[str]:
        """Returns which columns are known to be of numbers in all parts, before they are read."""
        known = list(names)
        for part in self.parts.found:
            known = part.find_numbers(known)
        return known

    def refuse_return(self) -> None:
        """Raises ValueError for the first decision that begins again after another one."""
        known: dict[Any, str] = {}
        for number, rows in self.scan([], []):
            for name, start in zip(rows.names(), rows.starts):
                file = self.parts.found[number].name
                place = name_row(rows.candidates, int(start), file)
                if name in known:
                    problem = f"decision {visible(repr(name))} begins again in {place}"
                    advice = "sort the rows by decision, or pass gather=True"
                    raise ValueError(f"{problem} (first in {known[name]}); {advice}")
                known[name] = place


@dataclasses.dataclass(frozen=True)
class RowTable(CandidateTable):
    """A table with one row a decision, among actions that need no features."""

    def scan(
        self, names: Sequence[str], texts: Sequence[str], first: int = 0
    ) -> Iterator[tuple[int, CandidateRows]]:
        own = self.names_of_rows()
        read = list(dict.fromkeys([*own, *names]))
        for number, part in enumerate(self.parts.found[first:], start=first):
            with part.reading():
                for frame in part.frames(read, TABLE_ROWS, [*own, *texts]):
                    starts = np.arange(len(frame))
                    yield number, CandidateRows(frame, frame[own], starts, self.decision)
