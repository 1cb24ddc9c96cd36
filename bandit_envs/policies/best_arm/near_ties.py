"""How long it takes to find an action that is nearly the best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import Floats

ITERATIONS = 100
"""Of a search by intervals; each takes at least 38% off."""

TINY = 1e-12
"""By so much, means of Bernoulli laws stay away from 0 and 1."""

Ratio = Callable[[float], Floats]
"""Returns, for an evidence z, how often other actions are chosen as a share of the answer: [K-1]"""


def time_with_tolerance(
    means: Floats, reward_std: float | None, tolerance: float
) -> tuple[float, Floats]:
    """Returns T* and the proportions [K] of one problem, if the answer may be nearly the best.

        1 / T* = max_a max_w min_b inf_y  w_a kl(mean_a, y) + w_b kl(mean_b, y + tolerance)

    Here, a is an action at most `tolerance` worse than the best.

    Args:
        means: [K].
        reward_std: the standard deviation of normal rewards; None for rewards of 1 or 0.
        tolerance: above 0.

    Source: Garivier & Kaufmann, Nonasymptotic Sequential Tests for Overlapping Hypotheses Applied
    to Near-optimal Arm Identification in Bandit Models (2021).
    """
    best_value = 0.0
    best_weights = np.full(len(means), 1.0 / len(means))
    for answer in np.flatnonzero(means > means.max() - tolerance):
        others = np.delete(means, answer)
        if reward_std is None:
            ratios, largest = _bernoulli_ratios(float(means[answer]), others, tolerance)
        else:
            evidence = np.square((means[answer] - others + tolerance) / reward_std) / 2.0
            ratios, largest = _normal_ratios(evidence)
        z = _maximise(ratios, largest)
        found = ratios(z)
        total = 1.0 + found.sum()
        if z / total > best_value:
            best_value = z / total
            best_weights = np.insert(found, answer, 1.0) / total
    return 1.0 / best_value, best_weights


def _normal_ratios(evidence: Floats) -> tuple[Ratio, float]:
    """Returns the ratios x with x / (1 + x) evidence = z, and the largest z."""
    return lambda z: z / (evidence - z), float(evidence.min())


def _bernoulli_ratios(answer: float, others: Floats, tolerance: float) -> tuple[Ratio, float]:
    """Returns the ratios of Bernoulli laws, and the largest z.

    Where the infimum over y is, x follows from y, and z falls with y.
    """
    low = np.maximum(others - tolerance, 0.0) + TINY
    high = np.full(len(others), min(answer, 1.0 - tolerance) - TINY)

    def evaluate(y: Floats) -> tuple[Floats, Floats]:
        """Returns x and z."""
        moved = y + tolerance
        x = (answer - y) * moved * (1.0 - moved) / (y * (1.0 - y) * (moved - others))
        return x, _divergence(answer, y) + x * _divergence(others, moved)

    def ratios(z: float) -> Floats:
        left = low.copy()
        right = high.copy()
        for _ in range(60):
            middle = 0.5 * (left + right)
            is_above = evaluate(middle)[1] > z
            left = np.where(is_above, middle, left)
            right = np.where(is_above, right, middle)
        return evaluate(0.5 * (left + right))[0]

    return ratios, float(evaluate(low)[1].min())


def _divergence(p: Floats | float, q: Floats) -> Floats:
    """Returns the Kullback-Leibler divergence of Bernoulli laws."""
    return np.asarray(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))


def _maximise(ratios: Ratio, largest: float) -> float:
    """Returns the z at which z / (1 + sum x) is the largest, by golden sections."""

    def value(z: float) -> float:
        return z / (1.0 + float(ratios(z).sum()))

    section = (np.sqrt(5.0) - 1.0) / 2.0
    left = 0.0
    right = largest
    for _ in range(ITERATIONS):
        step = section * (right - left)
        if value(right - step) > value(left + step):
            right = left + step
        else:
            left = right - step
    return 0.5 * (left + right)
