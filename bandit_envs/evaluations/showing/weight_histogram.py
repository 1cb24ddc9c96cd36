"""How weights are distributed, as counts that merge."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats

EDGES = np.logspace(-20.0, 41.0, 611)
"""The edges of the bins: ten for each power of ten. Smaller weights are in the first bin."""


@dataclasses.dataclass(frozen=True)
class WeightHistogram:
    """How many weights are in each bin.

    Args:
        counts: [610], of the weights above 0, in bins with the edges `EDGES`.
        zeros: how many weights are 0.
        largest: weight.
    """

    counts: NDArray[np.int64]
    zeros: int
    largest: float

    @classmethod
    def from_weights(cls, weights: Floats) -> WeightHistogram:
        """Returns the counts of weights [n]."""
        positive = weights[weights > 0.0]
        counts, _ = np.histogram(np.clip(positive, EDGES[0], EDGES[-1]), EDGES)
        zeros = len(weights) - len(positive)
        return cls(counts, zeros, float(weights.max(initial=0.0)))

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(self.counts.sum()) + self.zeros

    def merge(self, other: WeightHistogram) -> WeightHistogram:
        """Returns the counts of the weights of both."""
        counts = self.counts + other.counts
        return WeightHistogram(counts, self.zeros + other.zeros, max(self.largest, other.largest))
