"""Shows how far work has come that takes long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Track(Protocol):
    """Yields the items that it is given, and shows below a text how many it has yielded."""

    def __call__(self, text: str, items: Sequence[Item]) -> Iterable[Item]:
        """Yields the items."""


def track_nothing(text: str, items: Sequence[Item]) -> Iterable[Item]:
    """Returns the items, and shows nothing."""
    return items
