"""How many steps it takes to find the best action, and in which proportions to choose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Indices, check_array
from bandit_envs.base.checks import check_number, check_numbers, short_repr
from bandit_envs.policies.best_arm.near_ties import time_with_tolerance
from bandit_envs.policies.best_arm.reward_laws import RewardLaw, law_of
from bandit_envs.policies.draws import row_sums

MAX_ITERATIONS = 60
"""More than any known means take: about 6 from the start that is used."""

LARGEST_CHANGE = 2.0
"""Of the logarithm of a proportion, in one iteration."""

ROUNDINGS = 64
"""The smallest gap of large means, in roundings of the best: less could vanish beside it."""

FEW_ITERATIONS = 3
"""From the last proportions; if they are not enough, it starts anew."""

LARGEST_RATIO = 3.0
"""Of another action's proportion to that of the best. At the optimum, it is at most about 1.7."""


class CharacteristicTime(NamedTuple):
    """The complexity of problems, and the proportions that reach it.

    `time` [B] is T*: any rule that errs with a probability of at most delta takes at least
    T* kl(delta, 1 - delta) steps on average, about T* log(1 / delta). `proportions` [B, K] is w*:
    how often the best rule chooses each action, as shares. Those of a single problem have no
    dimension B.

    >>> characteristic_time([1.0, 0.5], reward_std=1.0).proportions
    array([0.5, 0.5])
    """

    time: Floats
    proportions: Floats


def characteristic_time(
    means: ArrayLike, reward_std: float | None = None, tolerance: float = 0.0
) -> CharacteristicTime:
    """Returns how hard it is to find the best of several actions, and how to choose for it.

        1 / T* = max_w min_b  w_a kl(mean_a, m) + w_b kl(mean_b, m)
        m = (w_a mean_a + w_b mean_b) / (w_a + w_b)

    Here, a is the best action, b any other, and w are proportions, which sum to 1. The divergence
    kl is that of Bernoulli laws, or of normal ones.

    Args:
        means: [K], or [B, K] for a problem a row, K at least 2; without `reward_std` above 0 and
            below 1. If two actions are the best, T* is infinite, and each gets a half.
        reward_std: the standard deviation of normal rewards; None for rewards of 1 or 0.
        tolerance: by how much the answer may be worse than the best action. T* is smaller then, and
            finite if several actions are the best.

    Source: Garivier & Kaufmann, Optimal Best Arm Identification with Fixed Confidence (2016),
    theorem 5. It is solved by Newton's method for all rows at once.

    >>> found = characteristic_time([0.5, 0.45, 0.43, 0.4])
    >>> round(float(found.time), 2), found.proportions.round(4)
    (989.79, array([0.4165, 0.3903, 0.1362, 0.057 ]))
    """
    table = np.atleast_2d(check_numbers("means", means, np.ndim(means))).astype(np.float64)
    law = law_of(reward_std)
    check_array("means have", table, table.shape)
    if table.ndim != 2 or table.shape[1] < 2:
        expected = "expected [K] or [B, K], K at least 2"
        raise ValueError(f"means have shape {np.shape(means)}; {expected}")
    low, high = law.reward_range
    if not ((table > low) & (table < high)).all():
        expected = f"expected numbers above {low} and below {high}"
        raise ValueError(f"means are {short_repr(means)}; {expected}")
    if check_number("tolerance", tolerance, 0.0, 0.999 if reward_std is None else np.inf) > 0.0:
        found = [time_with_tolerance(row, reward_std, tolerance) for row in table]
        time = np.array([each for each, _ in found])
        weights = np.array([each for _, each in found])
        return _of_shape(means, time, weights)
    leaders = table.argmax(axis=1)
    weights, time = optimal_weights(law, table, leaders, tolerance=1e-10)
    ties = np.count_nonzero(table == table.max(axis=1, keepdims=True), axis=1) > 1
    for row in np.flatnonzero(ties):
        is_best = table[row] == table[row].max()
        weights[row] = is_best / np.count_nonzero(is_best)
        time[row] = np.inf
    return _of_shape(means, time, weights)


def _of_shape(means: ArrayLike, time: Floats, weights: Floats) -> CharacteristicTime:
    """Returns what was found; that of a single problem has no dimension B."""
    if np.ndim(means) == 1:
        return CharacteristicTime(time[0], weights[0])
    return CharacteristicTime(time, weights)


