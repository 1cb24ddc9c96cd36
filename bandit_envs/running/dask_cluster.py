"""Workers of a Dask cluster, which may come and go."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from bandit_envs.base.extras import import_extra
from bandit_envs.running.apply import (
    IN_FLIGHT,
    SECONDS_BETWEEN_COUNTS,
    SECONDS_OF_ITEM,
    Apply,
    ClusterError,
    Item,
    Result,
    name_in_errors,
)

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class DaskWorkers:
    """Applies functions on a Dask cluster, whose workers may come and go."""

    seconds_of_item = SECONDS_OF_ITEM

    def __init__(self, client: Any) -> None:
        self._client = client
        self._workers = 1
        self._next_count = 0.0

    def __call__(
        self, do: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        distributed = import_extra("distributed", "dask")
        waiting = iter(items)
        running = distributed.as_completed(with_results=True)
        self._submit(running, do, waiting)
        while running.count():
            try:
                _, outcome = next(running)
            except distributed.KilledWorker:
                text = "workers of Dask have died, one after the other, while they ran a task"
                raise ClusterError(text) from None
            if isinstance(outcome, BaseException):
                raise ClusterError(f"Dask has lost its scheduler ({type(outcome).__name__})")
            yield outcome
            self._submit(running, do, waiting)

    def _submit(self, running: Any, do: Callable[[Item], Result], items: Iterator[Item]) -> None:
        """Submits items until every worker has some."""
        number = IN_FLIGHT * self.count_workers() - running.count()
        for item in itertools.islice(items, max(number, 0)):
            running.add(self._client.submit(do, item, pure=False))

    def count_workers(self) -> int:
        if time.monotonic() >= self._next_count:
            try:
                self._workers = max(1, sum(self._client.nthreads().values()))
            except OSError as error:
                raise ClusterError(f"Dask has lost its scheduler ({error})") from None
            self._next_count = time.monotonic() + SECONDS_BETWEEN_COUNTS
        return self._workers


@contextlib.contextmanager
def dask_workers(workers: int, address: str | None) -> Iterator[Apply]:
    """Joins the cluster of an address, or starts one of this machine; yields its workers."""
    distributed = import_extra("distributed", "dask")
    options = {}
    if address is None:
        options = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": ":0",  # any port that is free
            "silence_logs": logging.CRITICAL,
            "preload": [IGNORE_INTERRUPTS],
        }
    with _silence_logs():
        with name_in_errors("Dask"):
            client = distributed.Client(address, **options)
        with client:
            yield DaskWorkers(client)


@contextlib.contextmanager
def _silence_logs() -> Iterator[None]:
    """Silences the tracebacks that a client logs where its cluster dies."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
