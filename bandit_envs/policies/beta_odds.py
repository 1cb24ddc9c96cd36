"""Draws from Beta laws in few passes over arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.policies.policy import Floats, Rng


def draw_beta_odds(rng: Rng, a: Floats, b: Floats) -> Floats:
    """Returns X / (1 - X) for X ~ Beta(a, b); `a` and `b` are arrays of one shape, at least 0.1.

    Source: Cheng, Generating Beta variates with nonintegral shape parameters (1978), algorithm BA.
    """
    odds, rejected = _proposals(rng, a, b)
    if rejected.size:  # about one in eight; of these, Beta laws from NumPy's own gamma laws
        a, b = a.reshape(-1)[rejected], b.reshape(-1)[rejected]
        odds.reshape(-1)[rejected] = rng.standard_gamma(a) / rng.standard_gamma(b)
    return odds


def _proposals(rng: Rng, a: Floats, b: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Returns proposals from log-logistic laws, and the flat indices of those that are rejected."""
    total, smaller = a + b, np.minimum(a, b)
    product = 2.0 * a * b - total
    squared = np.where(smaller > 1.0, (total - 2.0) / np.maximum(product, 1e-300), smaller**-2.0)
    scale = np.sqrt(squared)
    uniform, other = rng.random((2, *a.shape))
    log_odds = np.log(uniform / (1.0 - uniform)) * scale
    odds: NDArray[Any] = a * np.exp(log_odds)
    ratio = total * np.log(total / (b + odds)) + (a + 1.0 / scale) * log_odds - math.log(4.0)
    rejected = np.flatnonzero(ratio < np.log(uniform * uniform * other))
    odds /= b
    return odds, rejected
