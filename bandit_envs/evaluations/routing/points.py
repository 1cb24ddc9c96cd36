"""What routers and single models get on held-out requests: rows of a table."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.estimators import Estimate
from bandit_envs.logged.estimators.gains import mean_terms
from bandit_envs.rounding import subtract

FEWEST_ROWS = 2
"""Rows of a segment that is shown, so that its means have errors."""


class PricePoint(NamedTuple):
    """A router that has learned at a price, or a single model, on held-out requests.

    Scores and costs are means over rows. A gain is that over the best mix of single models with
    the same cost. The best single model is that of `PriceCurves.best`.
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
    over_best: float  #: by how much it scores more than the best single model; NaN without one
    over_best_low: float  #: the lower end of its interval
    over_best_high: float  #: the upper end
    saved: float  #: by how much it costs less than the best single model; NaN without one
    saved_low: float  #: the lower end of its interval
    saved_high: float  #: the upper end
    learned_cost: float  #: on the requests that routers have learned from
    shares: tuple[float, ...]  #: of held-out requests, that each model gets
    segment: str = ""  #: the requests that these numbers are of; "" for all
    segments: tuple[PricePoint, ...] = ()  #: the same in each segment of the requests


class Routed(NamedTuple):
    """What a router, or a single model, got on each of n rows."""

    scores: Floats  # [n]
    costs: Floats  # [n]
    models: Indices  # [n], to which each row went


class Compared(NamedTuple):
    """What a router, or a single model, got on held-out rows, and by how much it beats others.

    Fields:
        routed: what it got.
        gains: [n], how much more each row scores than the best mix of models; None for a model.
        best: what the best single model got; None if there is no best one.
    """

    routed: Routed
    gains: Floats | None
    best: Routed | None


Interval: TypeAlias = tuple[float, float, float]
"""A mean, and the ends of its interval."""

UNKNOWN: Interval = (math.nan, math.nan, math.nan)
"""The interval of a comparison that is not made."""


class Measure(NamedTuple):
    """Makes means over held-out rows, with their intervals.

    Fields:
        unit: [n], the unit of each row, such as a request; None if each is a unit of its own.
        num_models: K.
        confidence: the probability that an interval holds.
        segments: the rows of each segment, by its name.
    """

    unit: Indices | None
    num_models: int
    confidence: float
    segments: Mapping[str, Indices]

    def make_point(
        self, name: str, price: float, compared: Compared, learned_cost: float
    ) -> PricePoint:
        """Returns the point of a router, or of a single model, with those of all segments.

        Args:
            name: of the router or the model.
            price: at which it has learned.
            compared: what it got on held-out rows.
            learned_cost: the mean cost of the rows that routers have learned from.
        """
        found = self._point_of(name, price, compared, learned_cost)
        segments = []
        for segment, rows in self.segments.items():
            if len(rows) < FEWEST_ROWS:
                continue
            measure = self._replace(unit=None if self.unit is None else self.unit[rows])
            part = measure._point_of(name, price, _take_compared(compared, rows), learned_cost)
            segments.append(part._replace(segment=segment))
        return found._replace(segments=tuple(segments))

    def _point_of(
        self, name: str, price: float, compared: Compared, learned_cost: float
    ) -> PricePoint:
        """Returns the point of all rows, without segments."""
        scores, costs, models = compared.routed
        best = compared.best
        counts = np.bincount(models, minlength=self.num_models)
        return PricePoint(
            name,
            price,
            *self._interval(scores),
            *self._interval(costs),
            *(UNKNOWN if compared.gains is None else self._interval(compared.gains)),
            *(UNKNOWN if best is None else self._interval(subtract(scores, best.scores))),
            *(UNKNOWN if best is None else self._interval(subtract(best.costs, costs))),
            learned_cost=learned_cost,
            shares=tuple((counts / len(models)).tolist()),
        )

    def _interval(self, values: Floats) -> Interval:
        """Returns the mean of values [n], and the ends of its interval."""
        found = estimate_mean(values, self.unit)
        return found.value, *found.interval(self.confidence)


def estimate_mean(values: Floats, unit: Indices | None) -> Estimate:
    """Returns the mean of values, with its error by units, as logs have it.

    Args:
        values: [n], of at least two rows.
        unit: [n], of the rows; None if each is a unit of its own.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a note of the evaluation says it once
        return mean_terms(values, unit).sums().estimate()


def without_price(point: PricePoint) -> PricePoint:
    """Returns the point of a router that is the same at all prices, with those of its segments."""
    segments = [part._replace(price=math.nan) for part in point.segments]
    return point._replace(price=math.nan, segments=tuple(segments))


def _take_compared(compared: Compared, rows: Indices) -> Compared:
    """Returns what was got on some of the rows."""
    return Compared(
        routed=_take(compared.routed, rows),
        gains=None if compared.gains is None else compared.gains[rows],
        best=None if compared.best is None else _take(compared.best, rows),
    )


def _take(routed: Routed, rows: Indices) -> Routed:
    """Returns what was got on some of the rows."""
    return Routed(routed.scores[rows], routed.costs[rows], routed.models[rows])
