"""Kernels: how much a logged action counts, by its distance from the policy's action.

Experimental: these names may change in any minor version.

A kernel takes distances in bandwidths, and integrates to 1. `KernelIPS` and `KernelDR` take one of
these, or a function of your own.
"""

import math

import numpy as np

from bandit_envs.arrays import Floats

__all__ = [
    "cosine",
    "gaussian",
    "triangular",
]


def gaussian(distance: Floats) -> Floats:
    """Returns `exp(-u^2 / 2) / sqrt(2 pi)`."""
    return np.asarray(np.exp(-0.5 * distance**2) / math.sqrt(2.0 * math.pi))


def epanechnikov(distance: Floats) -> Floats:
    """Returns `0.75 (1 - u^2)` for `|u|` up to 1, and 0 beyond."""
    return np.asarray(0.75 * np.maximum(1.0 - distance**2, 0.0))


def triangular(distance: Floats) -> Floats:
    """Returns `1 - |u|` for `|u|` up to 1, and 0 beyond."""
    return np.maximum(1.0 - np.abs(distance), 0.0)


def cosine(distance: Floats) -> Floats:
    """Returns `(pi / 4) cos(pi u / 2)` for `|u|` up to 1, and 0 beyond."""
    is_near = np.abs(distance) <= 1.0
    return np.where(is_near, 0.25 * math.pi * np.cos(0.5 * math.pi * distance), 0.0)
