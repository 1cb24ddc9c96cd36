"""The figure of a report. It is drawn without a display."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from bandit_envs.serving.reports.report_rows import OverTime
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import plain_texts
from bandit_envs.showing.styles import COLORS


def draw_report(drawn: OverTime) -> Figure:
    """Returns a figure of the shares of actions, their values and their weights, over time."""
    with fonts_for([drawn.actions[action].label for action in drawn.shown]):
        figure = Figure(figsize=(9.0, 9.0), layout="constrained")
        shares, values, weights = figure.subplots(3, 1, sharex=True)
        x = list(range(len(drawn.periods)))
        for line, action in enumerate(drawn.shown):
            rows = [period.actions[action] for period in drawn.periods]
            color = COLORS[line % len(COLORS)]
            label = drawn.actions[action].label
            shares.plot(
                x, [row.share for row in rows], "o-", color=color, label=label, markersize=3
            )
            values.plot(x, [row.value for row in rows], "o-", color=color, markersize=3)
            lows = [row.low for row in rows]
            values.fill_between(x, lows, [row.high for row in rows], color=color, alpha=0.15)
            errors = [
                0.0 if math.isnan(row.weight_error) else 2.0 * row.weight_error for row in rows
            ]
            places = [place + 0.5 * (line / len(drawn.shown) - 0.5) for place in x]
            sizes = [row.weight for row in rows]
            weights.errorbar(places, sizes, errors, fmt="o", color=color, markersize=3)
        shares.set_ylabel("Share of decisions")
        values.set_ylabel("Value so far")
        weights.axhline(1.0, color="0.4", linestyle="--")
        weights.set_ylabel("Mean weight")
        every = max(1, math.ceil(len(x) / 8))
        labels = [period.start for period in drawn.periods]
        weights.set_xticks(x[::every], labels[::every], rotation=30, ha="right")
        weights.set_xlabel(f"Start of the {drawn.length} (UTC)")
        for axis in (shares, values, weights):
            axis.spines[["top", "right"]].set_visible(False)
        plain_texts(figure.legend(loc="outside right upper", frameon=False))
        return figure
