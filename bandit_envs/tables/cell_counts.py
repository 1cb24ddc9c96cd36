"""What kinds of cells a column has: numbers, times or texts, and which."""

from __future__ import annotations

import collections
import dataclasses

from bandit_envs.arrays import Array
from bandit_envs.tables.cells import as_objects, parse_number, parse_time
from bandit_envs.tables.encoding import NumberColumn, TableColumn, TextColumn, TimeColumn

MAX_LEVELS = 256
"""A column of texts may have so many different ones, each of which becomes a feature."""


@dataclasses.dataclass(frozen=True)
class CellCounts:
    """What kinds of cells a part of a column has. Those of parts merge.

    Args:
        numbers: how many are numbers, or say one.
        times: how many are dates or times, or say one.
        texts: how many are neither.
        names: the different cells as texts; None if they are too many.
        is_whole: whether `names` are all of them, as they stand in the table.
        limit: `names` has at most so many.
    """

    numbers: int = 0
    times: int = 0
    texts: int = 0
    names: frozenset[str] | None = frozenset()
    is_whole: bool = True
    limit: int = MAX_LEVELS

    @classmethod
    def from_cells(
        cls, cells: Array, limit: int = MAX_LEVELS, as_texts: bool = False
    ) -> CellCounts:
        """Returns the counts of cells [n], none of which is missing.

        Args:
            cells: of a part of a column.
            limit: of different cells that are kept.
            as_texts: whether it is known that the column is of texts, so that all are kept.
        """
        size = len(cells)
        if cells.dtype.kind in "biuf" and not as_texts:
            return cls(numbers=size, is_whole=not size, limit=limit)
        if cells.dtype.kind == "M" and not as_texts:
            return cls(times=size, is_whole=not size, limit=limit)
        counts = collections.Counter(as_objects(cells))
        of_numbers = 0
        of_times = 0
        for cell, count in counts.items():
            if parse_number(cell) is not None:
                of_numbers += count
            elif parse_time(cell) is not None:
                of_times += count
        texts = size - of_numbers - of_times
        is_whole = as_texts or all(isinstance(cell, str) for cell in counts)
        if not texts and not (of_numbers and of_times) and not as_texts:
            return cls(of_numbers, of_times, is_whole=not size, limit=limit)  # of very many names
        names = frozenset(map(str, counts))
        return cls(
            numbers=of_numbers,
            times=of_times,
            texts=texts,
            names=names if len(names) <= limit else None,
            is_whole=is_whole,
            limit=limit,
        )

    def merge(self, other: CellCounts) -> CellCounts:
        """Returns the counts of the cells of both."""
        limit = max(self.limit, other.limit)
        names = None
        if self.names is not None and other.names is not None:
            names = self.names | other.names
            names = names if len(names) <= limit else None
        return CellCounts(
            numbers=self.numbers + other.numbers,
            times=self.times + other.times,
            texts=self.texts + other.texts,
            names=names,
            is_whole=self.is_whole and other.is_whole,
            limit=limit,
        )

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.numbers + self.times + self.texts

    @property
    def is_number(self) -> bool:
        """Whether all cells are numbers."""
        return self.texts + self.times == 0

    @property
    def is_time(self) -> bool:
        """Whether all cells are dates or times."""
        return self.times > 0 and self.numbers + self.texts == 0

    @property
    def is_text(self) -> bool:
        """Whether most cells are texts, so that others are not mistakes."""
        return 2 * self.texts > self.size

    @property
    def is_named(self) -> bool:
        """Whether most cells are not numbers: they may be names."""
        return 2 * (self.texts + self.times) > self.size

    def levels(self, name: str, advice: str) -> tuple[str, ...]:
        """Returns the different cells as texts, sorted; ValueError if they are too many.

        Args:
            name: of the column.
            advice: what to do then, in the message.
        """
        if self.names is None:
            problem = f"column {name!r} has more than {self.limit} different texts"
            raise ValueError(f"{problem}; {advice}")
        return tuple(sorted(self.names))

    def column(self, name: str) -> TableColumn:
        """Returns how a column of features becomes numbers: of texts if any cell is one."""
        if self.is_number:
            return NumberColumn(name)
        if self.is_time:
            return TimeColumn(name)
        advice = (
            "users of a log are units: --unit or unit=; leave out other ids: --features or"
            " features=[...] names the others; or put rare texts into one; dates are written as"
            " 2024-12-31 or 2024-12-31 23:59"
        )
        return TextColumn(name, self.levels(name, advice))

    def likely_column(self, name: str) -> TableColumn:
        """Returns how a column of features becomes numbers, if what is rare in it is a mistake."""
        if self.is_text:
            return self.column(name)
        return TimeColumn(name) if self.times > self.numbers else NumberColumn(name)
