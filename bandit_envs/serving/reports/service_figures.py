"""The figure of a report. It is drawn without a display."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bandit_envs.serving.reports.report_rows import ActionReport, PeriodReport
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import plain_texts
from bandit_envs.showing.styles import COLORS


def draw_report(
    periods: Sequence[PeriodReport],
    actions: Sequence[ActionReport],
    shown: Sequence[int],
    length: str,
) -> Figure:
    """Returns a figure of the shares of actions, their values and their weights, over time.

    Args:
        periods: what happened in each.
        actions: what is known of each in the end.
        shown: the numbers of the actions that are drawn.
        length: of a period, as "day".
    """
    with fonts_for([actions[action].label for action in shown]):
        figure = Figure(figsize=(9.0, 9.0), layout="constrained")
        shares, values, weights = figure.subplots(3, 1, sharex=True)
        x = list(range(len(periods)))
        for line, action in enumerate(shown):
            rows = [period.actions[action] for period in periods]
            color = COLORS[line % len(COLORS)]
            label = actions[action].label
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
        _label_periods(weights, periods, length)
        for axis in (shares, values, weights):
            axis.spines[["top", "right"]].set_visible(False)
        plain_texts(figure.legend(loc="outside right upper", frameon=False))
        return figure


def _label_periods(axis: Axes, periods: Sequence[PeriodReport], length: str) -> None:
    """Writes when periods start, below at most eight of them."""
    every = max(1, math.ceil(len(periods) / 8))
    shown = list(range(0, len(periods), every))
    labels = [periods[place].start for place in shown]
    axis.set_xticks(shown, labels, rotation=30, ha="right")
    axis.set_xlabel(f"Start of the {length} (UTC)")
