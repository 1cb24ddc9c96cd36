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

from bandit_envs.experiments.specs import SYMBOLS, Spec
from bandit_envs.experiments.studies import Cell, Study
from bandit_envs.experiments.tasks import Result
from bandit_envs.metrics import Statistics
from bandit_envs.rendering import Arms

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


def arms_image(arms: Arms) -> NDArray[np.uint8]:
    """Draws the arms of one row of an environment: as in Figure 2.1 of the book, or as bars.

    Returns:
        An image: [height, width, 3] uint8.
    """
    figure = Figure(figsize=(8.0, 4.5), dpi=100, layout="constrained")
    canvas: Any = FigureCanvasAgg(figure)
    _draw_arms(figure, arms)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show_arms(arms: Arms, window: int) -> None:
    """Draws arms in a window, which is opened if there is none of that number yet."""
    # Only here: pyplot looks for a display.
    from matplotlib import pyplot  # noqa: PLC0415

    if pyplot.fignum_exists(window):
        figure = pyplot.figure(window, clear=True)
    else:
        figure = pyplot.figure(window, figsize=(8.0, 4.5), layout="constrained")
        manager = figure.canvas.manager
        if manager is not None:
            manager.set_window_title(arms.title)
    _draw_arms(figure, arms)
    pyplot.pause(0.001)


def close_window(window: int) -> None:
    """Closes the window of that number, if there is one."""
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.close(window)


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


def _draw_arms(figure: Figure, arms: Arms) -> None:
    optimal, last = COLORS[:2]
    means = arms.expected_rewards
    colors = np.where(np.arange(len(means)) == arms.optimal_action(), optimal, "0.75")
    axis = figure.subplots()
    axis.set_title(arms.title, loc="left", fontsize=12, parse_math=False)
    axis.set_title(arms.progress(), loc="right", fontsize=10, color="0.3")
    handles: list[Any] = [Patch(color=optimal, label="optimal arm")]
    if arms.reward_std:
        axis.set_ylabel("Reward distribution")
        _violins(axis, means, arms.reward_std, colors)
        handles.append(Line2D([], [], color="black", label="value $q_*(a)$"))
        if arms.action is not None and arms.reward is not None:
            handles += axis.plot(arms.action, arms.reward, "o", color=last, markersize=8, zorder=3)
            handles[-1].set(label="last reward", markeredgecolor="white")
    else:
        axis.set_ylabel("Expected reward")
        available = means > -np.inf
        (arm_numbers,), (others,) = available.nonzero(), (~available).nonzero()
        axis.bar(arm_numbers, means[available], color=colors[available])
        if others.size:
            handles += axis.plot(others, 0.0 * others, "x", color="0.6", label="not available")
    low, high = arms.reward_limits(num_stds=3.2)
    margin = 0.04 * (high - low)
    axis.set_ylim(low - margin, high + margin)
    axis.set_xlim(-0.7, len(means) - 0.3)
    axis.axhline(0.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    _label_arms(axis, arms)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)


def _violins(axis: Axes, means: NDArray[Any], std: float, colors: NDArray[np.str_]) -> None:
    deviations = np.linspace(-3.2, 3.2, 129)
    widths = 0.42 * np.exp(-0.5 * deviations**2)
    for arm, (mean, color) in enumerate(zip(means.tolist(), colors.tolist())):
        rewards = mean + std * deviations
        axis.fill_betweenx(rewards, arm - widths, arm + widths, color=color, alpha=0.75, lw=0)
        axis.hlines(mean, arm - 0.42, arm + 0.42, color="black", linewidth=1.5)


def _label_arms(axis: Axes, arms: Arms) -> None:
    axis.tick_params(axis="x", length=0)
    num_arms = len(arms.expected_rewards)
    if arms.pulls_of_arms is None or num_arms > 20:  # more labels would overlap
        axis.set_xlabel("Action")
        axis.xaxis.set_major_locator(MaxNLocator(20, integer=True, min_n_ticks=1))
        return
    axis.set_xlabel("Action, and how often it was taken")
    labels = [f"{arm}\n{pulls}x" for arm, pulls in enumerate(arms.pulls_of_arms)]
    axis.set_xticks(range(num_arms), labels)
