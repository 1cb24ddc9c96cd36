"""The figures of an evaluation as charts of a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bandit_envs.evaluations.estimate_rows import EstimateRow, Evaluated
from bandit_envs.evaluations.showing.estimate_figures import (
    curves_over_time,
    shown_bins,
    weights_of,
)
from bandit_envs.evaluations.showing.weight_histogram import EDGES
from bandit_envs.showing.charts import (
    Chart,
    Curve,
    Dots,
    Facet,
    Interval,
    Panel,
    Scale,
    draw_intervals,
    draw_panels,
    draw_steps,
)


def estimates_chart(rows: Sequence[EstimateRow], baseline: str) -> Chart:
    """Returns a chart of estimates and gains; the first row is of the policy that made the log."""
    logged, *shown = rows
    values = [
        Interval(row.policy, row.estimator, row.value, row.low, row.high)
        for row in shown
        if not math.isnan(row.value)
    ]
    panels = [Dots("Mean reward", values, (logged.value, logged.low, logged.high))]
    if any(row.gain_rows for row in shown):
        panels.append(_gains([(row.policy, row) for row in shown], baseline))
    return draw_intervals(panels)


def segments_chart(segments: Iterable[tuple[str, EstimateRow]], baseline: str) -> Chart:
    """Returns a chart of the gains in segments of a log."""
    rows = sorted(segments, key=lambda item: item[1].policy)
    return draw_intervals(
        [_gains([(f"{row.policy}, {name}", row) for name, row in rows], baseline)]
    )


def times_chart(periods: Mapping[str, Sequence[EstimateRow]], baseline: str) -> Chart:
    """Returns a chart of the values and the gains in weeks, months and so on, with their bands."""
    curves = {
        panel: [Curve(name, band, place) for place, (name, band) in enumerate(of_panel.items())]
        for panel, of_panel in curves_over_time(periods).items()
    }
    panels = [Panel("Mean reward", curves["value"])]
    if curves["gain"]:
        panels.append(Panel(f"Gain over {baseline}", curves["gain"], level=0.0))
    return draw_panels([Facet("", panels)], Scale("", names=list(periods)))


def weights_chart(evaluated: Sequence[Evaluated]) -> Chart:
    """Returns a chart of the distribution of weights above 0, by policy."""
    weights = weights_of(evaluated)
    bins = shown_bins(np.sum([histogram.counts for histogram in weights.values()], axis=0))
    shares = {name: each.counts[bins] / each.size for name, each in weights.items()}
    x = "Weight: the policy's probability / the logged one"
    return draw_steps(shares, EDGES[bins.start : bins.stop + 1], x, "Share of rows")


def _gains(rows: Iterable[tuple[str, EstimateRow]], baseline: str) -> Dots:
    """Returns the gains of rows with their names."""
    gains = [
        Interval(name, row.estimator, row.gain, row.gain_low, row.gain_high)
        for name, row in rows
        if not math.isnan(row.gain)
    ]
    return Dots(f"Gain over {baseline}", gains, (0.0, 0.0, 0.0))
