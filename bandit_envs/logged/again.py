"""What can be passed over again and again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item_co = TypeVar("Item_co", covariant=True)


@dataclasses.dataclass(frozen=True)
class Again(Generic[Item_co]):
    """What a function yields, anew in every loop. Workers are sent the function.

    >>> squares = Again(lambda: (number**2 for number in range(3)))
    >>> list(squares), list(squares)
    ([0, 1, 4], [0, 1, 4])
    """

    make: Callable[[], Iterable[Item_co]]

    def __iter__(self) -> Iterator[Item_co]:
        """Yields the items."""
        return iter(self.make())
