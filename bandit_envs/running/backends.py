"""The workers that a user names: of this machine, or of a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.running.apply import Apply
from bandit_envs.running.dask_cluster import dask_workers
from bandit_envs.running.ray_cluster import ray_workers

CLUSTERS = ("dask", "ray")
"""The backends that may join a running cluster."""

BACKENDS = ("loky", "threading", *CLUSTERS)


def start_workers(backend: str, workers: int, address: str | None) -> AbstractContextManager[Apply]:
    """Starts workers, which ignore Ctrl-C, or joins a cluster. Yields an `Apply` that uses them.

    Args:
        backend: "loky" for processes, "threading", "dask" or "ray".
        workers: how many, if it starts them.
        address: of a running cluster.
    """
    check_backend(backend, workers, address)
    if backend == "dask":
        return dask_workers(workers, address)
    if backend == "ray":
        return ray_workers(workers, address)
    # It needs processes, which some platforms have not.
    from bandit_envs.running.processes import joblib_workers  # noqa: PLC0415

    return joblib_workers(backend, workers)


def check_backend(name: str, workers: int, address: str | None) -> None:
    """Raises TypeError or ValueError if `start_workers` would not take its arguments.

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
