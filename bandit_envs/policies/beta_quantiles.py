"""Upper quantiles of Beta laws, on arrays."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.base.arrays import Floats


class Tails(typing.NamedTuple):
    """Where tails of Beta laws are known, in log odds Y = ln(X / (1 - X)); arrays of one shape."""

    at: Floats  # a number y
    ratio: Floats  # P(Y > y) / density of Y at y
    log: Floats  # -ln P(Y > y)


def upper_quantiles(level: float, a: Floats, b: Floats, near: Tails) -> tuple[Floats, Tails]:
    """Returns the log odds q with P(Y > q) = exp(-level), and tails of the laws close to q.

    The level is above 0, `a` and `b` [n] are at least 0.1, and `near` has tails of the laws, or of
    laws close to them.
    """
    found, rows, log_b = np.empty((4, len(a))), np.arange(len(a)), log_beta(a, b)
    middle = np.log(a / b)
    is_close = (near.ratio > 0.0) & (near.ratio < 1e3)
    y = np.where(is_close, np.maximum(_approached(level, a, b, near), middle), middle)
    while rows.size:
        tails = _tails_at(y, a, b, log_b)
        found[:, rows] = _extrapolated(level, a, b, tails), *tails
        rough = np.abs(level - tails.log) * np.maximum(5.0 * tails.ratio, 1.0) > 0.03
        rows, a, b, log_b = rows[rough], a[rough], b[rough], log_b[rough]
        y = _approached(level, a, b, Tails(*(column[rough] for column in tails)))
    return found[0], Tails(*found[1:])


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
    rest = 1.0 / (1.0 + np.exp(y))
    log_density = a * y + (a + b) * np.log(rest) - log_b
    low = rest * (a + b + 2.0) > b + 1.0
    if low.any():  # the other tail's fraction converges faster
        x = np.where(low, 1.0 - rest, rest)
        ratio = _tail_over_density(x, np.where(low, b, a), np.where(low, a, b))
        ratio = np.where(low, np.exp(-log_density) - ratio, ratio)
    else:
        ratio = _tail_over_density(rest, a, b)
    return Tails(y, ratio, -log_density - np.log(ratio))


def _tail_over_density(rest: Floats, a: Floats, b: Floats) -> Floats:
    """Returns P(Y > y) / density(y) of the log odds Y of X ~ Beta(a, b), where rest = 1 - x.

    Source: the continued fraction of the incomplete beta function, DLMF 8.17.22.
    """
    # The ratio is 1 / (b + n1 / (b + 1 + n2 / (b + 2 + ...))). Of its convergents, `now` has the
    # denominators and the numerators, and `before` those of one term less.
    now, before = np.ones((2, 2, len(a)))
    now[0], before[1] = b, 0.0
    factors = np.stack([b - 1.0, (a + b - 1.0) * rest, a * rest, b - 1.0, b])
    growth = np.multiply.outer([1.0, 0.0, 0.0, 2.0, 2.0], np.ones(len(a)))
    growth[1], growth[2] = rest, -rest
    left, right, even, odd_place, even_place = factors
    term, product, ratio = np.empty(len(a)), np.empty_like(now), np.zeros(len(a))
    change = np.ones(len(a))
    for m in range(1, 100_000):
        factors += growth
        np.multiply(left, right, out=term)  # (b + m - 1) (a + b + m - 1) rest
        before *= term
        np.multiply(now, odd_place, out=product)
        product -= before
        np.multiply(even, m, out=term)  # m (a - m) rest
        now *= term
        np.multiply(product, even_place, out=before)
        now += before
        before, product = product, before
        if m % 3 == 0:
            scale = 1.0 / now[0]
            now *= scale
            before *= scale
            last_change, last, ratio = change, ratio, now[1].copy()
            change = np.abs(ratio - last) / ratio
            # The changes fall as a geometric series does, or faster.
            if (change * change <= 1e-12 * np.maximum(last_change - change, 1e-13)).all():
                break
    return ratio


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
