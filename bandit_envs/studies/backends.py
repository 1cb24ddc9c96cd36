"""What does tasks and other things: processes or threads of this machine, or a cluster."""

import contextlib
import importlib
import itertools
import logging
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import joblib

from bandit_envs.base.checks import check_integer

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"

IN_FLIGHT = 5000
"""At most so many tasks are on a Dask cluster at once, which keeps its scheduler small."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Apply(Protocol):
    """Does a thing with each of some items, such as tasks."""

    def __call__(
        self, do: Callable[[Item], Outcome], items: list[Item]
    ) -> Generator[Outcome, None, None]:
        """Yields what `do` returns for the items, in the order in which they finish."""


class ClusterError(ConnectionError):
    """Workers or the scheduler of a cluster are gone."""


def backend(name: str, workers: int, address: str | None) -> AbstractContextManager[Apply]:
    """Starts workers, which ignore Ctrl-C, or joins a cluster. Yields what does things on them.

    Args:
        name: "loky" for processes, "threading", "dask" or "ray".
        workers: how many, if it starts them.
        address: of a running cluster.
    """
    check_integer("workers", workers, minimum=1)
    if name == "dask":
        return _dask(workers, address)
    if name == "ray":
        return _ray(workers, address)
    if address is not None:
        raise ValueError(f"address is {address}, but the backend {name} takes none")
    return _joblib(name, workers)


@contextlib.contextmanager
def _joblib(name: str, workers: int) -> Iterator[Apply]:
    options = {}
    if name == "loky":
        options = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
    parallel = joblib.Parallel(workers, backend=name, return_as="generator_unordered", **options)

    def apply(do: Callable[[Item], Outcome], items: list[Item]) -> Generator[Outcome, None, None]:
        outcomes = parallel(joblib.delayed(do)(item) for item in items)
        try:
            for outcome in outcomes:  # noqa: UP028  # it is closed below, without a warning
                yield outcome
        finally:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning, "joblib")
                outcomes.close()

    yield apply


@contextlib.contextmanager
def _dask(workers: int, address: str | None) -> Iterator[Apply]:
    distributed = importlib.import_module("distributed")
    options = {}
    if address is None:
        options = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": None,
            "silence_logs": logging.CRITICAL,
            "preload": [IGNORE_INTERRUPTS],
        }
    with _silence_logs(), distributed.Client(address, **options) as client:

        def apply(
            do: Callable[[Item], Outcome], items: list[Item]
        ) -> Generator[Outcome, None, None]:
            waiting = iter(items)
            first = itertools.islice(waiting, IN_FLIGHT)
            futures = client.map(do, list(first), pure=False)
            running = distributed.as_completed(futures, with_results=True)

            def outcomes() -> Iterator[Outcome]:
                for _, outcome in running:
                    for item in itertools.islice(waiting, 1):
                        running.add(client.submit(do, item, pure=False))
                    yield outcome

            return _check_outcomes("Dask", outcomes())

        yield apply


@contextlib.contextmanager
def _ray(workers: int, address: str | None) -> Iterator[Apply]:
    ray = importlib.import_module("ray.util.multiprocessing")
    processes = workers if address is None else None
    with ray.Pool(processes, ray_address=address or "local") as pool:

        def apply(
            do: Callable[[Item], Outcome], items: list[Item]
        ) -> Generator[Outcome, None, None]:
            return _check_outcomes("Ray", pool.imap_unordered(do, items))

        yield apply


@contextlib.contextmanager
def _silence_logs() -> Iterator[None]:
    """Silences the tracebacks that a client logs where its cluster dies."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _check_outcomes(cluster: str, outcomes: Iterable[Outcome]) -> Generator[Outcome, None, None]:
    """Yields outcomes. A cluster whose processes die may yield an error instead."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            name = type(outcome).__name__
            raise ClusterError(f"{cluster} has lost workers or its scheduler ({name})")
        yield outcome
