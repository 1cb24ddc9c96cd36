"""Where tasks are done: the joblib backends that the command line can start."""

from __future__ import annotations

import contextlib
import importlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import joblib
from joblib._dask import DaskDistributedBackend

IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What Dask's workers run first, for a terminal sends Ctrl-C to every process."""


@contextlib.contextmanager
def backend(name: str, workers: int, address: str | None = None) -> Iterator[None]:
    """Makes a joblib backend the active one while the context lasts.

    Args:
        name: `loky` for processes, `threading` for threads, `dask` or `ray` for a cluster.
        workers: how many processes or threads. One, with `loky` or `threading`, is this process.
        address: of a running cluster, whose workers must reach the results folder; None to start
            one on this machine. For `dask` and `ray` only.

    Raises:
        ValueError: an address is given for a backend that has none.
        ModuleNotFoundError: the backend's package is not installed.
        OSError: nothing answers at the address.
    """
    if name == "dask":
        context = _dask(workers, address)
    elif name == "ray":
        context = _ray(workers, address)
    elif address is not None:
        raise ValueError(f"address is {address}; expected none, as {name} has no cluster")
    elif name == "loky":
        context = joblib.parallel_config("loky", n_jobs=workers, initializer=_ignore_interrupts)
    else:
        context = joblib.parallel_config(name, n_jobs=workers)
    with context:
        yield


def _ignore_interrupts() -> None:
    """What loky's workers run first: the process that they work for ends them itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _DaskBackend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
    """Joblib's, but a task that Dask gives up is an error, where joblib's would wait forever."""

    def submit(
        self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None
    ) -> Future[Any]:
        future: Future[Any] = super().submit(func, callback)

        def given_up(future: Future[Any]) -> None:
            if callback is not None and future.exception() is not None:
                callback(future)

        future.add_done_callback(given_up)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        return super().retrieve_result_callback(out.result() if isinstance(out, Future) else out)


@contextlib.contextmanager
def _dask(workers: int, address: str | None) -> Iterator[None]:
    distributed = importlib.import_module("distributed")
    if address is None:
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,  # what ends the run is said by the run
            preload=[IGNORE_INTERRUPTS],
        )
    else:
        cluster = contextlib.nullcontext(address)
    with (
        cluster as where,
        distributed.Client(where) as client,
        joblib.parallel_config(backend=_DaskBackend(client=client)),
    ):
        yield


@contextlib.contextmanager
def _ray(workers: int, address: str | None) -> Iterator[None]:
    ray = importlib.import_module("ray")
    if address is not None:
        _check_reachable(address)
    importlib.import_module("ray.util.joblib").register_ray()
    here = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    ray.init(address=address or "local", **quiet, **here)
    try:
        with joblib.parallel_config(backend="ray", n_jobs=workers if address is None else -1):
            yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raises OSError if nothing listens at HOST:PORT, for which Ray would wait many minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=10.0).close()
        except OSError as error:
            raise OSError(f"nothing answers at address {address}: {error}") from error
