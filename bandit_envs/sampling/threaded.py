"""Large draws on several threads."""

from __future__ import annotations

import functools
import math
import os
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Rng
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.sampling.context_sampler import ContextSampler, RowFunction

MIN_NUMBERS = 100_000
BLOCK = 1 << 16  # numbers: many beside the cost of a generator, few beside a processor's cache


class Threaded(ContextSampler):
    """Draws the contexts of another sampler on several threads.

    A draw of fewer than 100,000 numbers is the sampler's own. A larger one is divided into blocks
    of rows, each with a generator seeded by the environment's. So results repeat, and do not depend
    on the number of threads; but they differ from the sampler's own.

    Args:
        sampler: any but a `RowFunction`. A `BatchFunction` is called on several threads at once.
        threads: how many to use; None for one on each processor.

    >>> from bandit_envs.sampling import Normal
    >>> normal = Threaded(Normal(50))
    >>> normal(np.random.default_rng(0), (100, 70)).shape
    (100, 70, 50)
    """

    def __init__(self, sampler: ContextSampler, threads: int | None = None) -> None:
        if not isinstance(sampler, ContextSampler) or isinstance(sampler, RowFunction):
            raise TypeError(f"sampler is {short_repr(sampler)}; expected one that draws from `rng`")
        super().__init__(sampler.spec.shape[0], sampler.spec.dtype)
        self._sampler = sampler
        found = os.cpu_count() or 1 if threads is None else threads
        self._threads = check_integer("threads", found, minimum=1)

    def __call__(self, rng: Rng, size: tuple[int, ...]) -> Array:
        return self.sample(rng, size)

    def sample(self, rng: Rng, size: tuple[int, ...], name: str = "sampler") -> Array:
        shape = (*size, self._dim)
        if math.prod(shape) < MIN_NUMBERS:
            return self._sampler.sample(rng, size, name)
        rows, *inner = size
        step = max(1, BLOCK // math.prod(shape[1:]))
        starts = range(0, rows, step)
        seeds = rng.integers(1 << 32, size=(len(starts), 4), dtype=np.uint32)
        contexts = np.empty(shape, self._spec.dtype)
        blocks = iter(list(zip(starts, seeds)))  # each thread takes the next that is left

        def fill() -> None:
            for start, seed in blocks:
                part = contexts[start : start + step]
                own = np.random.Generator(np.random.SFC64(seed))
                part[...] = self._sampler.sample(own, (len(part), *inner), name)

        threads = min(self._threads, len(starts))
        futures = [_pool(os.getpid(), threads).submit(fill) for _ in range(1, threads)]
        fill()
        for future in futures:
            future.result()
        return contexts


@functools.cache
def _pool(process: int, threads: int) -> Any:
    """Returns the threads of a process: a forked one has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - starts logging, too

    return ThreadPoolExecutor(max(1, threads - 1), "bandit_envs")
