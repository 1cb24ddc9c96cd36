"""What applies functions to items, wherever its workers are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Protocol, TypeVar

SECONDS_OF_ITEM = 10.0
"""How long a worker should have to do for an item that is sent to it."""

IN_FLIGHT = 3
"""A cluster has at most this many items per worker at once, which keeps its scheduler small."""

SECONDS_BETWEEN_COUNTS = 5.0
"""Seconds between two counts of a cluster's workers; Ray's head is asked at least so often."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Apply(Protocol):
    """Applies a function to each of some items, such as bundles of tasks."""

    seconds_of_item: float
    """How long an item should take: long where it costs time to send one."""

    def __call__(
        self, do: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yields what `do` returns for the items, in the order in which they finish.

        It takes the next item once a worker needs it.
        """

    def count_workers(self) -> int:
        """Returns how many workers there are now."""


class ClusterError(ConnectionError):
    """Workers, or the process that gives them work, have died."""


@contextlib.contextmanager
def name_in_errors(name: str) -> Iterator[None]:
    """Turns what is raised where a cluster does not start into a `ClusterError` that names it."""
    try:
        yield
    except (ImportError, OSError):  # which say themselves what is missing, or does not answer
        raise
    except Exception as error:  # libraries of clusters raise any
        raise ClusterError(f"{name} has not started: {error}") from error
