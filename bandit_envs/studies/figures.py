"""Figures of studies. They are drawn without a display."""

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number
from bandit_envs.metrics import QUANTITIES
from bandit_envs.studies.choice import SYMBOLS, PolicyChoice
from bandit_envs.studies.plots import (
    STYLES,
    draw_band,
    log2_axis,
    log_axis,
    tidy,
    to_image,
)
from bandit_envs.studies.results import PairResult
from bandit_envs.studies.study import Study

MARKERS = {"exact": "x", "reference run": "+", "published": "*"}
"""How expected values are marked, by their source."""

MAX_ROWS = 20
"""A figure has rows of axes for at most so many environments."""

LONGEST_OF_TWO = 40
"""Labels of at most so many letters fit in two columns in the narrowest figure."""


class Mark(NamedTuple):
    """A kind of expected values on an axis."""

    axis: Axes
    marker: str
    label: str


def study_figure(study: Study, pairs: Sequence[PairResult], file_format: str = "png") -> bytes:
    """Returns the figure of a study; for the panel "arms", a picture of one problem.

    Args:
        study: the study.
        pairs: what has finished of it.
        file_format: "png", "svg" or "pdf"; for a picture of a problem, "png".
    """
    if "arms" not in study.panels:
        return to_image(draw_study(study, pairs), file_format)
    if file_format != "png":
        raise ValueError(f"a picture of arms is no {file_format}; expected a file ending in .png")
    env = study.environment[0].make(1, np.random.SeedSequence(study.seed))
    env.reset()
    buffer = io.BytesIO()
    imsave(buffer, env.render("rgb_array"), format="png")
    return buffer.getvalue()


def draw_study(study: Study, pairs: Sequence[PairResult]) -> Figure:
    """Returns a figure of curves over steps, with a row of axes for each environment.

    If the study says what to draw `over`, the last steps are drawn over that. Without panels, mean
    rewards are drawn over the parameter that varies. Bands reach one standard error to each side of
    means, or from one quantile to the other around medians. Black marks are expected values and
    bounds.

    Args:
        study: the study.
        pairs: what has finished of it.
    """
    figure = Figure(layout="constrained")
    axes = _add_axes(figure, study)
    if study.over:
        num_lines = _draw_over(study, pairs, axes)
    elif study.panels:
        num_lines = _draw_curves(study, pairs, axes)
    else:
        num_lines = _draw_parameters(study, pairs, axes[0, 0])
    for axis in figure.axes:
        tidy(axis)
    _add_legend(figure, num_lines)
    return figure


def warn_of_rows(study: Study) -> str:
    """Returns which environments a figure shows, if it does not show all; else ""."""
    number = len(study.environment)
    if number <= MAX_ROWS or study.over or not study.panels or "arms" in study.panels:
        return ""
    return f"the first {MAX_ROWS} of {number} environments"


def _add_axes(figure: Figure, study: Study) -> NDArray[np.object_]:
    """Sets the size and the title of a figure, and returns its axes, by row and panel.

    The panels of one row stand one above the other.
    """
    num_panels = max(len(study.panels), 1)
    num_rows = min(len(study.environment), MAX_ROWS)
    if study.over or not study.panels:
        num_rows = 1
    width = 8.0
    if num_rows > 1:
        width = max(width, 4.0 * num_panels)
        height = 2.6 * num_rows
    else:
        height = 3.4 * num_panels if study.panels else 4.6
    figure.set_size_inches(width, 0.8 + height)
    title = [study.title, warn_of_rows(study), study.spread if study.quantiles else ""]
    figure.suptitle("\n".join(filter(None, title)), fontsize=12, parse_math=False)
    shape = (num_rows, num_panels) if num_rows > 1 else (num_panels, 1)
    axes: NDArray[np.object_] = figure.subplots(*shape, sharex=True, squeeze=False)
    return axes.reshape(num_rows, num_panels)


def _add_legend(figure: Figure, num_lines: int) -> None:
    """Adds a legend below the axes, which says how many lines there are if some are not drawn."""
    handles = {}
    for axis in figure.axes:
        for line, label in zip(*axis.get_legend_handles_labels()):
            handles[label] = line
    longest = max(map(len, handles), default=0)
    columns = 2 if longest <= LONGEST_OF_TWO else 1
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        title=f"the first {len(STYLES)} of {num_lines}" if num_lines > len(STYLES) else None,
    )
    figure.set_figheight(figure.get_figheight() + 0.2 * len(handles) / columns)


def _draw_curves(study: Study, pairs: Sequence[PairResult], axes: NDArray[np.object_]) -> int:
    """Draws curves over steps and returns how many there are in an axis."""
    styles = dict(zip(map(str, study.policy), STYLES))
    rows = dict(zip(map(str, study.environment), axes))
    for pair in pairs:
        style = styles.get(str(pair.policy))
        row = rows.get(str(pair.environment))
        if style is not None and row is not None:
            label = ", ".join(pair.policy.parts())
            for panel, axis in zip(study.panels, row):
                draw_band(axis, pair.band(panel, study), label=label, **style)
    _mark_expected(study, axes, lambda index, step: step)
    _finish_axes(study, axes, "Steps")
    if len(axes) > 1:
        for row, environment in zip(axes, study.environment):
            row[0].set_title(", ".join(environment.parts()), fontsize=9, loc="left")
    return len(study.policy)


