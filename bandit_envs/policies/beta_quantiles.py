"""Upper quantiles of Beta laws, on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandit_envs.policies.policy import Floats

BLOCK = 4096
"""How many tails are computed at once: their arrays stay in the cache."""


def log_beta(a: Floats, b: Floats) -> Floats:
    """Returns ln B(a, b), for positive `a` and `b`."""
    return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)


def beta_quantiles(
    log_tail: float, a: Floats, b: Floats, log_b: Floats, start: Floats
) -> NDArray[np.float64]:
    """Returns the log odds y that X ~ Beta(a, b) exceeds with a probability, and -dy / d log_tail.

        P(ln(X / (1 - X)) > y) = exp(log_tail)

    Args:
        log_tail: below 0.
        a: [n], at least 0.1.
        b: [n], at least 0.1.
        log_b: ln B(a, b), [n].
        start: numbers near y, [n].

    Shapes:
        returns: [2, n]
    """
    found, rows, y = np.empty((2, len(a))), np.arange(len(a)), np.maximum(start, np.log(a / b))
    while rows.size:
        # The logarithm of the tail is concave in y, so Newton's method comes back from anywhere.
        # Halley's correction makes its last step precise.
        odds = np.exp(y)
        rest = 1.0 / (1.0 + odds)
        ratio = np.empty(len(y))
        for first in range(0, len(y), BLOCK):
            block = slice(first, first + BLOCK)
            ratio[block] = _tail_over_density(rest[block], a[block], b[block])
        log_density = a * y + (a + b) * np.log(rest) - log_b
        newton = ratio * (log_density + np.log(ratio) - log_tail)
        slope = a - (a + b) * odds * rest  # of the logarithm of the density
        bend = np.clip(0.5 * newton * (1.0 / ratio + slope), -0.5, 0.5)
        y = y + newton / (1.0 + bend)
        found[:, rows] = y, ratio
        rough = np.abs(newton) > 1e-3 * ratio
        rows, y, a, b, log_b = rows[rough], y[rough], a[rough], b[rough], log_b[rough]
    return found


def _tail_over_density(rest: Floats, a: Floats, b: Floats) -> Floats:
    """Returns P(Y > y) / density(y) of the log odds Y of X ~ Beta(a, b), where rest = 1 - x.

    Source: the continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified
    Lentz method.
    """
    total = a + b
    c = np.ones_like(rest)
    d = 1.0 / (1.0 - total * rest / (b + 1.0))
    ratio: Floats = d / b
    for m in range(1, 100_000):
        end = b + 2.0 * m
        scaled = rest / end
        part = (a - m) * m * scaled / (end - 1.0)
        d = 1.0 / (1.0 + part * d)
        c = 1.0 + part / c
        ratio *= c * d
        part = (b + m) * (total + m) * scaled / (end + 1.0)
        d = 1.0 / (1.0 - part * d)
        c = 1.0 - part / c
        change = c * d
        ratio *= change
        if m % 3 == 0 and np.abs(change - 1.0).max() < 1e-12:
            break
    return ratio


def _log_gamma(z: Floats) -> Floats:
    product = z.copy()
    for k in range(1, 8):
        product *= z + k
    z = z + 8.0  # Stirling's series, where it is exact to 1e-13
    i = 1.0 / (z * z)
    series = (1 / 12 - i * (1 / 360 - i * (1 / 1260 - i * (1 / 1680 - i / 1188)))) / z
    log_gamma: Floats = (z - 0.5) * np.log(z) - z + 0.5 * np.log(2.0 * np.pi) + series
    return log_gamma - np.log(product)
