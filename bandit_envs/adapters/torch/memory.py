"""The memory of networks, which learn again and again from what was seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Rng


class Memory(NamedTuple):
    """The last M rows that were seen; its arrays are updated in place."""

    inputs: NDArray[np.float32]  # [M, D]
    output: NDArray[np.int32]  # [M], which of the outputs of a network the reward is of
    reward: NDArray[np.float32]  # [M]
    weight: NDArray[np.float32]  # [M, Q], of the row for each of Q networks
    seen: int  # rows so far, of which the memory holds the last

    @classmethod
    def empty(cls, size: int, num_inputs: int, num_networks: int) -> Memory:
        """Returns a memory of nothing for `size` rows."""
        return cls(
            inputs=np.zeros((size, num_inputs), np.float32),
            output=np.zeros(size, np.int32),
            reward=np.zeros(size, np.float32),
            weight=np.zeros((size, num_networks), np.float32),
            seen=0,
        )

    @property
    def size(self) -> int:
        """How many rows it holds."""
        return min(self.seen, len(self.reward))

    def add(self, inputs: Floats, output: Indices, reward: Array, weight: Array) -> Memory:
        """Returns the memory after n more rows, which take the places of the oldest."""
        size = len(self.reward)
        first = max(0, len(reward) - size)
        places = np.arange(self.seen + first, self.seen + len(reward)) % size
        self.inputs[places] = inputs[first:]
        self.output[places] = output[first:]
        self.reward[places] = reward[first:]
        self.weight[places] = weight[first:]
        return self._replace(seen=self.seen + len(reward))

    def draw(self, rng: Rng, size: int) -> Indices:
        """Returns the places of `size` rows, drawn with replacement: [size]."""
        return rng.integers(self.size, size=size)
