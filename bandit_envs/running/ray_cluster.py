"""Workers of a Ray cluster, in tasks that Ray repeats if their worker dies."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
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


def _call(do: Callable[[Item], Result], item: Item) -> Result:
    """Returns what a function returns for an item."""
    return do(item)


class RayWorkers:
    """Applies functions on a Ray cluster, in tasks that Ray repeats if their worker dies."""

    seconds_of_item = SECONDS_OF_ITEM

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._head: str = ray.get_runtime_context().gcs_address
        self._workers = 1
        self._next_count = 0.0

    def __call__(
        self, do: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        waiting = iter(items)
        name = getattr(do, "__name__", "call")  # which Ray shows, and processes are named after
        remote = self._ray.remote(_call).options(name=name)
        sent = self._ray.put(do)  # a partial function is not a function to Ray
        running: list[Any] = []
        while True:
            number = IN_FLIGHT * self.count_workers() - len(running)
            running += [
                remote.remote(sent, item) for item in itertools.islice(waiting, max(number, 0))
            ]
            if not running:
                return
            done, running = self._ray.wait(running, timeout=SECONDS_BETWEEN_COUNTS)
            self._check_head()
            yield from self._get(done)

    def _check_head(self) -> None:
        """Raises an error if the head is gone: what asks it would wait, then end this process."""
        if not self.has_head():
            raise ClusterError("Ray has lost its head")

    def has_head(self) -> bool:
        """Whether the head of the cluster answers."""
        host, _, port = self._head.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_BETWEEN_COUNTS).close()
        except OSError:
            return False
        return True

    def _get(self, done: list[Any]) -> list[Any]:
        """Returns outcomes, or raises what a worker has raised."""
        try:
            return list(self._ray.get(done))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise ClusterError(f"workers of Ray have died ({type(error).__name__})") from None

    def count_workers(self) -> int:
        if time.monotonic() >= self._next_count:
            self._check_head()
            self._workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._next_count = time.monotonic() + SECONDS_BETWEEN_COUNTS
        return self._workers


@contextlib.contextmanager
def ray_workers(workers: int, address: str | None) -> Iterator[Apply]:
    """Joins the cluster of an address, or starts one of this machine; yields its workers."""
    ray = import_extra("ray", "ray")
    options: dict[str, Any] = {"address": address or "local", "log_to_driver": False}
    if address is None:
        options["num_cpus"] = workers
    with name_in_errors("Ray"):
        ray.init(logging_level=logging.CRITICAL, **options)
    engine = RayWorkers(ray)
    try:
        yield engine
    finally:
        if engine.has_head():  # without it, this would wait
            ray.shutdown()
