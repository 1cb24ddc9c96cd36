"""Which rows of a batch made the decisions of a log, in order."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class RowOrder:
    """In which order rows of a batch made decisions. Those of parts merge in their order.

    In order, rows count up from one decision to the next, and start again at 0 after the last row.

    Args:
        is_counting: whether each row is 1 above the one before, or 0.
        first: row; -1 without decisions.
        last: row.
        highest: row.
        ends: rows after which 0 came.
    """

    is_counting: bool = True
    first: int = -1
    last: int = -1
    highest: int = -1
    ends: frozenset[int] = frozenset()

    @classmethod
    def from_rows(cls, rows: NDArray[np.int64] | None) -> RowOrder:
        """Returns the order of rows [n]; None if they are not known."""
        if rows is None:
            return cls(is_counting=False)
        if not len(rows):
            return cls()
        starts_again = rows[1:] == 0
        ends = np.unique(rows[:-1][starts_again])
        return cls(
            is_counting=bool((starts_again | (np.diff(rows) == 1)).all()),
            first=int(rows[0]),
            last=int(rows[-1]),
            highest=int(rows.max()),
            ends=frozenset(ends[:2].tolist()),  # more than one are out of order, however many
        )

    def merge(self, later: RowOrder) -> RowOrder:
        """Returns the order of this part and a later one."""
        if self.first < 0 or later.first < 0:
            known = later if self.first < 0 else self
            return dataclasses.replace(known, is_counting=self.is_counting and later.is_counting)
        starts_again = later.first == 0
        goes_on = starts_again or later.first == self.last + 1
        ends = {self.last} if starts_again else set()
        return RowOrder(
            is_counting=self.is_counting and later.is_counting and goes_on,
            first=self.first,
            last=later.last,
            highest=max(self.highest, later.highest),
            ends=self.ends | later.ends | ends,
        )

    def batch_size(self) -> int:
        """Returns the number of rows if they are in order; else 1, as for an unknown order."""
        is_in_order = self.is_counting and self.first == 0 and self.ends <= {self.highest}
        return self.highest + 1 if is_in_order else 1
