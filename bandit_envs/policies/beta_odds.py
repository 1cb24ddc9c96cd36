"""Draws from Beta laws in few passes over arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import Floats, Rng

BLOCK = 8192
"""How many numbers are drawn at once: their arrays stay in the cache."""


def draw_beta_odds(rng: Rng, a: Floats, b: Floats) -> Floats:
    """Returns X / (1 - X) for X ~ Beta(a, b); `a` and `b` are arrays of one shape, at least 0.1.

    Source: Cheng, Generating Beta variates with nonintegral shape parameters (1978), algorithm BA.
    """
    result, a, b = np.empty(a.shape), a.reshape(-1), b.reshape(-1)
    flat, left = result.reshape(-1), []
    for start in range(0, a.size, BLOCK):
        block = slice(start, start + BLOCK)
        flat[block], rejected = _proposals(rng, a[block], b[block])
        left.append(rejected + start)
    again = np.concatenate(left)  # about one in eight
    flat[again], rejected = _proposals(rng, a[again], b[again])
    again = again[rejected]
    flat[again] = rng.standard_gamma(a[again]) / rng.standard_gamma(b[again])
    return result


def _proposals(rng: Rng, a: Floats, b: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Returns proposals from log-logistic laws, and the indices of those that are rejected.

    V = scale ln(U / (1 - U)),    odds = a exp(V) / b
    rejected where total ln(total / (b + a exp(V))) + (a + 1 / scale) V < ln(4 U^2 W)
    """
    total, work = a + b, 2.0 * a
    work *= b
    work -= total
    scale = np.maximum(total - 2.0, 1e-300)
    scale /= np.maximum(work, 1e-300, out=work)
    np.sqrt(scale, out=scale)
    low = np.flatnonzero(np.minimum(a, b, out=work) < 1.0)
    scale[low] = 1.0 / work[low]

    uniform = rng.random(len(a))
    np.divide(uniform, np.subtract(1.0, uniform, out=work), out=work)
    logit = np.log(work, out=work)
    scale *= logit  # V
    odds = np.exp(scale)
    odds *= a
    scale *= a
    scale += logit  # (a + 1 / scale) V
    ratio = np.divide(total, np.add(b, odds, out=work), out=work)
    np.log(ratio, out=ratio)
    ratio *= total
    ratio += scale
    uniform *= 4.0 * uniform
    uniform *= rng.random(len(a), out=scale)
    rejected = np.flatnonzero(ratio < np.log(uniform, out=uniform))
    odds /= b
    return odds, rejected
