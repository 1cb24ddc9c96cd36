"""The figure of a report as a chart of a page."""

from __future__ import annotations

import numpy as np

from bandit_envs.serving.reports.report_rows import OverTime
from bandit_envs.showing.charts import Chart, Curve, Facet, Panel, Scale, draw_panels


def report_chart(drawn: OverTime) -> Chart:
    """Returns a chart of the shares of actions, their values and their weights, over time."""
    shares = []
    values = []
    weights = []
    x = np.arange(len(drawn.periods))
    for place, action in enumerate(drawn.shown):
        name = drawn.actions[action].label
        rows = [period.actions[action] for period in drawn.periods]
        nothing = np.full(len(rows), np.nan)
        share = np.array([row.share for row in rows])
        shares.append(Curve(name, np.array([x, share, nothing, nothing]), place))
        value = np.array([(row.value, row.low, row.high) for row in rows]).T
        values.append(Curve(name, np.array([x, *value]), place))
        weight = np.array([row.weight for row in rows])
        error = 2.0 * np.array([row.weight_error for row in rows])
        weights.append(Curve(name, np.array([x, weight, weight - error, weight + error]), place))
    panels = [
        Panel("Share of decisions", shares),
        Panel("Value so far", values),
        Panel("Mean weight", weights, level=1.0),
    ]
    names = [period.start for period in drawn.periods]
    return draw_panels(
        [Facet("", panels)], Scale(f"Start of the {drawn.length} (UTC)", names=names)
    )
