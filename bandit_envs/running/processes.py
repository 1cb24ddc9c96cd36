"""Workers that are processes or threads of this machine, by joblib."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from bandit_envs.base.extras import import_extra
from bandit_envs.running.apply import SECONDS_OF_ITEM, Apply, ClusterError, Item, Result

SECONDS_BETWEEN_LOOKS = 1.0
"""A process of this machine looks so often whether the one that started it is still there."""


class JoblibWorkers:
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
def joblib_workers(name: str, workers: int) -> Iterator[Apply]:
    """Yields workers that are processes, or threads, of this machine."""
    apply = JoblibWorkers(name, workers)
    try:
        yield apply
    finally:
        apply.stop()
