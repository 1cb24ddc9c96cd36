"""Figures. The only module that imports matplotlib; it draws without a display."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

from bandit_envs.studies.specs import SYMBOLS, Spec
from bandit_envs.studies.study import Cell, Study
from bandit_envs.studies.tasks import Result
from bandit_envs.metrics import Statistics

# Okabe & Ito's palette: told apart by readers who do not see all colours.
COLORS = ("#009E73", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
LINE_STYLES = ("-", "--", ":", "-.")
MOST_CURVES = len(COLORS) * len(LINE_STYLES)
PANELS = {
    "reward": "Average reward",
    "percent_optimal": "% Optimal action",
    "regret": "Average regret",
    "cumulative_regret": "Cumulative regret",
}


def study_figure(study: Study, results: Iterable[tuple[Cell, Result]]) -> bytes:
    """Draws the results of a study.

    Args:
        study: the study.
        results: what is there of its cells.

    Returns:
        A PNG: with panels, a curve for each cell over steps, as in Figure 2.2 of the book; without,
        the mean reward over the last parameter that a policy is given several values of, as in
        Figure 2.6. It holds 32 curves, or the first 32. Bands are one standard error wide to each
        side.
    """
    if study.panels:
        return _learning_curves(study, results)
    return _parameter_study(study, results)


def _learning_curves(study: Study, results: Iterable[tuple[Cell, Result]]) -> bytes:
    figure = Figure(figsize=(8.0, 0.8 + 3.4 * len(study.panels)), layout="constrained")
    figure.suptitle(study.title, fontsize=12, parse_math=False)
    axes = figure.subplots(len(study.panels), 1, sharex=True, squeeze=False)[:, 0]
    steps = np.arange(1, study.steps + 1)
    for (cell, result), style in zip(results, _styles()):
        for panel, axis in zip(study.panels, axes):
            metric = result.metrics[panel.removeprefix("cumulative_")]
            curve = metric.cumulative if panel.startswith("cumulative_") else metric.per_step
            mean, error = curve.mean, curve.standard_error
            _band(axis, steps, mean, error, label=study.label(cell), **style)
    for panel, axis in zip(study.panels, axes):
        axis.set_ylabel(PANELS[panel])
        if panel == "percent_optimal":
            axis.set_ylim(0, 100)
            axis.yaxis.set_major_formatter("{x:.0f}%")
        _tidy(axis)
    axes[-1].set_xlabel("Steps")
    _legend(axes[-1], study.num_cells())
    return _png(figure)


def _parameter_study(study: Study, results: Iterable[tuple[Cell, Result]]) -> bytes:
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    figure.suptitle(study.title, fontsize=12, parse_math=False)
    axis = figure.subplots()
    varied = {name: _varied(study, name) for name in {spec.name for spec in study.policies}}
    lines: dict[str, list[tuple[Cell, Statistics]]] = {}
    for cell, result in results:
        line = study.label(cell, without=varied[cell.policy.name])
        lines.setdefault(line, []).append((cell, result.metrics["reward"].mean))
    symbols: list[str] = []
    every_value: list[float] = []
    for (line, points), style in zip(lines.items(), _styles()):
        # Of an unfinished study, points may be means of different numbers of runs.
        means = np.array([float(value.mean) for _, value in points])
        errors = np.array([float(value.standard_error) for _, value in points])
        key = varied[points[0][0].policy.name]
        if not key:  # nothing to be drawn over: a line from edge to edge
            style["transform"] = axis.get_yaxis_transform()
            edges = np.array([0.0, 1.0])
            _band(axis, edges, means.repeat(2), errors.repeat(2), label=line, **style)
            continue
        symbols.append(SYMBOLS.get(key, key))
        numbers = np.array([_number(cell.policy, key) for cell, _ in points])
        order = np.argsort(numbers)
        label = f"{line}, over {symbols[-1]}"
        _band(axis, numbers[order], means[order], errors[order], label=label, marker="o", **style)
        every_value += numbers[~np.isnan(numbers)].tolist()
    if every_value and min(every_value) > 0.0:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(LogLocator(base=2, numticks=20))
        axis.xaxis.set_major_formatter(lambda value, position: _fraction(value))
    if symbols:
        axis.set_xlabel("Parameter: " + "  ".join(dict.fromkeys(symbols)))
    axis.set_ylabel(f"Average reward over first {study.steps} steps")
    _tidy(axis)
    _legend(axis, len(lines))
    return _png(figure)


def _varied(study: Study, name: str) -> str:
    """Returns the last parameter in which policies of a name differ; "" if there is none."""
    specs = [spec for spec in study.policies if spec.name == name]
    for key in reversed(specs[0].family.parameters()):
        if len({spec.value(key) for spec in specs}) > 1:
            return key
    return ""


def _number(spec: Spec, key: str) -> float:
    """Returns where a point stands; NaN, and so nowhere, if that is not at a number."""
    value = spec.value(key)
    return np.nan if value is None else float(value)


def _legend(axis: Axes, curves: int) -> None:
    axis.legend(
        loc="best",
        frameon=False,
        title=f"the first {MOST_CURVES} of {curves}" if curves > MOST_CURVES else None,
        fontsize="medium" if curves <= 12 else "xx-small",
        ncols=1 if curves <= 12 else 2,
    )


def _band(
    axis: Axes, x: Any, mean: NDArray[Any], error: NDArray[Any], *, color: str, **style: Any
) -> None:
    (line,) = axis.plot(x, mean, color=color, linewidth=1.0, **style)
    error = np.nan_to_num(error)
    axis.fill_between(
        x,
        mean - error,
        mean + error,
        color=color,
        alpha=0.25,
        linewidth=0,
        transform=line.get_transform(),
    )


def _fraction(value: float) -> str:
    return f"1/{1 / value:g}" if 0 < value < 1 else f"{value:g}"


def _styles() -> Iterator[dict[str, Any]]:
    for line_style in LINE_STYLES:
        for color in COLORS:
            yield {"color": color, "linestyle": line_style}


def _tidy(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, color="0.92", linewidth=0.8)
    axis.set_axisbelow(True)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