def optimal_weights(
    law: RewardLaw,
    means: Floats,
    leaders: Indices,
    tolerance: float,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Returns the optimal proportions [n, K] and T* [n] of problems, a row each.

    Let x_b be the proportion of action b as a share of that of the best one, and m_b the mean of
    both. The optimum has one number y and

        kl(mean_a, m_b) + x_b kl(mean_b, m_b) = y    for each b
        sum_b kl(mean_a, m_b) / kl(mean_b, m_b) = 1

    Newton's method solves these in y and the logarithms of x.

    Args:
        law: of the rewards.
        means: [n, K].
        leaders: the best action of each row, [n]. It is taken as better by a smallest gap.
        tolerance: the last change of these logarithms.
        start: proportions to start from, [n, K]; rows with a 0 start elsewhere.
    """
    rows = np.arange(len(means))
    low, high = law.reward_range
    best = np.clip(means[rows, leaders], low + law.margin, high - law.margin)[:, np.newaxis]
    others = _best_first(means, leaders)[:, 1:]
    gap = np.maximum(law.smallest_gap, ROUNDINGS * np.spacing(np.abs(best)))
    others = np.minimum(others, best - gap)
    others = np.maximum(others, low + law.margin / 2.0)
    ratios = np.full_like(others, np.inf)
    if start is not None:
        given = _best_first(start, leaders)
        np.divide(
            given[:, 1:], given[:, :1], out=ratios, where=given.min(axis=1, keepdims=True) > 0.0
        )
    # Where the best action has changed, the last proportions are not a good start.
    is_near = ratios.max(axis=1) <= LARGEST_RATIO
    state = _Iterates(law, best, others, ratios, np.empty(len(means)))
    is_near[state.improve(np.flatnonzero(is_near), tolerance, FEW_ITERATIONS)] = False
    far = np.flatnonzero(~is_near)
    if far.size:
        state.start(far)
        state.improve(far, tolerance, MAX_ITERATIONS)
    values = state.values
    total = 1.0 + ratios.sum(axis=1)
    found = np.empty_like(means)
    found[:, 0] = 1.0
    found[:, 1:] = ratios
    found /= total[:, np.newaxis]
    return _best_first(found, leaders), total / values


def _best_first(table: Floats, leaders: Indices) -> Floats:
    """Returns a table [n, K] in which the best action of each row has changed places with action 0.

    So a second call undoes the first.
    """
    rows = np.arange(len(table))
    changed = table.copy()
    changed[:, 0] = table[rows, leaders]
    changed[rows, leaders] = table[:, 0]
    return changed


def _first_ratios(law: RewardLaw, best: Floats, others: Floats) -> Floats:
    """Returns the ratios x [n, K - 1] of normal laws with the divergences of these.

    There, x_b = y / (1 - y) if the divergence is the smallest, and the squares of x sum to 1.
    Newton's method descends to y, as this sum is convex in it.

    Args:
        law: of the rewards.
        best: the means of the best actions, [n, 1].
        others: those of all others, [n, K - 1].
    """
    divergence = law.divergence(best, others)
    scaled = divergence / divergence.min(axis=1, keepdims=True)
    y = np.full_like(best, 0.5)
    for _ in range(5):
        ratios = y / (scaled - y)
        excess = (ratios**2).sum(axis=1, keepdims=True) - 1.0
        slope = 2.0 * (ratios * scaled / (scaled - y) ** 2).sum(axis=1, keepdims=True)
        y = y - excess / slope
    return np.asarray(y / (scaled - y))


class _Iterates(NamedTuple):
    """What Newton's method works on; `ratios` and `values` are updated in place."""

    law: RewardLaw
    best: Floats  # the means of the best actions, [n, 1]
    others: Floats  # those of all others, [n, K - 1]
    ratios: Floats  # x, [n, K - 1]
    values: Floats  # y, [n]

    def start(self, rows: Indices) -> None:
        """Sets the ratios of some rows to first guesses."""
        self.ratios[rows] = _first_ratios(self.law, self.best[rows], self.others[rows])

    def improve(self, rows: Indices, tolerance: float, iterations: int) -> Indices:
        """Improves some rows until they are optimal, and returns those that are not yet."""
        for _ in range(iterations):
            if rows.size == 0:
                break
            x = self.ratios.take(rows, axis=0)
            best = self.best.take(rows, axis=0)
            others = self.others.take(rows, axis=0)
            changes, self.values[rows] = _newton_step(self.law, best, others, x)
            self.ratios[rows] = np.minimum(x * np.exp(changes), LARGEST_RATIO)
            rows = rows[(np.abs(changes) > tolerance).any(axis=1)]
        return rows


def _newton_step(law: RewardLaw, best: Floats, others: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Returns the changes of the logarithms of x [n, K - 1], and y [n] after them."""
    weight = 1.0 / (1.0 + x)  # of the best action, in the mean of both
    gap = best - others
    between = others + gap * weight
    of_best = law.divergence(best, between)
    of_other = law.divergence(others, between)
    value = of_best + x * of_other
    share = of_best / of_other
    # The derivative of a divergence by its second mean m is (m - p) / variance(m).
    slope = (gap * weight / of_other) ** 2 * weight * (x + share) / law.variance(between)
    total = row_sums(share - slope * value)
    y = (1.0 - total) / row_sums(slope)
    changes = (y[:, np.newaxis] - value) / (x * of_other)
    return np.clip(changes, -LARGEST_CHANGE, LARGEST_CHANGE), y
