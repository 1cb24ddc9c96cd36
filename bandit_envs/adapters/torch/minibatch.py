"""Rows that networks learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array


class Minibatch(NamedTuple):
    """What one step of the optimizer learns from.

    Fields:
        inputs: [n, D].
        output: [n], which of the network's outputs each reward is of.
        reward: [n].
        weight: [n, Q], of each row for each of Q networks.
    """

    inputs: Array
    output: Array
    reward: Array
    weight: Array

    @classmethod
    def empty(cls, size: int, num_inputs: int, num_networks: int) -> Minibatch:
        """Returns `size` rows of zeros."""
        return cls(
            inputs=np.zeros((size, num_inputs), np.float32),
            output=np.zeros(size, np.int32),
            reward=np.zeros(size, np.float32),
            weight=np.zeros((size, num_networks), np.float32),
        )
