"""Runs tasks, on this machine or on a cluster."""

import contextlib
import functools
import importlib
import logging
import platform
import signal
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import threadpoolctl

from bandit_envs.base.checks import check_integer
from bandit_envs.drivers import StepDriver
from bandit_envs.metrics import METRICS
from bandit_envs.studies.choice import printable
from bandit_envs.studies.results import VERSIONS, Result, TaskFiles
from bandit_envs.studies.study import Task

use_one_thread = functools.cache(lambda: threadpoolctl.threadpool_limits(1))


def run_task(task: Task) -> Result:
    """Makes the runs of a task. Seeds depend on its block alone: all policies meet one problem."""
    root = np.random.SeedSequence(task.seed, spawn_key=(task.block,))
    env_seed, policy_seed = root.spawn(2)
    env = task.environment.make(task.runs, env_seed)
    policy = task.policy.make(env, policy_seed)
    metrics = {name: METRICS[name](env) for name in task.metrics}
    StepDriver(env, policy, (policy, *metrics.values()), task.steps).run()
    results = {name: metric.result() for name, metric in metrics.items()}
    if task.environment.entry.independent_rows:
        return results
    return {name: result.as_one_value() for name, result in results.items()}


def try_task(files: TaskFiles, expected: dict[str, Any], task: Task) -> tuple[Task, str | None]:
    """Runs a task and writes its file; returns it with what went wrong, or None."""
    use_one_thread()  # results of linear algebra may depend on their number
    if expected != VERSIONS:
        return task, f"{platform.node()} has {VERSIONS}; expected {expected}"
    try:
        result = run_task(task)
    except Exception as error:  # users' classes raise any
        return task, printable(error, task.environment, task.policy)
    files.save(task, result)
    return task, None


@contextlib.contextmanager
def backend(name: str, workers: int, address: str | None) -> Iterator[Callable[..., Any]]:
    """Starts workers, which ignore Ctrl-C, or joins a cluster; gives what maps tasks on them."""
    check_integer("workers", workers, minimum=1)
    if name == "dask":
        distributed = importlib.import_module("distributed")
        done = functools.partial(distributed.as_completed, with_results=True)
        local: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1}
        local |= {"dashboard_address": None, "silence_logs": logging.CRITICAL}
        local |= {"preload": ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"]}
        with distributed.Client(address, **({} if address else local)) as client:
            yield lambda do, tasks: (out for _, out in done(client.map(do, tasks, pure=False)))
    elif name == "ray":
        ray = importlib.import_module("ray.util.multiprocessing")
        with ray.Pool(None if address else workers, ray_address=address) as pool:
            yield lambda do, tasks: (out for out in pool.imap_unordered(do, tasks))
    elif address is not None:
        raise ValueError(f"address is {address}, but the backend {name} takes none")
    else:
        ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        options = {"backend": name, **(ignore if name == "loky" else {})}
        parallel = joblib.Parallel(workers, return_as="generator_unordered", **options)
        yield lambda do, tasks: parallel(joblib.delayed(do)(task) for task in tasks)
