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
"""The size of the smallest draw that is divided."""

NUMBERS_PER_BLOCK = 1 << 16
"""Many beside the cost of a generator, few beside a processor's cache."""


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
    >>> normal.sample(np.random.default_rng(0), (100, 70)).shape
    (100, 70, 50)
    """

    def __init__(self, sampler: ContextSampler, threads: int | None = None) -> None:
        if not isinstance(sampler, ContextSampler) or isinstance(sampler, RowFunction):
            raise TypeError(f"sampler is {short_repr(sampler)}; expected one that draws from `rng`")
        super().__init__(sampler.spec.shape[0], sampler.spec.dtype)
        self._sampler = sampler
        self._is_checked = False  # as the sampler's own draws are
        if threads is None:
            threads = os.cpu_count() or 1
        self._threads = check_integer("threads", threads, minimum=1)

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        if math.prod(size) * self._dim < MIN_NUMBERS:
            return self._sampler.sample(rng, size)
        contexts = np.empty((*size, self._dim), self._spec.dtype)
        rows_per_block = max(1, NUMBERS_PER_BLOCK // math.prod(contexts.shape[1:]))
        starts = range(0, len(contexts), rows_per_block)
        seeds = rng.integers(1 << 32, size=(len(starts), 4), dtype=np.uint32)
        blocks = iter(list(zip(starts, seeds)))

        def fill_blocks() -> None:
            for start, seed in blocks:  # each thread takes the next one that is left
                block = contexts[start : start + rows_per_block]
                generator = np.random.Generator(np.random.SFC64(seed))
                block[...] = self._sampler.sample(generator, block.shape[:-1])

        threads = min(self._threads, len(starts))
        futures = [_pool(os.getpid(), threads).submit(fill_blocks) for _ in range(1, threads)]
        fill_blocks()
        for future in futures:
            future.result()
        return contexts


@functools.cache
def _pool(process: int, threads: int) -> Any:
    """Returns the threads of a process: a forked one has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - starts logging, too

    return ThreadPoolExecutor(max(1, threads - 1), "bandit_envs")
