"""Figures of studies. They are drawn without a display."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import QUANTITIES
from bandit_envs.names.choice import SYMBOLS
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import draw_band, log2_axis, log_axis, to_image
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.expected import expected_of
from bandit_envs.studies.showing.axes import (
    add_axes,
    add_legend,
    add_title,
    axis_width,
    check_width,
    is_leftmost,
    is_lowest,
    line_styles,
    use_style,
    wrap,
)
from bandit_envs.studies.showing.ranked_policies import choose_lines
from bandit_envs.studies.showing.shown_environments import (
    choose_environments,
    describe_choice,
    page_environments,
)
from bandit_envs.studies.showing.study_tables import shows_shares

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

MARKERS = {"exact": "x", "reference run": "+", "published": "*"}
"""How expected values are marked, by their source."""


class Mark(NamedTuple):
    """A kind of expected values on an axis."""

    axis: Axes
    marker: str
    label: str


class Line(NamedTuple):
    """A line of a figure that shows last steps, over numbers or over a parameter."""

    label: str
    color: str
    """That the study gives to it; "" for the next one of the style."""

    key: str = ""
    """The parameter that varies along it."""


def study_figure(
    study: Study,
    pairs: Sequence[PairResult],
    file_format: str = "png",
) -> bytes:
    """Returns the figure of a study; for the panel "arms", a picture of one problem.

    A PDF has pages for all environments, where a figure in another format shows some.

    Args:
        study: the study.
        pairs: what has finished of it.
        file_format: "png", "svg" or "pdf"; for a picture of a problem, "png".
    """
    if "arms" in study.panels:
        return _arms_image(study, file_format)
    buffer = io.BytesIO()
    with use_style(), fonts_for(_names_in(study)):
        if file_format != "pdf":
            return to_image(draw_study(study, pairs), file_format)
        with PdfPages(buffer) as pages:
            for environments in page_environments(study):
                pages.savefig(_draw(study, pairs, environments, "", None))
    return buffer.getvalue()


def draw_study(
    study: Study,
    pairs: Sequence[PairResult],
    width: float | None = None,
    style: str | Path | None = None,
) -> Figure:
    """Returns a figure of curves over steps, with a row of axes for each environment.

    If the study says what to draw `over`, the last steps are drawn over that. Without panels, mean
    rewards are drawn over the parameter that varies. Bands reach one standard error to each side of
    means, or from one quantile to the other around medians. Black marks are expected values and
    bounds.

    Args:
        study: the study.
        pairs: what has finished of it.
        width: in inches; by default, 8.
        style: a style of matplotlib, or the file of one.
    """
    with use_style(width, style), fonts_for(_names_in(study)):
        environments = choose_environments(study, pairs)
        return _draw(study, pairs, environments, describe_choice(study), width)


def _names_in(study: Study) -> Iterator[str]:
    """Yields what users name in the figure of a study."""
    yield study.title
    yield from study.over
    yield from map(study.environment_label, study.environment)
    yield from map(study.policy_label, study.policy)


def _arms_image(study: Study, file_format: str) -> bytes:
    """Returns a picture of one problem."""
    if file_format != "png":
        raise ValueError(
            f"pictures of arms cannot be written as {file_format}; expected a file ending in .png"
        )
    env = study.environment[0].make(1, np.random.SeedSequence(study.seed))
    env.reset()
    buffer = io.BytesIO()
    imsave(buffer, env.render("rgb_array"), format="png")
    return buffer.getvalue()


def _draw(
    study: Study,
    pairs: Sequence[PairResult],
    environments: Sequence[EnvironmentChoice],
    note: str,
    width: float | None,
) -> Figure:
    """Returns a figure of some environments, with a note below its title."""
    figure = Figure(layout="constrained")
    axes = add_axes(figure, study, environments, check_width(width))
    if study.over:
        which = _draw_over(study, pairs, axes)
    elif study.panels:
        which = _draw_curves(study, pairs, axes, environments)
    else:
        which = _draw_parameters(study, pairs, axes[0, 0])
    add_title(figure, [study.title, note, study.spread if study.quantiles else ""])
    add_legend(figure, which)
    return figure


def _style_of(styles: Iterable[dict[str, Any]], colors: Iterable[str]) -> list[dict[str, Any]]:
    """Returns styles of lines, with the colours that the study gives to them."""
    return [{**style, "color": color} if color else style for style, color in zip(styles, colors)]


def _draw_curves(
    study: Study,
    pairs: Sequence[PairResult],
    axes: NDArray[np.object_],
    environments: Sequence[EnvironmentChoice],
) -> str:
    """Draws curves over steps, and returns which are drawn, "" if all are."""
    policies, which = choose_lines(
        study, pairs, {str(each): [each] for each in study.policy}, len(line_styles())
    )
    colors = [study.colors.get(policy, "") for policy in policies]
    styles = dict(zip(policies, _style_of(line_styles(), colors)))
    rows = dict(zip(map(str, environments), axes))
    for pair in pairs:
        style = styles.get(str(pair.policy))
        row = rows.get(str(pair.environment))
        if style is not None and row is not None:
            label = study.policy_label(pair.policy)
            for panel, axis in zip(study.panels, row):
                draw_band(axis, pair.band(panel, study), label=label, **style)
    _mark_expected(study, axes, environments, lambda environment, step: step)
    _finish_axes(study, pairs, axes, "Steps")
    if len(axes) > 1:
        for row, environment in zip(axes, environments):
            _title_row(study, row[0], environment)
    return which


def _title_row(study: Study, axis: Axes, environment: EnvironmentChoice) -> None:
    """Writes the label of an environment above its axes, in its colour."""
    width = axis_width(axis)
    label = study.environment_label(environment)
    if len(label) * 5.0 / 72.0 > width:
        label = ", ".join(study.own_parts(environment)) or label
    color = study.colors.get(str(environment), "black")
    title = wrap(label, width, 9.0)
    axis.set_title(title, fontsize="small", loc="left", color=color, parse_math=False)


def _draw_over(study: Study, pairs: Sequence[PairResult], axes: NDArray[np.object_]) -> str:
    """Draws the last steps over a number of each environment; returns which lines are drawn."""
    ((name, numbers),) = study.over.items()
    number_of = dict(zip(map(str, study.environment), numbers))
    lines: dict[Line, list[list[tuple[float, ...]]]] = {}
    policies: dict[Line, list[PolicyChoice]] = {}
    for pair in pairs:
        color = study.colors.get(str(pair.policy), "")
        label = study.policy_label(pair.policy)
        if study.paired:
            label = study.labels.get(str(pair.policy), pair.policy.title)
        x = number_of[str(pair.environment)]
        points = [(x, *pair.band(panel, study)[1:, -1]) for panel in study.panels]
        line = Line(label, color)
        lines.setdefault(line, []).append(points)
        policies.setdefault(line, []).append(pair.policy)
    shown, which = choose_lines(study, pairs, policies, len(line_styles()))
    styles = _style_of(line_styles(), [line.color for line in shown])
    for line, style in zip(shown, styles):
        bands = np.array(sorted(lines[line])).transpose(1, 2, 0)
        for axis, band in zip(axes[0], bands):
            draw_band(axis, band, label=line.label, marker="o", **style)
    _mark_expected(
        study, axes, study.environment, lambda environment, step: number_of[str(environment)]
    )
    _finish_axes(study, pairs, axes, name)
    return which


def _mark_expected(
    study: Study,
    axes: NDArray[np.object_],
    environments: Sequence[EnvironmentChoice],
    x_of: Callable[[EnvironmentChoice, int], float],
) -> None:
    """Draws expected values of what the panels show.

    Args:
        study: the study.
        axes: by environment and panel; of one row, for all environments.
        environments: those that are shown.
        x_of: returns where the value of an environment and a step is drawn.
    """
    marks: dict[Mark, dict[str, list[tuple[float, float]]]] = {}  # a line for each policy
    for item in expected_of(study):
        if item["metric"] not in study.panels:
            continue
        column = study.panels.index(item["metric"])
        source = item["source"].partition(":")[0]
        policy = "" if study.paired else str(item.get("policy"))
        for index, environment in enumerate(environments):
            row = 0 if study.over else index
            if item.get("environment", str(environment)) != str(environment):
                continue
            point = x_of(environment, item.get("step", study.steps))
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


def _finish_axes(
    study: Study, pairs: Sequence[PairResult], axes: NDArray[np.object_], x_label: str
) -> None:
    """Scales and names the axes."""
    names = {}
    for panel in study.panels:
        so_far = shows_shares(study, pairs, panel)
        axis_title = QUANTITIES[panel].axis
        names[panel] = f"{axis_title}, so far" if so_far else axis_title
    for row in axes:
        for axis, panel in zip(row, study.panels):
            shown = QUANTITIES[panel]
            if len(study.panels) > 1 or is_leftmost(axis):
                axis.set_ylabel(names[panel])
            if "x" in study.log_axes:
                log_axis(axis, "x")
            if shown.limits:
                axis.set_ylim(shown.limits)
                axis.yaxis.set_major_formatter("{x:.0f}%")
            elif "y" in study.log_axes:
                log_axis(axis, "y")
            if is_lowest(axis):
                axis.set_xlabel(x_label, parse_math=False)


def _draw_parameters(study: Study, pairs: Sequence[PairResult], axis: Axes) -> str:
    """Draws mean rewards over a parameter, and returns which lines are drawn, "" if all are."""
    varied = {policy.name: _find_varied(study.policy, policy.name) for policy in study.policy}
    lines: dict[Line, list[tuple[float, ...]]] = {}
    policies: dict[Line, list[PolicyChoice]] = {}
    for pair in pairs:
        key = varied[pair.policy.name]
        x = check_number(key, pair.policy.parameters[key]) if key else 0.0
        color = study.colors.get(str(pair.policy)) or study.colors.get(str(pair.environment), "")
        line = Line(study.label(pair.environment, pair.policy, without=key), color, key)
        point = (x, *pair.band("mean_reward", study)[1:, -1])
        lines.setdefault(line, []).append(point)
        policies.setdefault(line, []).append(pair.policy)
    shown, which = choose_lines(study, pairs, policies, len(line_styles()))
    is_log = True
    symbols = {}
    styles = _style_of(line_styles(), [line.color for line in shown])
    for line, style in zip(shown, styles):
        key = line.key
        band = np.array(sorted(lines[line])).T
        if key:
            symbols[key] = SYMBOLS.get(key, key)
            is_log = is_log and bool((band[0] > 0.0).all())
            draw_band(axis, band, label=f"{line.label}, over {symbols[key]}", marker="o", **style)
        else:  # nothing varies: a line from edge to edge
            edges = np.repeat(band[:, :1], 2, axis=1)
            edges[0] = [0.0, 1.0]
            transform = axis.get_yaxis_transform()
            draw_band(axis, edges, label=line.label, transform=transform, **style)
    if symbols:
        axis.set_xlabel("Parameter: " + "  ".join(dict.fromkeys(symbols.values())))
        if is_log:
            log2_axis(axis)
    axis.set_ylabel(f"Average reward over first {study.steps} steps")
    return which


def _find_varied(choices: Sequence[PolicyChoice], name: str) -> str:
    """Returns the last parameter of numbers in which policies of a name differ, or ""."""
    policies = [policy for policy in choices if policy.name == name]
    for key in reversed(list(policies[0].parameters)):
        values = [policy.parameters.get(key) for policy in policies]
        if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
            return key
    return ""
