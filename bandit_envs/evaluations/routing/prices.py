"""Prices that are tried, and the one that spends a budget."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.rounding import spread_of

NUM_PRICES = 8
"""How many prices are tried if none are named."""

MARGIN = 4.0
"""How far they reach beyond the prices at which the best single model changes."""

CLOSE = 0.99
"""The search ends where at least this share of the budget is spent."""

MOST_STEPS = 12
"""The search takes at most so many steps."""


def choose_prices(scores: Floats, costs: Floats) -> list[float]:
    """Returns prices at which routers differ: 0, and others that grow by a factor.

    They reach from a quarter of the lowest price at which the best single model changes to four
    times the highest. If one model is the cheapest and the best, they are around the ratio of the
    standard deviations of scores and costs.

    Args:
        scores: [n, K], of the requests that routers learn from.
        costs: [n, K].
    """
    slopes = Frontier(scores, costs).slopes
    if not len(slopes):
        spread = float(spread_of(costs, axis=None))
        ratio = float(spread_of(scores, axis=None)) / spread if spread > 0.0 else 1.0
        slopes = np.array([ratio])
    low = slopes.min() / MARGIN
    high = slopes.max() * MARGIN
    if low <= 0.0:
        return [0.0]
    return [0.0, *np.geomspace(low, high, NUM_PRICES - 1).tolist()]


def find_price(
    cost_at: Callable[[float], float], tried: dict[float, float], budget: float
) -> float | None:
    """Returns the lowest price found at which at most a budget is spent; else None.

    Prices grow until one spends at most the budget. Then halving the interval between the highest
    price that spends more and the lowest one that does not ends where at least 99% is spent, or
    after 12 steps.

    Args:
        cost_at: returns the cost of a request, at a price.
        tried: these costs at the prices that were tried; those that are tried are added.
        budget: for a request.
    """

    def try_price(price: float) -> None:
        if price not in tried:
            tried[price] = cost_at(price)

    try_price(0.0)
    for _ in range(MOST_STEPS):
        if min(tried.values()) <= budget:
            break
        try_price(max(MARGIN * max(tried), 1.0))
    enough = [price for price, cost in tried.items() if cost <= budget]
    if not enough:
        return None
    for _ in range(MOST_STEPS):
        high = min(price for price, cost in tried.items() if cost <= budget)
        below = [price for price, cost in tried.items() if price < high]
        if not below or tried[high] >= CLOSE * budget:
            break
        low = max(below)
        middle = math.sqrt(low * high) if low > 0.0 else high / MARGIN
        if not low < middle < high:
            break
        try_price(middle)
    return min(price for price, cost in tried.items() if cost <= budget)
