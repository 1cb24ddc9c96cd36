"""The Poisson bootstrap: how often a row counts in a resample depends on its number alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.seeding import Seed, generator

DRAWS = 16  # of 16 bits, in one step of Philox' counter
ENTRIES = 2**20  # of a table of counts, which is made at a time


class PoissonBootstrap:
    """Sums over resamples of a log, in which each row counts as often as a Poisson(1) draw says.

    The draws of a row follow from its number and the seed, so resamples do not depend on how a
    log is split into parts.

    Args:
        resamples: at least 2.
        seed: of the draws.

    Source: Chamandy et al., Estimating uncertainty for massive data streams (2012); Salmon et al.,
    Parallel random numbers: as easy as 1, 2, 3 (2011), for Philox.

    >>> bootstrap = PoissonBootstrap(resamples=100, seed=0)
    >>> bootstrap.add(np.ones((1, 500)))
    >>> bootstrap.means().shape, float(bootstrap.means().std())
    ((1, 100), 0.0)
    """

    def __init__(self, resamples: int, seed: Seed = 0) -> None:
        self._resamples = check_integer("resamples", resamples, minimum=2)
        self._key = generator(seed).integers(2**63, size=2, dtype=np.uint64)
        self._rows = 0
        self._counts = np.zeros(resamples)
        self._sums: Floats | float = 0.0

    def add(self, columns: Floats, sizes: Floats | None = None) -> None:
        """Adds the next rows of a log, or the sums of groups of rows, which count alike.

        Args:
            columns: [c, n].
            sizes: [n], of the groups; None for rows.
        """
        step = max(1, ENTRIES // self._resamples)
        for start in range(0, columns.shape[1], step):
            part = columns[:, start : start + step]
            counts = self._draw(self._rows, part.shape[1]).astype(np.float64)
            self._rows += part.shape[1]
            if sizes is None:
                self._counts += counts.sum(axis=0)
            else:
                self._counts += sizes[start : start + step] @ counts
            self._sums = self._sums + part @ counts

    def means(self) -> Floats:
        """Returns the mean of every column in every resample: [c, resamples]."""
        return np.asarray(self._sums / np.maximum(self._counts, 1.0))

    def _draw(self, first_row: int, size: int) -> NDArray[np.uint8]:
        """Returns how often rows count in every resample: [size, resamples]."""
        steps = math.ceil(self._resamples / DRAWS)
        philox = np.random.Philox(key=self._key, counter=first_row * steps)
        bits = philox.random_raw(size * steps * DRAWS // 4).astype("<u8", copy=False)
        draws = POISSON.take(bits.view("<u2")).reshape(size, steps * DRAWS)
        return np.asarray(draws[:, : self._resamples])


def _quantiles() -> NDArray[np.uint8]:
    """Returns the quantiles of the Poisson distribution with mean 1, for draws of 16 bits."""
    mass = [math.exp(-1.0) / math.factorial(count) for count in range(12)]
    shares = (np.arange(2**16) + 0.5) / 2**16
    return np.searchsorted(np.cumsum(mass), shares).astype(np.uint8)


POISSON = _quantiles()
