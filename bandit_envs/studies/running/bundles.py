"""Bundles of tasks: many short ones, or a single long one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bandit_envs.studies.running.workers import Bundle, BundleOutcome

MAX_RANGES = 20
"""A bundle has at most so many ranges of tasks, which keeps small what is sent."""

SHARE = 3
"""A bundle has at most one part of so many of what each worker has yet to do."""


class Bundles:
    """An iterator of bundles, whose sizes follow from how long earlier ones took.

    Bundles have one task at first, and at most twice as many as one that has finished. Towards the
    end, they become small again, so that workers end at about the same time.

    Args:
        folder: of the tasks.
        assignment: the token of what workers know of the study.
        tasks: the numbers of the tasks to run, in increasing order.
        count_workers: returns how many workers there are.
        seconds: how long a bundle should take.
    """

    def __init__(
        self,
        folder: str,
        assignment: str,
        tasks: Sequence[int],
        count_workers: Callable[[], int],
        seconds: float = 10.0,
    ) -> None:
        self._folder = folder
        self._assignment = assignment
        self._tasks = tasks
        self._count_workers = count_workers
        self._seconds = seconds
        self._num_sent = 0
        self._largest = 0
        self._seconds_per_task = seconds

    def __iter__(self) -> Bundles:
        return self

    def __next__(self) -> Bundle:
        if self._num_sent == len(self._tasks):
            raise StopIteration
        start = self._num_sent
        ranges: list[tuple[int, int]] = []
        for number in self._tasks[start : start + self._size()]:
            if ranges and ranges[-1][1] == number:
                ranges[-1] = (ranges[-1][0], number + 1)
            elif len(ranges) < MAX_RANGES:
                ranges.append((number, number + 1))
            else:
                break
            self._num_sent += 1
        return Bundle(self._folder, self._assignment, tuple(ranges))

    def note(self, outcome: BundleOutcome) -> None:
        """Takes note of how long a bundle took."""
        found = outcome.seconds / outcome.num_tasks
        if self._largest:
            found = (self._seconds_per_task + found) / 2
        self._seconds_per_task = found
        self._largest = max(self._largest, outcome.num_tasks)

    def _size(self) -> int:
        """Returns how many tasks the next bundle should have."""
        share = (len(self._tasks) - self._num_sent) // (SHARE * self._count_workers())
        wanted = int(self._seconds / max(self._seconds_per_task, 1e-6))
        return max(1, min(share, wanted, 2 * self._largest))
