"""Tables of what routers get, as texts for the terminal and for pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from bandit_envs.evaluations.routing.points import PricePoint
from bandit_envs.names.visible import visible
from bandit_envs.showing.tables import Cell

EXPLAINED = (
    "Scores and costs are of a held-out request; gains are over the best mix of single models with "
    "the same cost"
)
"""What the numbers of the tables are."""

SMALLEST_SHARE = 0.005
"""Models with a smaller share of the requests are not shown."""


class PointsTable(NamedTuple):
    """Some points as texts.

    Fields:
        title: of the table; "" for all prices.
        grid: the headings, and a row for each point.
        is_segment: whether the points are of a segment of the requests.
    """

    title: str
    grid: list[list[str]]
    is_segment: bool = False


def explain(best: str | None, has_budget: bool) -> str:
    """Returns what the numbers of the tables are.

    Args:
        best: the name of the best single model; None if no model keeps to the budget.
        has_budget: whether it keeps to a budget.
    """
    if best is None:
        return f"{EXPLAINED}. No single model keeps to the budget."
    among = " that keeps to the budget" if has_budget else ""
    found = f"or over {visible(best)}, the best single model{among}"
    return f"{EXPLAINED}, {found} on the requests that routers learned from."


def grid_of(
    points: Sequence[PricePoint], models: Sequence[str], best: str | None, confidence: float
) -> list[list[str]]:
    """Returns the headings, and a row for each point.

    Args:
        points: to show.
        models: the names of the models.
        best: the name of the best single model; None if no model keeps to the budget.
        confidence: the probability that an interval holds.
    """
    level = f"{100.0 * confidence:.4g}% interval"
    names = ["score", "cost", "gain over a mix"]
    if best is not None:
        names.append(f"gain over {visible(best)}")
    numbers = [f"{name}\n({level})" for name in names]
    rows = []
    for point in points:
        shown = _cells(point)[: 1 + len(names)]
        rows.append([visible(point.policy), *shown, _shares(point, models)])
    return [["policy", "price", *numbers, "requests to models"], *rows]


def _cells(point: PricePoint) -> list[str]:
    """Returns the numbers of a point as texts; "" for none."""
    return [
        "" if math.isnan(point.price) else f"{point.price:.3g}",
        _interval((point.score, point.score_low, point.score_high)),
        _interval((point.cost, point.cost_low, point.cost_high)),
        _interval((point.gain, point.gain_low, point.gain_high), form="+.2g"),
        _interval((point.over_best, point.over_best_low, point.over_best_high), form="+.2g"),
    ]


def _shares(point: PricePoint, models: Sequence[str]) -> str:
    """Returns which share of the requests each model gets, as text."""
    found = [
        f"{visible(model)} {share:.0%}"
        for model, share in zip(models, point.shares)
        if share >= SMALLEST_SHARE
    ]
    return ", ".join(found)


def _interval(numbers: Sequence[float], form: str = ".3g") -> str:
    """Returns a number and its interval as text; "" if it is not known."""
    if math.isnan(numbers[0]):
        return ""
    exact = (round(number, 9) + 0.0 for number in numbers)  # 0 except for rounding is 0
    value, low, high = (f"{number:{form}}" for number in exact)
    return str(Cell(value, ends=(low, high)))
