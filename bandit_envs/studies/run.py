"""Runs tasks, on this machine or on a cluster."""

import contextlib
import functools
import importlib
import itertools
import logging
import platform
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import threadpoolctl

from bandit_envs.base.checks import check_integer
from bandit_envs.drivers import StepDriver
from bandit_envs.logged import BanditLog, LogRecorder, write_log
from bandit_envs.metrics import METRICS
from bandit_envs.policies.delayed import learner
from bandit_envs.specs import SlateSpec
from bandit_envs.studies.choice import printable
from bandit_envs.studies.results import VERSIONS, Result, Results, merge
from bandit_envs.studies.study import RUNS_PER_TASK, Task
from bandit_envs.wrappers.delays import max_delay_of

STEPS_AT_A_TIME = 500  # between two reports of progress
use_one_thread = functools.cache(lambda: threadpoolctl.threadpool_limits(1))


def run_task(task: Task, progress: Callable[[int], Any] = int) -> Result:
    """Makes the runs of a task, and calls `progress` with numbers of steps taken.

    Seeds depend on the block alone, or on the number of a run whose rows share a problem: all
    policies meet the same problems.
    """
    if task.environment.entry.independent_rows:
        return _run_batch(task, task.block, task.runs, progress)
    numbers = range(task.block, task.block + task.runs)
    batches = (_run_batch(task, number, 1, progress) for number in numbers)
    return merge({k: v.as_one_value() for k, v in batch.items()} for batch in batches)


def _run_batch(task: Task, number: int, runs: int, progress: Callable[[int], Any]) -> Result:
    env, policy = _made(task, number, runs)
    observer = learner(env, policy)
    metrics = {name: METRICS[name](env) for name in task.metrics}
    sums = []
    stops = {*range(0, task.steps, STEPS_AT_A_TIME), *task.kept, task.steps}
    for start, stop in itertools.pairwise(sorted(stops)):
        StepDriver(env, policy, (observer, *metrics.values()), stop - start).run()
        progress(stop - start)
        if stop in task.kept:
            sums.append(np.array([metric.totals for metric in metrics.values()], np.float32))
    results = [metric.result() for metric in metrics.values()]
    if task.kept:
        curves = np.stack(sums, axis=1)
        results = [result._replace(curves=curve) for result, curve in zip(results, curves)]
    return dict(zip(metrics, results))


def record(tasks: list[Task], path: Path) -> BanditLog:
    """Makes the log of a task's runs; ValueError without exact probabilities, before any step."""
    task = tasks[0]
    env, policy = _made(task, task.block, task.runs)
    if isinstance(env.action_spec(), SlateSpec) or max_delay_of(env.observation_spec()) > 0:
        raise ValueError(f"--record takes no slates or delayed rewards, as {task.environment} has")
    if len(tasks) > 1 or task.batches > 1:
        most = f"{RUNS_PER_TASK}, or 1 where rows share a problem"
        raise ValueError(f"--record takes one policy, and --runs of at most {most}")
    recorder = LogRecorder(env.num_actions, env if "regret" in task.metrics else None)
    try:
        observers = policy, recorder
        driver = StepDriver(env, policy, observers, task.steps, emit_log_probability=True)
    except NotImplementedError:
        text = f"policy {task.policy} does not know the probabilities of its actions"
        raise ValueError(f"{text}, which a log needs; expected another policy") from None
    driver.run()
    log = recorder.log()
    write_log(path, log)
    return log


def _made(task: Task, number: int, runs: int) -> tuple[Any, Any]:
    root = np.random.SeedSequence(task.seed, spawn_key=(number,))
    env_seed, policy_seed = root.spawn(2)
    env = task.environment.make(runs, env_seed)
    return env, task.policy.make(env, policy_seed)


def try_task(results: Results, task: Task) -> tuple[Task, str | None]:
    """Runs a task and writes its file; returns it with what went wrong, or None."""
    use_one_thread()  # results of linear algebra may depend on their number
    if not VERSIONS.items() <= results.versions.items():
        return task, f"{platform.node()} has {VERSIONS}; expected {results.versions}"
    try:
        result = run_task(task, results.report)
    except Exception as error:  # users' classes raise any
        return task, printable(error, task.environment, task.policy)
    results.save(task, result)
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
        with ray.Pool(None if address else workers, ray_address=address or "local") as pool:
            yield lambda do, tasks: (out for out in pool.imap_unordered(do, tasks))
    elif address is not None:
        raise ValueError(f"address is {address}, but the backend {name} takes none")
    else:
        ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        options = {"backend": name, **(ignore if name == "loky" else {})}
        parallel = joblib.Parallel(workers, return_as="generator_unordered", **options)
        yield lambda do, tasks: parallel(joblib.delayed(do)(task) for task in tasks)
