"""What routers learn from, and what they get on requests that are held out."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.evaluations.passes import LogObserver, observed_pass
from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.evaluations.routing.points import (
    Compared,
    Measure,
    PricePoint,
    Routed,
    without_price,
)
from bandit_envs.evaluations.routing.prices import find_price
from bandit_envs.evaluations.routing.routers import Lesson, Requests, Router, follow, route
from bandit_envs.evaluations.segments import MAX_SEGMENTS, order_names
from bandit_envs.rounding import merge_ties

JUMP = 0.95
"""A router that spends less than this share of the budget has a cost that jumps over it."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """What routers learn from, and what they are tried on.

    Args:
        learned: the requests that they learn from.
        held_out: the requests that they are tried on.
        lesson: how they learn.
        budget: of a request; None for none.
        confidence: the probability that an interval holds.
        observer: sees how requests are learned from.
    """

    learned: Requests
    held_out: Requests
    lesson: Lesson
    budget: float | None
    confidence: float
    observer: LogObserver

    @functools.cached_property
    def frontier(self) -> Frontier:
        """The mixes of single models on the held-out requests."""
        return Frontier(self.held_out.scores, self.held_out.costs)

    @functools.cached_property
    def best(self) -> int | None:
        """The number of the best single model on the requests that routers learn from.

        Of several that score alike, it is the cheapest. It is None if none keeps to the budget.
        """
        scores = merge_ties(self.learned.scores.mean(axis=0))
        costs = self.learned.costs.mean(axis=0)
        allowed = np.flatnonzero(costs <= (math.inf if self.budget is None else self.budget))
        order = np.lexsort((costs[allowed], -scores[allowed]))
        return int(allowed[order[0]]) if len(order) else None

    def try_prices(self, router: Router, prices: Sequence[float]) -> list[PricePoint]:
        """Returns what a router gets at each price; a fixed policy is the same at all of them."""
        if not router.can_learn(self.learned):
            return [without_price(self.try_router(router, 0.0))]
        points = []
        rows = len(prices) * len(self.learned.scores)
        with observed_pass(self.observer, f"{router.name} learns", rows) as read_rows:
            for price in prices:
                points.append(self.try_router(router, price))
                read_rows(len(self.learned.scores))
        return points

    def try_router(self, router: Router, price: float) -> PricePoint:
        """Returns what a router gets that has learned at a price."""
        policy = router.learn(self.learned, price, self.lesson)
        found = route(policy, self.held_out)
        compared = Compared(
            found, self.frontier.gains(found.scores, found.costs), self._routed_to_best
        )
        learned_cost = float(route(policy, self.learned).costs.mean())
        return self.measure.make_point(router.name, price, compared, learned_cost)

    def try_model(self, number: int, name: str) -> PricePoint:
        """Returns what a single model gets."""
        compared = Compared(self._follow(number), gains=None, best=self._routed_to_best)
        learned_cost = float(self.learned.costs[:, number].mean())
        return self.measure.make_point(name, math.nan, compared, learned_cost)

    @functools.cached_property
    def measure(self) -> Measure:
        """The means over held-out requests that are shown, and their segments."""
        names = np.array(self.held_out.segments)
        known = order_names([str(name) for name in np.unique(names)])
        if len(known) > MAX_SEGMENTS:
            found = f"outcomes.segments has {len(known)} values"
            raise ValueError(f"{found}; expected at most {MAX_SEGMENTS}")
        return Measure(
            unit=self.held_out.repeated_units,
            num_models=self.held_out.scores.shape[1],
            confidence=self.confidence,
            segments={name: np.flatnonzero(names == name) for name in known},
        )

    @functools.cached_property
    def _routed_to_best(self) -> Routed | None:
        """What the best single model gets on the held-out requests; None if `best` is None."""
        return None if self.best is None else self._follow(self.best)

    def _follow(self, number: int) -> Routed:
        """Returns what a single model gets on the held-out requests."""
        return follow(self.held_out, np.full(len(self.held_out.scores), number))

    def spend(self, router: Router, points: Sequence[PricePoint], budget: float) -> Spent:
        """Returns a router at the price that spends a budget, if there is one.

        Args:
            router: which learns anew at each price that is tried.
            points: of routers at the prices that were tried before.
            budget: for a request.
        """
        at = {point.price: point for point in points if point.policy == router.name}
        costs = {price: point.learned_cost for price, point in at.items()}
        if any(math.isnan(price) for price in costs):
            (fixed,) = at.values()
            return Spent(fixed if fixed.learned_cost <= budget else None, costs)

        with observed_pass(self.observer, f"{router.name} meets the budget", 0) as read_rows:

            def cost_at(price: float) -> float:
                at[price] = self.try_router(router, price)
                read_rows(len(self.learned.scores))
                return at[price].learned_cost

            price = find_price(cost_at, costs, budget)
        return Spent(None if price is None else at[price], costs)


class Spent(NamedTuple):
    """A router at the price that spends a budget."""

    point: PricePoint | None  # None if no price keeps to the budget
    costs: dict[float, float]  # of a request, at the prices that were tried

    def describe(self, name: str, budget: float) -> Iterator[str]:
        """Yields what a user should know of it."""
        if self.point is None:
            least = min(self.costs.values())
            yield f"{name} spends at least {least:.4g} a request, more than {budget:.4g}."
        elif self.point.price > 0.0 and self.point.learned_cost < JUMP * budget:
            lower = max(price for price in self.costs if price < self.point.price)
            here = f"{self.point.learned_cost:.4g} a request at the price {self.point.price:.4g}"
            there = f"{self.costs[lower]:.4g} at {lower:.4g}"
            yield f"{name} spends {here}, and {there}: its cost jumps in between."
