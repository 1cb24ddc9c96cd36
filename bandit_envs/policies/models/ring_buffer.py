"""The last rows that a model remembers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.nests import Nest, flatten, map_structure


class RingBuffer(NamedTuple):
    """The last C rows that were seen; its arrays are updated in place.

    Fields:
        rows: a nest of arrays [C, ...], zero where there is no row yet.
        seen: rows so far, of which it holds the last.

    >>> rows = RingBuffer(np.zeros(3), seen=0).add(np.array([1.0, 2.0])).add(np.array([3.0, 4.0]))
    >>> rows.rows, rows.size
    (array([4., 2., 3.]), 3)
    """

    rows: Any
    seen: int

    @property
    def size(self) -> int:
        """How many rows it holds."""
        return min(self.seen, self._capacity)

    @property
    def _capacity(self) -> int:
        return len(flatten(self.rows)[0])

    def add(self, rows: Nest) -> RingBuffer:
        """Returns the buffer after n more rows [n, ...], which take the places of the oldest."""
        capacity = self._capacity
        count = len(flatten(rows)[0])
        first = max(0, count - capacity)
        places = np.arange(self.seen + first, self.seen + count) % capacity

        def put(kept: NDArray[Any], new: NDArray[Any]) -> None:
            kept[places] = new[first:]

        map_structure(put, self.rows, rows)
        return self._replace(seen=self.seen + count)

    def take(self, places: NDArray[Any]) -> Nest:
        """Returns the rows at some places."""
        return map_structure(lambda kept: kept[places], self.rows)