def _draw_over(study: Study, pairs: Sequence[PairResult], axes: NDArray[np.object_]) -> int:
    """Draws the last steps over numbers, one for each environment; returns how many lines."""
    ((name, numbers),) = study.over.items()
    number_of = dict(zip(map(str, study.environment), numbers))
    lines: dict[str, list[list[tuple[float, ...]]]] = {}
    for pair in pairs:
        label = pair.policy.entry.title if study.paired else ", ".join(pair.policy.parts())
        x = number_of[str(pair.environment)]
        points = [(x, *pair.band(panel, study)[1:, -1]) for panel in study.panels]
        lines.setdefault(label, []).append(points)
    for (label, points_of_line), style in zip(lines.items(), STYLES):
        bands = np.array(sorted(points_of_line)).transpose(1, 2, 0)
        for axis, band in zip(axes[0], bands):
            draw_band(axis, band, label=label, marker="o", **style)
    _mark_expected(study, axes, lambda index, step: numbers[index])
    _finish_axes(study, axes, name)
    return len(lines)


def _mark_expected(
    study: Study, axes: NDArray[np.object_], x_of: Callable[[int, int], float]
) -> None:
    """Draws expected values of what the panels show.

    Args:
        study: the study.
        axes: by row and panel.
        x_of: returns where the value of an environment and a step is drawn.
    """
    marks: dict[Mark, dict[str, list[tuple[float, float]]]] = {}  # a line for each policy
    for item in study.expected:
        if item["metric"] not in study.panels:
            continue
        column = study.panels.index(item["metric"])
        source = item["source"].partition(":")[0]
        policy = "" if study.paired else str(item.get("policy"))
        for index, environment in enumerate(study.environment):
            row = 0 if study.over else index
            is_here = item.get("environment", str(environment)) == str(environment)
            if not is_here or row >= len(axes):
                continue
            point = x_of(index, item.get("step", study.steps))
            if "value" in item:
                mark = Mark(axes[row, column], MARKERS[source], source)
                lines = marks.setdefault(mark, {})
                lines.setdefault(policy, []).append((point, item["value"]))
            # Far above the curves, bounds over steps would squeeze them.
            elif study.over and "at_most" in item:
                mark = Mark(axes[row, column], "v", f"{source}: upper bound")
                lines = marks.setdefault(mark, {})
                lines.setdefault(policy, []).append((point, item["at_most"]))
    style = ":" if study.over else ""
    for (axis, marker, label), lines in marks.items():
        for points in lines.values():
            x, y = zip(*points)
            axis.plot(x, y, marker, label=label, ls=style, lw=0.8, color="black", zorder=3)


def _finish_axes(study: Study, axes: NDArray[np.object_], x_label: str) -> None:
    """Scales and names the axes."""
    for row in axes:
        for axis, panel in zip(row, study.panels):
            quantity = QUANTITIES[panel]
            so_far = study.quantiles and quantity.is_share
            axis.set_ylabel(f"{quantity.axis}, so far" if so_far else quantity.axis)
            if "x" in study.log_axes:
                log_axis(axis, "x")
            if quantity.limits:
                axis.set_ylim(quantity.limits)
                axis.yaxis.set_major_formatter("{x:.0f}%")
            elif "y" in study.log_axes:
                log_axis(axis, "y")
    lowest = axes[-1] if len(axes) > 1 else axes[0, -1:]
    for axis in lowest:
        axis.set_xlabel(x_label)


def _draw_parameters(study: Study, pairs: Sequence[PairResult], axis: Axes) -> int:
    """Draws mean rewards over a parameter and returns how many lines there are."""
    varied = {policy.name: _find_varied(study.policy, policy.name) for policy in study.policy}
    lines: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for pair in pairs:
        key = varied[pair.policy.name]
        x = check_number(key, pair.policy.parameters[key]) if key else 0.0
        label = study.label(pair.environment, pair.policy, without=key)
        point = (x, *pair.band("mean_reward", study)[1:, -1])
        lines.setdefault((label, key), []).append(point)
    is_log = True
    symbols = {}
    for ((label, key), points), style in zip(lines.items(), STYLES):
        band = np.array(sorted(points)).T
        if key:
            symbols[key] = SYMBOLS.get(key, key)
            is_log = is_log and bool((band[0] > 0.0).all())
            draw_band(axis, band, label=f"{label}, over {symbols[key]}", marker="o", **style)
        else:  # nothing varies: a line from edge to edge
            line = np.repeat(band[:, :1], 2, axis=1)
            line[0] = [0.0, 1.0]
            draw_band(axis, line, label=label, transform=axis.get_yaxis_transform(), **style)
    if symbols:
        axis.set_xlabel("Parameter: " + "  ".join(dict.fromkeys(symbols.values())))
        if is_log:
            log2_axis(axis)
    axis.set_ylabel(f"Average reward over first {study.steps} steps")
    return len(lines)


def _find_varied(choices: Sequence[PolicyChoice], name: str) -> str:
    """Returns the last parameter of numbers in which policies of a name differ, or ""."""
    policies = [policy for policy in choices if policy.name == name]
    for key in reversed(list(policies[0].parameters)):
        values = [policy.parameters.get(key) for policy in policies]
        if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
            return key
    return ""
