"""What does tasks: processes or threads of this machine, or a cluster."""

import contextlib
import importlib
import itertools
import logging
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import joblib

from bandit_envs.base.checks import check_integer
from bandit_envs.studies.study import Task

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"

IN_FLIGHT = 5000
"""At most so many tasks are on a Dask cluster at once, which keeps its scheduler small."""

Outcome = str | None
"""What went wrong in a task, or None."""


Outcomes = Generator[Outcome, None, None]
"""The outcomes of tasks, as they finish."""


class Apply(Protocol):
    """Does tasks."""

    def __call__(self, do: Callable[[Task], Outcome], tasks: list[Task]) -> Outcomes: ...


class ClusterError(ConnectionError):
    """Workers or the scheduler of a cluster are gone."""


def backend(name: str, workers: int, address: str | None) -> AbstractContextManager[Apply]:
    """Starts workers, which ignore Ctrl-C, or joins a cluster. Yields what does tasks on them.

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

    def apply(do: Callable[[Task], Outcome], tasks: list[Task]) -> Outcomes:
        outcomes: Outcomes = parallel(joblib.delayed(do)(task) for task in tasks)
        return outcomes

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

        def apply(do: Callable[[Task], Outcome], tasks: list[Task]) -> Outcomes:
            waiting = iter(tasks)
            first = itertools.islice(waiting, IN_FLIGHT)
            futures = client.map(do, list(first), pure=False)
            running = distributed.as_completed(futures, with_results=True)

            def outcomes() -> Iterator[object]:
                for _, outcome in running:
                    for task in itertools.islice(waiting, 1):
                        running.add(client.submit(do, task, pure=False))
                    yield outcome

            return _check_outcomes("Dask", outcomes())

        yield apply


@contextlib.contextmanager
def _ray(workers: int, address: str | None) -> Iterator[Apply]:
    ray = importlib.import_module("ray.util.multiprocessing")
    processes = workers if address is None else None
    with ray.Pool(processes, ray_address=address or "local") as pool:

        def apply(do: Callable[[Task], Outcome], tasks: list[Task]) -> Outcomes:
            return _check_outcomes("Ray", pool.imap_unordered(do, tasks))

        yield apply


@contextlib.contextmanager
def _silence_logs() -> Iterator[None]:
    """Silences the tracebacks that a client logs where its cluster dies."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _check_outcomes(cluster: str, outcomes: Iterable[object]) -> Outcomes:
    """Yields the outcomes of tasks. A cluster whose processes die may yield an error instead."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            name = type(outcome).__name__
            raise ClusterError(f"{cluster} has lost workers or its scheduler ({name})")
        yield outcome if outcome is None else str(outcome)
