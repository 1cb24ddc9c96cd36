"""Draws from Beta laws and their upper quantiles, in few passes over arrays."""

from __future__ import annotations

import functools
import typing

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Rng

BLOCK = 8192  # how many numbers are drawn at once: their arrays stay in the cache
LENGTH = 34.0  # an integral over a density ends where its logarithm has fallen by this
UNKNOWN = 1e200  # the ratio of a tail that is not known


class Tails(typing.NamedTuple):
    """Where tails of Beta laws are known, in log odds Y = ln(X / (1 - X)); arrays of one shape."""

    at: Floats  # a number y
    ratio: Floats  # P(Y > y) / density of Y at y
    log: Floats  # -ln P(Y > y)


def upper_quantiles(level: float, a: Floats, b: Floats, near: Tails) -> tuple[Floats, Tails]:
    """Returns the log odds q with P(Y > q) = exp(-level), and tails of the laws close to q.

    The level is at least ln 2, and `a` and `b` [n] are at least 0.1. `near` has tails of the laws,
    or the ratio `UNKNOWN`.
    """
    found, log_b = np.array(near), near.log + np.log(near.ratio) + _log_weight(near.at, a, b)
    unknown = np.flatnonzero(near.ratio == UNKNOWN)
    if unknown.size:
        log_b[unknown] = log_beta(a[unknown], b[unknown])
    while True:
        tails = Tails(*found)
        slope = a - (a + b) / (1.0 + np.exp(-tails.at))  # of the logarithm of the density
        error = np.abs(level - tails.log) * (np.abs(1.0 + slope * tails.ratio) + tails.ratio)
        rows = np.flatnonzero(error > 0.02)  # where a series of the fourth order is not exact
        if not rows.size:
            return _extrapolated(level, a, b, tails), tails
        p, q, tails = a[rows], b[rows], Tails(*found[:, rows])
        mode = np.log(p / q)
        y = np.where(tails.ratio < 1e3, _approached(level, p, q, tails), mode)
        y = np.maximum(y, mode - 1.0 / p)  # which is below the median
        found[:, rows] = _tails_at(y, p, q, log_b[rows])


def lower_bounds(level: float, a: Floats, b: Floats, tails: Tails) -> Floats:
    """Returns lower bounds of what `upper_quantiles` returns.

    The second derivative of -ln P(Y > y) is at least 0 and at most that of the density's, of which
    (a + b) / 4 is a bound.
    """
    bend, slope = 0.25 * (a + b), 1.0 / tails.ratio
    square = slope * slope + 2.0 * bend * (level - tails.log)
    lower = tails.at + (np.sqrt(np.maximum(square, 0.0)) - slope) / bend - 1e-9  # for rounding
    lower[square < 0.0] = -1e300  # above -inf, the bound of what is not available
    return np.asarray(lower)


def _approached(level: float, a: Floats, b: Floats, tails: Tails) -> Floats:
    """Returns log odds closer to the quantile, from where Newton's method comes back.

    In v = -ln(1 - x), the derivative of -ln P(V > v) is almost linear, and rises.
    """
    y, ratio, log = tails
    odds = np.exp(y)
    rest = 1.0 / (1.0 + odds)
    change, bend = level - log, (b + rest - (a + b) * rest) * ratio - 1.0
    root = np.sqrt(np.maximum(1.0 - 2.0 * change * bend, 0.0))
    v = np.log1p(odds)
    v = np.maximum(v + 2.0 * odds * rest * ratio * change / (1.0 + root), v / 9.0)
    y = v + np.log(-np.expm1(-v))
    return np.asarray(np.minimum(y, 600.0))  # whose exponential is finite


def _extrapolated(level: float, a: Floats, b: Floats, tails: Tails) -> Floats:
    """Returns the log odds where -ln P(Y > y) is `level`, by a series to the fourth order."""
    y, ratio, log = tails
    x = 1.0 / (1.0 + np.exp(-y))
    change, total = level - log, a + b
    slope = a - total * x  # of the logarithm of the density
    bend = total * x * (1.0 - x)
    first = -1.0 - slope * ratio  # derivatives of the ratio
    second = bend * ratio - slope * first
    third = bend * (1.0 - 2.0 * x) * ratio + 2.0 * bend * first - slope * second
    series = first * (4.0 * ratio * second + first * first) + ratio * ratio * third
    series = first * first + ratio * second + change / 4.0 * series
    series = 1.0 + change / 2.0 * (first + change / 3.0 * series)
    return y + ratio * change * series


def _tails_at(y: Floats, a: Floats, b: Floats, log_b: Floats) -> Tails:
    """Returns the tails of the log odds of Beta(a, b) at y, where log_b is ln B(a, b)."""
    ratio = _tail_over_density(y, a, b)
    return Tails(y, ratio, log_b - _log_weight(y, a, b) - np.log(ratio))


def _log_weight(y: Floats, a: Floats, b: Floats) -> Floats:
    """Returns the logarithm of the density of the log odds at y, times B(a, b)."""
    return -a * np.log1p(np.exp(-y)) - b * np.log1p(np.exp(y))


@functools.cache
def _quadrature() -> Floats:
    """Returns the places and the weights of Gauss-Legendre quadrature on [0, 1]: [2, n]."""
    return 0.5 * np.array(np.polynomial.legendre.leggauss(36)) + [[0.5], [0.0]]


def _tail_over_density(y: Floats, a: Floats, b: Floats) -> Floats:
    """Returns P(Y > y) / density(y) of the log odds Y of X ~ Beta(a, b), by quadrature."""
    x, rest, total = 1.0 / (1.0 + np.exp(-y)), 1.0 / (1.0 + np.exp(y)), a + b + 2.0
    # With b + 2 in the place of b, the density of y + z is a concave exponential, times a constant.
    # Newton's method comes from above to where it ends.
    fall, bend = np.maximum(total * x - a, 0.0), 2.0 * LENGTH * total * x * rest
    end = np.minimum(2.0 * LENGTH / (fall + np.sqrt(fall * fall + bend)), 600.0)
    for _ in range(2):
        odds = x * np.expm1(end)
        excess = a * end - total * np.log1p(odds) + LENGTH
        end -= excess / (a - total * (x + odds) / (1.0 + odds))
    places, weights = _quadrature()
    z = np.multiply.outer(places, end)
    density = np.expm1(z)
    density *= x
    np.log1p(density, out=density)
    density *= -total
    density += np.multiply(z, a, out=z)
    ratio = end * (weights @ np.exp(density, out=density))
    for below in (b + 1.0, b):
        ratio = (1.0 + (a + below) * rest * ratio) / below
    return np.asarray(ratio)


def log_beta(a: Floats, b: Floats) -> Floats:
    """Returns ln B(a, b), for positive `a` and `b`."""
    log_gammas = _log_gamma(np.stack([a, b, a + b]))
    return np.asarray(log_gammas[0] + log_gammas[1] - log_gammas[2])


def _log_gamma(z: Floats) -> Floats:
    pairs = z * (z + 7.0)
    product = pairs * (pairs + 6.0) * (pairs + 10.0) * (pairs + 12.0)  # z (z + 1) ... (z + 7)
    z = z + 8.0  # Stirling's series, where it is exact to 1e-13
    i = 1.0 / (z * z)
    series = (1 / 12 - i * (1 / 360 - i * (1 / 1260 - i * (1 / 1680 - i / 1188)))) / z
    log_gamma: Floats = (z - 0.5) * np.log(z) - z + 0.5 * np.log(2.0 * np.pi) + series
    return log_gamma - np.log(product)


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
