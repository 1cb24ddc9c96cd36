"""Applies functions to items in processes or threads of this machine, or on a cluster."""

import contextlib
import itertools
import logging
import os
import re
import signal
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.extras import import_extra

CLUSTERS = ("dask", "ray")
"""The backends that may join a running cluster."""

BACKENDS = ("loky", "threading", *CLUSTERS)

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"

IN_FLIGHT = 3
"""A cluster has at most this many items per worker at once, which keeps its scheduler small."""

SECONDS_OF_ITEM = 10.0
"""How long a worker should have to do for an item that is sent to it."""

SECONDS_BETWEEN_COUNTS = 5.0
"""Seconds between two counts of a cluster's workers; Ray's head is asked at least so often."""

SECONDS_BETWEEN_LOOKS = 1.0
"""A process of this machine looks so often whether the one that started it is still there."""

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


def backend(name: str, workers: int, address: str | None) -> AbstractContextManager[Apply]:
    """Starts workers, which ignore Ctrl-C, or joins a cluster. Yields an `Apply` that uses them.

    Args:
        name: "loky" for processes, "threading", "dask" or "ray".
        workers: how many, if it starts them.
        address: of a running cluster.
    """
    check_backend(name, workers, address)
    if name == "dask":
        return _dask(workers, address)
    if name == "ray":
        return _ray(workers, address)
    return _joblib(name, workers)


def check_backend(name: str, workers: int, address: str | None) -> None:
    """Raises TypeError or ValueError if `backend` would not take its arguments.

    Args:
        name: of the backend.
        workers: how many, if it starts them.
        address: of a running cluster.
    """
    if name not in BACKENDS:
        expected = f"{', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}"
        raise ValueError(f"backend is {short_repr(name)}; expected {expected}")
    check_integer("workers", workers, minimum=1)
    if address is not None and name not in CLUSTERS:
        raise ValueError(f"address is {address}, but the backend {name} takes none")


class _Joblib:
    """Applies functions in processes or threads of this machine."""

    def __init__(self, name: str, workers: int) -> None:
        self._workers = workers
        self._is_loky = name == "loky"
        self._has_processes = False
        options: dict[str, Any] = {}
        # Nothing stops a thread within an item, and Python should not end while one runs.
        self.seconds_of_item = 0.0
        if self._is_loky:
            self.seconds_of_item = SECONDS_OF_ITEM
            # Arguments of its own keep loky from giving a run the workers of the last one, which
            # have imported modules of users that may have changed.
            arguments = (os.getpid(), uuid.uuid4().hex)
            options = {"initializer": _start_worker, "initargs": arguments}
        joblib = import_extra("joblib", "cli")
        self._delayed = joblib.delayed
        self._parallel = joblib.Parallel(
            workers, backend=name, return_as="generator_unordered", batch_size=1, **options
        )

    def __call__(
        self, do: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        self._has_processes = self._is_loky
        outcomes = self._parallel(self._delayed(do)(item) for item in items)
        try:
            for outcome in outcomes:  # noqa: UP028  # it is closed below, without a warning
                yield outcome
        except BrokenProcessPool as error:
            codes = re.search(r"\{(.*?)\}", str(error))
            how = f" ({_join_once(codes[1])})" if codes else ""
            text = f"a worker process has died{how}, as it does if there is too little memory"
            raise ClusterError(text) from error
        finally:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning, "joblib")
                outcomes.close()

    def count_workers(self) -> int:
        return self._workers

    def stop(self) -> None:
        """Ends its processes, which loky would keep, and complain of if Ctrl-C ends Python."""
        if self._has_processes:
            loky = import_extra("joblib.externals.loky", "cli")
            loky.get_reusable_executor(reuse=True).shutdown(wait=True)


def _start_worker(parent: int, run: str) -> None:
    """Lets a process ignore Ctrl-C, and end where the one that started it was killed.

    Args:
        parent: the number of the process that started it.
        run: tells the workers of a run from those of others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this process once its parent has ended, so that another process is its parent.

    Windows never tells: there, loky's idle workers end after five minutes.
    """
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def _join_once(names: str) -> str:
    """Returns a list of names with commas, each once."""
    return ", ".join(dict.fromkeys(names.split(", ")))


@contextlib.contextmanager
def _joblib(name: str, workers: int) -> Iterator[Apply]:
    apply = _Joblib(name, workers)
    try:
        yield apply
    finally:
        apply.stop()


class _Dask:
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
def _dask(workers: int, address: str | None) -> Iterator[Apply]:
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
        with _name_in_errors("Dask"):
            client = distributed.Client(address, **options)
        with client:
            yield _Dask(client)


def _call(do: Callable[[Item], Result], item: Item) -> Result:
    """Returns what a function returns for an item."""
    return do(item)


class _Ray:
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
def _ray(workers: int, address: str | None) -> Iterator[Apply]:
    ray = import_extra("ray", "ray")
    options: dict[str, Any] = {"address": address or "local", "log_to_driver": False}
    if address is None:
        options["num_cpus"] = workers
    with _name_in_errors("Ray"):
        ray.init(logging_level=logging.CRITICAL, **options)
    engine = _Ray(ray)
    try:
        yield engine
    finally:
        if engine.has_head():  # without it, this would wait
            ray.shutdown()


@contextlib.contextmanager
def _name_in_errors(name: str) -> Iterator[None]:
    """Turns what is raised where a cluster does not start into a `ClusterError` that names it."""
    try:
        yield
    except (ImportError, OSError):  # which say themselves what is missing, or does not answer
        raise
    except Exception as error:  # libraries of clusters raise any
        raise ClusterError(f"{name} has not started: {error}") from error


@contextlib.contextmanager
def _silence_logs() -> Iterator[None]:
    """Silences the tracebacks that a client logs where its cluster dies."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
