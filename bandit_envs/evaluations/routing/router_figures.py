"""The figure of scores over costs. It is drawn without a display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.evaluations.routing.points import PricePoint
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import log_axis, plain_texts, tidy
from bandit_envs.showing.styles import STYLES

WIDE = 10.0
"""Costs are on a logarithmic axis if the largest is more than so many times the smallest."""


def draw_curves(
    models: Sequence[PricePoint],
    points: Sequence[PricePoint],
    at_budget: Sequence[PricePoint],
    frontier: Frontier,
    budget: float | None,
) -> Figure:
    """Returns a figure of a line for each router, over prices, with intervals of both means.

    Args:
        models: single models, as black dots.
        points: routers at prices, joined in the order of these.
        at_budget: routers at the price that spends the budget, as stars.
        frontier: the best mixes of single models, as a dashed line.
        budget: as a vertical line; None for none.
    """
    with fonts_for([point.policy for point in (*models, *points)]):
        figure = Figure(figsize=(8.0, 4.8), layout="constrained")
        axis = figure.subplots()
        tidy(axis)
        _draw_models(axis, models, frontier)
        for (name, found), style in zip(_by_router(points).items(), STYLES):
            ordered = sorted(found, key=lambda point: point.price)
            _draw_points(axis, ordered, label=name, marker="o", markersize=4.0, lw=1.0, **style)
            stars = [point for point in at_budget if point.policy == name]
            _draw_points(axis, stars, marker="*", markersize=13.0, lw=1.0, color=style["color"])
        if budget is not None:
            axis.axvline(budget, color="0.4", lw=0.8, ls=":", label="budget")
        costs = [point.cost for point in (*models, *points)]
        if min(costs) > 0.0 and max(costs) > WIDE * min(costs):
            log_axis(axis, "x")
        axis.set(xlabel="Cost a request", ylabel="Score a request")
        plain_texts(axis.legend(frameon=False, loc="best", fontsize="small"))
        return figure


def _by_router(points: Sequence[PricePoint]) -> dict[str, list[PricePoint]]:
    """Returns the points of each router."""
    found: dict[str, list[PricePoint]] = {}
    for point in points:
        found.setdefault(point.policy, []).append(point)
    return found


def _draw_models(axis: Axes, models: Sequence[PricePoint], frontier: Frontier) -> None:
    """Draws single models, and the best mixes of them."""
    ends = frontier.cost_means[frontier.vertices]
    costs = np.unique(np.concatenate([np.linspace(ends[0], ends[-1], 200), ends]))
    scores = [frontier.score(cost) for cost in costs]
    axis.plot(costs, scores, color="black", lw=1.0, ls="--", label="best mixes of single models")
    _draw_points(axis, models, marker="o", markersize=5.0, color="black", ls="none", lw=1.0)
    for model in models:
        place = (model.cost, model.score)
        axis.annotate(
            model.policy,
            place,
            xytext=(5.0, -10.0),
            textcoords="offset points",
            fontsize="small",
            parse_math=False,
        )


def _draw_points(axis: Axes, points: Sequence[PricePoint], **style: Any) -> None:
    """Draws points with the intervals of their means."""
    if not points:
        return
    score, score_low, score_high = np.array([point[2:5] for point in points]).T
    cost, cost_low, cost_high = np.array([point[5:8] for point in points]).T
    axis.errorbar(
        cost,
        score,
        xerr=[cost - cost_low, cost_high - cost],
        yerr=[score - score_low, score_high - score],
        elinewidth=0.7,
        **style,
    )
