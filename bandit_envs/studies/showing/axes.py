"""The style, axes, titles and legends of figures of studies."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib import rcParams
from matplotlib import style as styles
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.showing.plots import plain_texts
from bandit_envs.showing.styles import COLORS, LINES
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.showing.shown_environments import has_rows

WIDTH = 8.0
"""Of a figure, in inches; as wide as the text of a page."""

COLUMN = 5.0
"""Narrower figures stand in a column of text, and have smaller letters."""

BASE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "0.92",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "pdf.fonttype": 42,  # letters as letters, as journals ask for
    "savefig.dpi": 150,
}
"""What the style of a user may change."""

SMALL: dict[str, Any] = {
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "font.size": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}
"""What figures in a column have, too."""


def use_style(
    width: float | None = None, style: str | Path | None = None
) -> AbstractContextManager[None]:
    """Returns a context in which figures have the package's style, or that of a user.

    Args:
        width: of the figure, in inches.
        style: a style of matplotlib, or the file of one.
    """
    narrow = check_width(width) < COLUMN
    own: list[Any] = [BASE, SMALL if narrow else {}]
    if style is not None:
        own += [{"axes.grid": False}, style]
    return styles.context(own)


def check_width(width: float | None) -> float:
    """Returns the width of a figure in inches."""
    return WIDTH if width is None else check_number("width", width, 1.0, 100.0)


def line_styles() -> list[dict[str, Any]]:
    """Returns styles of lines that can be told apart, in the colours of the current style."""
    cycle = rcParams["axes.prop_cycle"].by_key()
    colors = cycle.get("color", COLORS)
    return [{"ls": line, "color": color} for line in LINES for color in colors]


def add_axes(
    figure: Figure, study: Study, environments: Sequence[EnvironmentChoice], width: float
) -> NDArray[np.object_]:
    """Sets the size of a figure, and returns its axes, by environment and panel.

    The panels of one environment stand one above the other. Those of several are a row each, or if
    there is one panel, stand side by side.
    """
    number = len(environments)
    if not has_rows(study) or number == 1:
        return _add_stack(figure, len(study.panels), width)
    if len(study.panels) > 1:
        return _add_rows(figure, number, len(study.panels), width)
    return _add_grid(figure, number, width)


def _add_stack(figure: Figure, num_panels: int, width: float) -> NDArray[np.object_]:
    """Adds axes one above the other; a higher one alone if there are no panels."""
    number = max(num_panels, 1)
    height = 3.4 * num_panels if num_panels else 4.6
    figure.set_size_inches(width, 0.8 + _scale(width) * height)
    axes = figure.subplots(number, 1, sharex=True, squeeze=False)
    return np.asarray(axes.reshape(1, number))


def _add_rows(figure: Figure, number: int, num_panels: int, width: float) -> NDArray[np.object_]:
    """Adds a number of rows of axes, with one axis for each panel."""
    height = 0.8 + 2.6 * _scale(width) * number
    figure.set_size_inches(max(width, _narrowest(num_panels, width)), height)
    return np.asarray(figure.subplots(number, num_panels, sharex=True, squeeze=False))


def _add_grid(figure: Figure, number: int, width: float) -> NDArray[np.object_]:
    """Adds a number of axes side by side, in as many rows as they need."""
    columns = _count_columns(number, width)
    rows = -(-number // columns)
    height = 2.6 if columns < 3 else 2.1
    figure.set_size_inches(width, 0.8 + height * max(_scale(width), 0.7) * rows)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in grid.flat[number:]:
        axis.remove()
    for axis in grid.flat[number - columns : number]:  # the lowest of each column
        axis.xaxis.set_tick_params(labelbottom=True)
    return np.asarray(grid.reshape(-1)[:number, np.newaxis])


def _scale(width: float) -> float:
    """Returns how high the axes of a figure are, as a part of those of a figure of full width."""
    return min(1.0, max(width / WIDTH, 0.55))


def axis_width(axis: Axes) -> float:
    """Returns about how wide an axis is, in inches."""
    figure = axis.get_figure(root=True)
    place = axis.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    return WIDTH if figure is None else figure.get_figwidth() / columns - 0.6


def is_leftmost(axis: Axes) -> bool:
    """Whether an axis stands at the left edge."""
    place = axis.get_subplotspec()
    return place is None or place.is_first_col()


def is_lowest(axis: Axes) -> bool:
    """Whether no axis of the figure stands below an axis."""
    place = axis.get_subplotspec()
    if place is None or axis.figure is None:
        return True
    others = [each.get_subplotspec() for each in axis.figure.axes]
    return not any(
        other is not None
        and other.colspan.start == place.colspan.start
        and other.rowspan.start > place.rowspan.start
        for other in others
    )


def add_title(figure: Figure, lines: Sequence[str]) -> None:
    """Adds a title, whose lines are no wider than the figure; the first line is larger."""
    size = FontProperties(size=rcParams["figure.titlesize"]).get_size_in_points()
    texts = [wrap(line, figure.get_figwidth(), size) for line in lines if line]
    figure.suptitle("\n".join(texts), parse_math=False)
    extra = sum(text.count("\n") + 1 for text in texts) - 1
    figure.set_figheight(figure.get_figheight() + extra * 1.3 * size / 72.0)


def wrap(text: str, width: float, size: float) -> str:
    """Returns a text in lines that fit in a width in inches, in letters of a size in points."""
    letters = max(int(width * 72.0 / (0.55 * size)), 10)
    if len(text) <= letters:
        return text
    # A list that is longer than a line breaks after commas.
    words = [word.replace(",", ", ") if len(word) > letters else word for word in text.split(" ")]
    return textwrap.fill(" ".join(words), letters, break_on_hyphens=False)


def add_legend(figure: Figure, title: str) -> None:
    """Adds a legend below the axes, with as many columns as fit, and makes room for it."""
    handles = {}
    for axis in figure.axes:
        for line, label in zip(*axis.get_legend_handles_labels()):
            handles[label] = line
    if not handles:
        return
    size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    labels = list(handles)
    if len(max(labels, key=len)) * 0.5 * size / 72.0 > figure.get_figwidth():
        labels = [wrap(label, figure.get_figwidth() - 0.6, size) for label in labels]
    for columns in (4, 3, 2, 1):
        legend = figure.legend(
            list(handles.values()),
            labels,
            loc="outside lower center",
            ncols=min(columns, len(labels)),
            title=title or None,
        )
        plain_texts(legend)
        box = legend.get_window_extent()
        if columns == 1 or box.width <= 0.97 * figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)


def _count_columns(number: int, width: float) -> int:
    """Returns how many axes stand side by side."""
    most = 3 if width >= COLUMN else 2
    return 2 if number in (2, 4) else min(number, most)


def _narrowest(num_panels: int, width: float) -> float:
    """Returns how wide a figure with so many panels side by side must be at least."""
    return 4.0 * num_panels if width >= WIDTH else width
