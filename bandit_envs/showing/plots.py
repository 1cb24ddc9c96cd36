"""Curves of statistics on matplotlib's axes, for the figures of studies and for notebooks."""

import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

from bandit_envs.showing.fonts import no_warnings_of_letters
from bandit_envs.showing.styles import COLORS, STYLES

__all__ = [
    "COLORS",
    "log2_axis",
    "plot_curves",
    "tidy",
]

LABEL = 0.35
"""So many inches of a logarithmic axis have room for a label."""


class DrawnCurve(Protocol):
    """Means with their standard errors, [T] each, such as `metrics.Statistics`."""

    @property
    def mean(self) -> NDArray[Any]: ...

    @property
    def standard_error(self) -> NDArray[Any]: ...


def plot_curves(
    axis: Axes, curves: Mapping[str, DrawnCurve], x: ArrayLike | None = None, **style: Any
) -> None:
    """Draws a mean for each point, with a band of one standard error to each side.

    Each line takes the next style of `STYLES`, also after an earlier call.

    Args:
        axis: where they are drawn.
        curves: statistics [T] by the label of their line.
        x: where the points are, [T]; by default at the steps 1 to T.
        style: arguments of `axis.plot`, such as `marker`.

    >>> from matplotlib.figure import Figure
    >>> from bandit_envs.metrics import Statistics
    >>> axis = Figure().subplots()
    >>> plot_curves(axis, {"two runs": Statistics.from_values(np.array([[1.0, 2.0], [3.0, 2.0]]))})
    >>> axis.lines[0].get_xydata().tolist()
    [[1.0, 2.0], [2.0, 2.0]]
    """
    for label, statistics in curves.items():
        mean = statistics.mean
        error = np.nan_to_num(statistics.standard_error)  # one run has none
        at = np.arange(1, len(mean) + 1) if x is None else np.asarray(x)
        band = np.array([at, mean, mean - error, mean + error])
        own_style = {"linewidth": 1.0, **STYLES[len(axis.lines) % len(STYLES)], **style}
        draw_band(axis, band, label=label, **own_style)
    tidy(axis)
    axis.legend(frameon=False)


def draw_band(axis: Axes, band: NDArray[np.float64], **style: Any) -> None:
    """Draws a line with its band [4, n]: positions, the line, and the ends of the band."""
    x, y, low, high = band
    for line in axis.lines:
        if np.array_equal(line.get_xydata(), np.stack([x, y], 1)):  # it would be hidden
            line.set_linewidth(line.get_linewidth() + 2.0)
    (line,) = axis.plot(x, y, **style)
    shade = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
    with _limits_later(axis):
        axis.fill_between(x, low, high, transform=line.get_transform(), **shade)


@contextlib.contextmanager
def _limits_later(axis: Axes) -> Iterator[None]:
    """Keeps matplotlib from finding the limits of the axes anew for each thing that is drawn.

    With many lines, this takes most of the time. They are found once all is drawn.
    """
    x_is_free = axis.get_autoscalex_on()
    y_is_free = axis.get_autoscaley_on()
    axis.set_autoscale_on(False)
    try:
        yield
    finally:
        axis.set_autoscalex_on(x_is_free)
        axis.set_autoscaley_on(y_is_free)


def tidy(axis: Axes) -> None:
    """Draws a grid behind the curves and no frame."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, color="0.92", linewidth=0.8)
    axis.set_axisbelow(True)


def plain_texts(legend: Legend) -> Legend:
    """Returns a legend in which a dollar sign in a name begins no formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def log_axis(axis: Axes, name: str) -> None:
    """Makes the "x" or "y" axis logarithmic, with ticks at 1, 2, 5, 10 if they are not too many."""
    axis.set(**{f"{name}scale": "log"})
    scaled = {"x": axis.xaxis, "y": axis.yaxis}[name]
    low, high = scaled.get_view_interval()
    box = axis.get_window_extent()
    inches = (box.width if name == "x" else box.height) / axis.figure.dpi
    if high < 1000.0 * low and 3.0 * LABEL * np.log10(high / low) < inches:
        scaled.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        scaled.set_major_formatter("{x:g}")
        scaled.set_minor_formatter(NullFormatter())


def log2_axis(axis: Axes) -> None:
    """Makes the x axis logarithmic, with a tick at each power of two, as 1/4 and 4."""
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=20))
    axis.xaxis.set_major_formatter(lambda x, position: f"1/{1 / x:g}" if x < 1 else f"{x:g}")


def to_image(figure: Figure, file_format: str = "png") -> bytes:
    """Returns a figure as "png", "svg" or "pdf"."""
    buffer = io.BytesIO()
    with no_warnings_of_letters():
        figure.savefig(buffer, format=file_format, dpi=150)
    return buffer.getvalue()
