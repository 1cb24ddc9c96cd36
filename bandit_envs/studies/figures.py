"""Figures of studies. They are drawn without a display."""

import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from bandit_envs.metrics import QUANTITIES
from bandit_envs.studies.choice import SYMBOLS
from bandit_envs.studies.plots import COLORS, STYLES, draw_band, log2_axis, log_axis, tidy
from bandit_envs.studies.results import Result, band
from bandit_envs.studies.study import Study, Task

MARKERS = {"exact": "x", "reference run": "+", "published": "*"}
Rows = Iterable[tuple[Task, Result]]


def study_figure(study: Study, results: Rows) -> bytes:
    """Returns a PNG of curves over steps, with a row of axes for each environment.

    If the study says what to draw `over`, the last steps are drawn over that. Without panels, mean
    rewards are drawn over the parameter that varies. Bands reach one standard error to each side of
    means, or from one quantile to the other around medians. Black marks are expected values and
    bounds. The panel "arms" is one problem.
    """
    if "arms" in study.panels:
        buffer = io.BytesIO()
        env = study.environment[0].make(1, np.random.SeedSequence(study.seed))
        env.reset()
        imsave(buffer, env.render("rgb_array"), format="png")
        return buffer.getvalue()
    panels, environments = max(len(study.panels), 1), len(study.environment)
    is_grid = len(study.panels) > 0 < environments - 1 and not study.over
    shape = (environments, panels) if is_grid else (panels, 1)
    height = 2.6 * environments if is_grid else 3.4 * panels if study.panels else 4.6
    figure = Figure(figsize=(max(8.0, 4.0 * shape[1]), 0.8 + height), layout="constrained")
    headline = f"{study.title}\n{study.spread}" if study.quantiles else study.title
    figure.suptitle(headline, fontsize=12, parse_math=False)
    axes = figure.subplots(*shape, sharex=True, squeeze=False)
    draw = _draw_over if study.over else _draw_curves if study.panels else _draw_parameters
    lines = draw(study, results, axes if is_grid else axes.T)
    for axis in axes.flat:
        tidy(axis)
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        handles |= {label: line for line, label in zip(*axis.get_legend_handles_labels())}
    title = f"the first {len(STYLES)} of {lines}" if lines > len(STYLES) else None
    columns = 2 if max(map(len, handles), default=0) <= 40 else 1  # what fits the narrowest figure
    style: Any = {"loc": "outside lower center", "ncols": columns, "frameon": False, "title": title}
    figure.legend(handles.values(), handles.keys(), **style)
    figure.set_figheight(figure.get_figheight() + 0.2 * len(handles) / columns)
    return _png(figure)


