"""Figures of studies. They are drawn without a display."""

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from bandit_envs.metrics import QUANTITIES
from bandit_envs.studies.choice import SYMBOLS
from bandit_envs.studies.results import Result, columns
from bandit_envs.studies.study import Study, Task

# Okabe & Ito's palette, which readers who do not see all colours can tell apart.
COLORS = ("#009E73", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLES = [{"ls": line, "color": color} for line in ("-", "--", ":", "-.") for color in COLORS]
Rows = Iterable[tuple[Task, Result]]


def study_figure(study: Study, results: Rows) -> bytes:
    """Returns a PNG: curves over steps, or without panels, mean rewards over what varies.

    Bands reach one standard error to each side.
    """
    panels = max(len(study.panels), 1)
    size = (8.0, 0.8 + 3.4 * panels if study.panels else 4.6)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(study.title, fontsize=12, parse_math=False)
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    lines = (_draw_curves if study.panels else _draw_parameters)(study, results, axes)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(visible=True, color="0.92", linewidth=0.8)
        axis.set_axisbelow(True)
    title = f"the first {len(STYLES)} of {lines}" if lines > len(STYLES) else None
    small = {} if lines <= 12 else {"fontsize": "xx-small", "ncols": 2}
    axes[-1].legend(loc="best", frameon=False, title=title, **small)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def _draw_curves(study: Study, results: Rows, axes: Any) -> int:
    """Draws curves over steps and returns how many there are."""
    steps = np.arange(1, study.steps + 1)
    for (task, result), style in zip(results, STYLES):
        found = columns(result, study.panels)
        for panel, axis in zip(study.panels, axes):
            points = np.array([steps, found[panel], found[f"{panel}_se"]])
            _draw_band(axis, points, label=study.label(task), **style)
    for panel, axis in zip(study.panels, axes):
        axis.set_ylabel(QUANTITIES[panel].axis)
        if QUANTITIES[panel].limits:
            axis.set_ylim(QUANTITIES[panel].limits)
            axis.yaxis.set_major_formatter("{x:.0f}%")
    axes[-1].set_xlabel("Steps")
    return len(study.environment) * len(study.policy)


def _draw_parameters(study: Study, results: Rows, axes: Any) -> int:
    """Draws mean rewards over a parameter and returns how many lines there are."""
    (axis,) = axes
    varied = {policy.name: _varied(study, policy.name) for policy in study.policy}
    lines: dict[tuple[str, str], list[Any]] = {}
    for task, result in results:
        key, mean = varied[task.policy.name], result["reward"].mean
        point = task.policy.parameters.get(key), mean.mean, mean.standard_error
        lines.setdefault((study.label(task, without=key), key), []).append(point)
    values, symbols = [], {}
    for ((label, key), points), style in zip(lines.items(), STYLES):
        if key:
            symbol = symbols[key] = SYMBOLS.get(key, key)
            band = np.array(sorted(points), float).T
            values += band[0].tolist()
            _draw_band(axis, band, label=f"{label}, over {symbol}", marker="o", **style)
        else:  # nothing varies: a line from edge to edge
            band = np.array([(edge, *points[0][1:]) for edge in (0, 1)]).T
            _draw_band(axis, band, label=label, transform=axis.get_yaxis_transform(), **style)
    if values and min(values) > 0.0:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(LogLocator(base=2, numticks=20))
        axis.xaxis.set_major_formatter(lambda x, position: f"1/{1 / x:g}" if x < 1 else f"{x:g}")
    axis.set_xlabel("Parameter: " + "  ".join(dict.fromkeys(symbols.values())) if symbols else "")
    axis.set_ylabel(f"Average reward over first {study.steps} steps")
    return len(lines)


def _varied(study: Study, name: str) -> str:
    """Returns the last parameter of numbers in which policies of a name differ, or ""."""
    policies = [policy for policy in study.policy if policy.name == name]
    for key in reversed(list(policies[0].parameters)):
        values = [policy.parameters.get(key) for policy in policies]
        if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
            return key
    return ""


def _draw_band(axis: Any, points: Any, **style: Any) -> None:
    x, mean, error = np.nan_to_num(points)
    (line,) = axis.plot(x, mean, linewidth=1.0, **style)
    band = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
    axis.fill_between(x, mean - error, mean + error, transform=line.get_transform(), **band)
