"""The figure of a report. It is drawn without a display."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import plain_texts
from bandit_envs.showing.styles import COLORS

if TYPE_CHECKING:
    from bandit_envs.serving.reports.report import ServiceReport


def draw_report(report: ServiceReport) -> Figure:
    """Returns a figure of the shares of actions, their values and their weights, over time."""
    shown = report.most_frequent()
    with fonts_for([report.actions[action].label for action in shown]):
        figure = Figure(figsize=(9.0, 9.0), layout="constrained")
        shares, values, weights = figure.subplots(3, 1, sharex=True)
        x = list(range(len(report.periods)))
        for line, action in enumerate(shown):
            rows = [period.actions[action] for period in report.periods]
            color = COLORS[line % len(COLORS)]
            label = report.actions[action].label
            shares.plot(
                x, [row.share for row in rows], "o-", color=color, label=label, markersize=3
            )
            values.plot(x, [row.value for row in rows], "o-", color=color, markersize=3)
            lows = [row.low for row in rows]
            values.fill_between(x, lows, [row.high for row in rows], color=color, alpha=0.15)
            errors = [
                0.0 if math.isnan(row.weight_error) else 2.0 * row.weight_error for row in rows
            ]
            places = [place + 0.5 * (line / len(shown) - 0.5) for place in x]
            sizes = [row.weight for row in rows]
            weights.errorbar(places, sizes, errors, fmt="o", color=color, markersize=3)
        shares.set_ylabel("Share of decisions")
        values.set_ylabel("Value so far")
        weights.axhline(1.0, color="0.4", linestyle="--")
        weights.set_ylabel("Mean weight")
        every = max(1, math.ceil(len(x) / 8))
        labels = [period.start for period in report.periods]
        weights.set_xticks(x[::every], labels[::every], rotation=30, ha="right")
        weights.set_xlabel(f"Start of the {report.period} (UTC)")
        for axis in (shares, values, weights):
            axis.spines[["top", "right"]].set_visible(False)
        plain_texts(figure.legend(loc="outside right upper", frameon=False))
        return figure