def estimates_figure(rows: Sequence[Any], logged_mean: float) -> bytes:
    """Returns a PNG of rows of `estimates.csv`: dots with intervals, beside the logged mean."""
    policies, estimators = (
        list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("policy", "estimator")
    )
    figure = Figure(figsize=(8.0, 1.4 + 0.25 * len(rows)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(logged_mean, color="0.4", linestyle="--", label="logged mean")
    for index, (name, color) in enumerate(zip(estimators, itertools.cycle(COLORS))):
        own = [row for row in rows if row.estimator == name]
        value, low, high = np.array([(row.value, row.low, row.high) for row in own]).T
        place = 0.7 * ((index + 0.5) / len(estimators) - 0.5)
        y = [policies.index(row.policy) + place for row in own]
        ends = [value - low, high - value]
        axis.errorbar(value, y, xerr=ends, fmt="o", markersize=4, color=color, label=name)
    axis.set_yticks(range(len(policies)), policies, parse_math=False)
    axis.invert_yaxis()
    axis.set_xlabel("Mean reward")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return _png(figure)


def weights_figure(weights: Mapping[str, NDArray[np.float64]]) -> bytes:
    """Returns a PNG of the distribution of weights above 0, by policy."""
    figure = Figure(figsize=(8.0, 0.6 + 1.7 * len(weights)), layout="constrained")
    axes = figure.subplots(len(weights), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    positive = np.concatenate([values[values > 0.0] for values in weights.values()])
    bins = np.geomspace(positive.min(initial=0.5) / 1.1, positive.max(initial=2.0) * 1.1, 60)
    for axis, (name, values) in zip(axes, weights.items()):
        axis.hist(values, bins, weights=np.full(len(values), 1 / len(values)))
        zero, largest = np.mean(values == 0.0), values.max()
        title = f"{name}: {zero:.1%} are 0, the largest is {largest:.3g}"
        axis.set_title(title, fontsize=9, loc="left", parse_math=False)
        axis.set(yscale="log", ylabel="Share of rows", ylim=(0.5 / len(values), 1.5))
        axis.yaxis.set_major_formatter("{x:g}")
        log_axis(axis, "x")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("Weight: the policy's probability / the logged one")
    return _png(figure)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def _draw_curves(study: Study, results: Rows, axes: Any) -> int:
    """Draws curves over steps and returns how many there are in an axis."""
    styles = dict(zip(map(str, study.policy), STYLES))
    for task, result in results:
        if style := styles.get(str(task.policy)):
            for panel, axis in zip(study.panels, axes[study.environment.index(task.environment)]):
                label = ", ".join(task.policy.parts())
                draw_band(axis, band(study, result, panel), label=label, **style)
    _finish_panels(study, axes, "Steps", lambda index, step: step)
    for row, environment in zip(axes, study.environment):
        if len(axes) > 1:
            row[0].set_title(", ".join(environment.parts()), fontsize=9, loc="left")
    return len(study.policy)


def _draw_over(study: Study, results: Rows, axes: Any) -> int:
    """Draws the last steps over numbers, one for each environment; returns how many lines."""
    ((name, numbers),) = study.over.items()
    lines: dict[str, list[Any]] = {}
    for task, result in results:
        label = task.policy.entry.title if study.paired else ", ".join(task.policy.parts())
        x = numbers[study.environment.index(task.environment)]
        points = [(x, *band(study, result, panel)[1:, -1]) for panel in study.panels]
        lines.setdefault(label, []).append(points)
    for (label, points), style in zip(lines.items(), STYLES):
        for axis, line in zip(axes[0], np.array(sorted(points)).transpose(1, 2, 0)):
            draw_band(axis, line, label=label, marker="o", **style)
    _finish_panels(study, axes, name, lambda index, step: numbers[index])
    return len(lines)


def _finish_panels(study: Study, axes: Any, name: str, x_of: Callable[[int, int], float]) -> None:
    """Draws what is expected, and scales and names the axes."""
    marks: dict[Any, list[tuple[float, float]]] = {}
    drawn = [item for item in study.expected if item["metric"] in study.panels]
    for item, (index, place) in itertools.product(drawn, enumerate(study.environment)):
        if item.get("environment", str(place)) == str(place):
            axis = axes[0 if study.over else index, study.panels.index(item["metric"])]
            x = x_of(index, item.get("step", study.steps))
            # Far above the curves, bounds over steps would squeeze them.
            source = item["source"].partition(":")[0]
            if "value" in item:
                marks.setdefault((axis, MARKERS[source], source), []).append((x, item["value"]))
            elif study.over and "at_most" in item:
                mark = axis, "v", f"{source}: upper bound"
                marks.setdefault(mark, []).append((x, item["at_most"]))
    for (axis, marker, label), points in marks.items():
        style = {"ls": ":" if study.over else "", "lw": 0.8, "color": "black", "zorder": 3}
        axis.plot(*zip(*points), marker, label=label, **style)
    for row in axes:
        for axis, panel in zip(row, study.panels):
            axis.set_ylabel(QUANTITIES[panel].axis)
            if "x" in study.log_axes:
                log_axis(axis, "x")
            if QUANTITIES[panel].limits:
                axis.set_ylim(QUANTITIES[panel].limits)
                axis.yaxis.set_major_formatter("{x:.0f}%")
            elif "y" in study.log_axes:
                log_axis(axis, "y")
    for axis in axes[-1] if len(axes) > 1 else axes[0, -1:]:
        axis.set_xlabel(name)


def _draw_parameters(study: Study, results: Rows, axes: Any) -> int:
    """Draws mean rewards over a parameter and returns how many lines there are."""
    axis = axes[0, 0]
    varied = {policy.name: _varied(study, policy.name) for policy in study.policy}
    lines: dict[tuple[str, str], list[Any]] = {}
    for task, result in results:
        key = varied[task.policy.name]
        point = task.policy.parameters.get(key), *band(study, result, "mean_reward")[1:, -1]
        lines.setdefault((study.label(task, without=key), key), []).append(point)
    values, symbols = [], {}
    for ((label, key), points), style in zip(lines.items(), STYLES):
        if key:
            symbol = symbols[key] = SYMBOLS.get(key, key)
            line = np.array(sorted(points), float).T
            values += line[0].tolist()
            draw_band(axis, line, label=f"{label}, over {symbol}", marker="o", **style)
        else:  # nothing varies: a line from edge to edge
            line = np.array([(edge, *points[0][1:]) for edge in (0, 1)]).T
            draw_band(axis, line, label=label, transform=axis.get_yaxis_transform(), **style)
    if values and min(values) > 0.0:
        log2_axis(axis)
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
