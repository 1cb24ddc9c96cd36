"""The score of RouterArena: one number for what a router scores and what it costs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.base.checks import check_number, check_numbers
from bandit_envs.metrics import Statistics

CHEAPEST = 0.0044
"""Dollars of 1,000 requests, at and below which costs count as least."""

DEAREST = 200.0
"""Dollars of 1,000 requests, at and above which costs count as most."""

BETA = 0.1
"""The weight of costs, beside that of scores, which is 1."""

LOG_RANGE = math.log(DEAREST / CHEAPEST)


class ArenaScore(NamedTuple):
    """The score of RouterArena, from 0 to 1."""

    score: float  #: the score
    low: float  #: the lower end of its interval; NaN of one request
    high: float  #: the upper end


def arena_score(scores: ArrayLike, costs: ArrayLike, confidence: float = 0.95) -> ArenaScore:
    """Returns the score of RouterArena of a router, or of a single model, on n different requests.

    A is the mean score, and c the mean cost of 1,000 requests in dollars, at least 0.0044 and at
    most 200. With C = log(200 / c) / log(200 / 0.0044), the score is S = 1.1 A C / (0.1 A + C): a
    weighted harmonic mean of A and C, in which A counts ten times as much.

    The interval is that of a mean over requests, which S is to first order. It includes that both A
    and C are estimates, of the same requests.

    Args:
        scores: [n], of the answers, such as 1 for a right one and 0 for a wrong one.
        costs: [n], of the answers, in dollars.
        confidence: the probability that the interval holds.

    Raises:
        ValueError: the arrays have different lengths or no elements, the mean score is not from 0
            to 1, or a cost is not a number of at least 0.

    Source: Lu et al., RouterArena: An Open Platform for Comprehensive Comparison of LLM Routers
    (2025).

    >>> scores = np.tile([1.0, 1.0, 1.0, 0.0], 200)
    >>> found = arena_score(scores, np.full(800, 0.0001))  # 10 cents for 1,000 requests
    >>> f"{found.score:.3f}, from {found.low:.3f} to {found.high:.3f}"
    '0.746, from 0.719 to 0.773'
    """
    of_scores = check_numbers("scores", scores, 1).astype(np.float64)
    of_costs = check_numbers("costs", costs, 1).astype(np.float64)
    if not len(of_scores) == len(of_costs) > 0:
        found = f"{len(of_scores)} scores and {len(of_costs)} costs"
        raise ValueError(f"there are {found}; expected as many of both, and at least one")
    check_number("the lowest of costs", of_costs.min(), minimum=0.0)
    mean = check_number("the mean of scores", of_scores.mean(), minimum=0.0, maximum=1.0)
    spent = check_number("the sum of costs", of_costs.sum()) * 1000.0 / len(of_costs)

    cost = min(max(spent, CHEAPEST), DEAREST)
    cheapness = math.log(DEAREST / cost) / LOG_RANGE
    weighted = BETA * mean + cheapness
    if not weighted:  # it scores nothing at the highest cost
        return ArenaScore(0.0, 0.0, 0.0)
    score = (1.0 + BETA) * mean * cheapness / weighted
    by_score = (1.0 + BETA) * (cheapness / weighted) ** 2
    by_cheapness = (1.0 + BETA) * BETA * (mean / weighted) ** 2
    by_cost = -by_cheapness / (LOG_RANGE * cost) if cost == spent else 0.0
    parts = score + by_score * (of_scores - mean) + by_cost * (1000.0 * of_costs - spent)
    low, high = Statistics.from_values(parts).interval(confidence)
    return ArenaScore(score, float(low), float(high))
