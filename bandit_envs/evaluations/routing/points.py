"""What routers and single models get on held-out requests: rows of a table."""

from __future__ import annotations

import math
from typing import NamedTuple

from bandit_envs.evaluations.routing.routers import Routed
from bandit_envs.metrics import Statistics


class PricePoint(NamedTuple):
    """A router that has learned at a price, or a single model, on held-out requests.

    Scores and costs are means of a request. A gain is that over the best mix of single models with
    the same cost.
    """

    policy: str  #: the name of the router, or of the single model
    price: float  #: of a unit of cost, at which it has learned; NaN of a single model
    score: float  #: on held-out requests
    score_low: float  #: the lower end of its interval
    score_high: float  #: the upper end
    cost: float  #: on held-out requests
    cost_low: float  #: the lower end of its interval
    cost_high: float  #: the upper end
    gain: float  #: by how much it scores more than the mix; NaN of a single model
    gain_low: float  #: the lower end of its interval
    gain_high: float  #: the upper end
    learned_cost: float  #: on the requests that routers have learned from
    shares: tuple[float, ...]  #: of held-out requests, that each model gets


def make_point(
    name: str,
    price: float,
    held_out: Routed,
    learned: Routed,
    *,
    gains: Statistics | None = None,
    confidence: float,
) -> PricePoint:
    """Returns the point of a router, or of a single model.

    Args:
        name: of it.
        price: at which it has learned.
        held_out: what it got on held-out requests.
        learned: what it got on those that routers have learned from.
        gains: over the best mix of single models; None for none.
        confidence: the probability that an interval holds.
    """
    score = _with_interval(Statistics.from_values(held_out.scores), confidence)
    cost = _with_interval(Statistics.from_values(held_out.costs), confidence)
    gain = (math.nan,) * 3 if gains is None else _with_interval(gains, confidence)
    shares = tuple(held_out.shares.mean(axis=0).tolist())
    return PricePoint(name, price, *score, *cost, *gain, float(learned.costs.mean()), shares)


def _with_interval(values: Statistics, confidence: float) -> tuple[float, float, float]:
    """Returns the mean, and the ends of its interval."""
    low, high = values.interval(confidence)
    return float(values.mean), float(low), float(high)
