"""Charts of pages, drawn by Plotly: one points at them for values, zooms, and hides lines."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from plotly import graph_objects, io
from plotly.subplots import make_subplots

from bandit_envs.rounding import is_constant
from bandit_envs.showing.chart_texts import TITLE, cut, cut_apart, whole
from bandit_envs.showing.styles import COLORS, LINES

Chart: TypeAlias = dict[str, Any]
"""Plotly's data and layout as plain values, as Plotly's objects check all values, which is slow."""

POINTS = 200
"""A curve has at most about so many points."""

ALL_POINTS = 60_000
"""All curves of a chart together have at most about so many points, of about 35 bytes each."""

FEW = 30
"""The points of a curve of at most so many have dots."""

BESIDE = 2
"""At most so many panels of a group stand side by side; more are stacked."""

ROW = 280
"""The height of a row of panels, in pixels."""

DASHES = dict(zip(LINES, ("solid", "dash", "dot", "dashdot")))

REFERENCE = {"color": "gray", "dash": "dash", "width": 1}
"""How a line across a panel looks."""

CLEAR = "rgba(0,0,0,0)"
"""The background: that of the page, light or dark."""

PADDING = 0.05
"""The share of an axis that stays free beside intervals."""

VALUE = "%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g})"

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["lasso2d", "select2d"],
    "responsive": True,
    "showSendToCloud": False,
}
"""What buttons a chart has: none that would send it to Plotly's servers."""


class Curve(NamedTuple):
    """A line with its band; those of one name are hidden and shown together."""

    name: str

    band: NDArray[np.float64]
    """Positions, the line, and the ends of the band, [4, n]; NaN where they are missing."""

    place: int
    """Among the names, which decides how it looks."""

    color: str = ""
    """In place of the one of its place."""


class Panel(NamedTuple):
    """Axes with curves."""

    label: str
    """Of the vertical axis."""

    curves: Sequence[Curve]
    limits: tuple[float, float] | None = None
    """In percent; None to fit the curves."""

    marks: Sequence[tuple[float, float, str]] = ()
    """Points with their names."""

    level: float | None = None
    """A line across; None for none."""


class Facet(NamedTuple):
    """Panels below a title, with names to click on; all groups of a chart have as many."""

    title: str
    panels: Sequence[Panel]


class Scale(NamedTuple):
    """The horizontal axis of all panels, which they share."""

    label: str
    log_axes: Sequence[str] = ()
    """Which axes are logarithmic: some of x and y."""

    names: Sequence[str] = ()
    """Of the positions 0, 1, ..., if they are no numbers."""


def draw_panels(groups: Sequence[Facet], scale: Scale) -> Chart:
    """Returns a chart of groups of panels: two panels are side by side, and more are stacked."""
    number = len(groups[0].panels)
    columns = number if number <= BESIDE else 1
    rows = number // columns
    height = ROW * rows * len(groups) + 60
    chart = make_subplots(
        rows * len(groups),
        columns,
        shared_xaxes="all",
        vertical_spacing=70 / height,
        horizontal_spacing=0.12,
        subplot_titles=[
            cut(group.title, TITLE) if place == 0 else ""
            for group in groups
            for place in range(number)
        ],
    )
    chart.update_annotations(font={"size": 13, "weight": 700}, x=0.0, xanchor="left")
    for annotation, group in zip(chart.layout.annotations, groups):
        annotation.hovertext = whole(group.title) if len(group.title) > TITLE else None
    total = sum(len(panel.curves) for group in groups for panel in group.panels)
    points = min(POINTS, max(40, ALL_POINTS // max(total, 1)))
    names = cut_apart(
        curve.name for group in groups for panel in group.panels for curve in panel.curves
    )
    traces: list[dict[str, Any]] = []
    legends = {}
    for place, group in enumerate(groups):
        first = place * rows + 1
        name = "legend" if place == 0 else f"legend{place + 1}"
        top = chart.get_subplot(first, 1).yaxis.domain[1]
        look = {"x": 1.01, "yanchor": "top", "tracegroupgap": 0, "maxheight": ROW * rows - 70}
        legends[name] = {"y": top, **look}
        for index, panel in enumerate(group.panels):
            at = {"row": first + index // columns, "col": 1 + index % columns}
            is_log = "y" in scale.log_axes and not panel.limits
            axes = chart.get_subplot(**at)
            own = {
                "xaxis": axes.xaxis.plotly_name.replace("axis", ""),
                "yaxis": axes.yaxis.plotly_name.replace("axis", ""),
                "legend": name,
            }
            for curve in panel.curves:
                shared = {**own, "name": names[curve.name], "showlegend": index == 0}
                traces += _traces(curve, points, scale, is_log, shared)
            _finish_panel(chart, panel, is_log, at)
    chart.update_layout(legends)
    kind = "category" if scale.names else "log" if "x" in scale.log_axes else "linear"
    chart.update_xaxes(type=kind, showticklabels=True)
    chart.update_xaxes(title=cut(scale.label), row=rows * len(groups))
    return _finish(chart, height, traces)


def _finish_panel(
    chart: graph_objects.Figure, panel: Panel, is_log: bool, at: Mapping[str, int]
) -> None:
    """Adds the marks of a panel, the line across it, and what its vertical axis says."""
    for x, y, name in panel.marks:
        chart.add_scatter(
            x=[x],
            y=[y],
            hovertemplate=f"{whole(name)}<br>%{{x:,}}: %{{y:.4g}}<extra></extra>",
            marker={"symbol": "x", "color": "black"},
            showlegend=False,
            **at,
        )
    if panel.level is not None:
        look = {"line": REFERENCE, "opacity": 1.0}
        chart.add_hline(panel.level, exclude_empty_subplots=False, **look, **at)
    chart.update_yaxes(
        title=cut(panel.label),
        type="log" if is_log else "linear",
        range=panel.limits,
        ticksuffix="%" if panel.limits else "",
        **at,
    )


class Interval(NamedTuple):
    """A value with the ends of its interval; those of one group have a colour."""

    row: str
    group: str
    value: float
    low: float
    high: float


class Dots(NamedTuple):
    """Axes with intervals, and a line across them, with a band if it is known to a band."""

    label: str
    intervals: Sequence[Interval]
    line: tuple[float, float, float]


def draw_intervals(panels: Sequence[Dots]) -> Chart:
    """Returns a chart of panels beside each other, with a line for each row of intervals."""
    chart = make_subplots(1, len(panels), shared_yaxes=True, horizontal_spacing=0.03)
    groups = list(dict.fromkeys(each.group for each in panels[0].intervals))
    names = cut_apart(groups)
    rows = cut_apart(each.row for panel in panels for each in panel.intervals)
    for column, panel in enumerate(panels, start=1):
        at = {"row": 1, "col": column}
        for place, group in enumerate(groups):
            own = [each for each in panel.intervals if each.group == group]
            if not own:
                continue
            _, _, values, lows, highs = map(list, zip(*own))
            chart.add_scatter(
                x=values,
                y=[each.row for each in own],
                error_x={
                    "array": np.subtract(highs, values),
                    "arrayminus": np.subtract(values, lows),
                },
                customdata=np.stack([lows, highs], axis=1),
                hovertext=[whole(f"{each.row}, {group}") for each in own],
                hovertemplate=f"%{{hovertext}}<br>{VALUE.replace('{y', '{x')}<extra></extra>",
                mode="markers",
                orientation="h",
                marker_color=COLORS[place % len(COLORS)],
                name=names[group],
                legendgroup=group,
                offsetgroup=group,
                showlegend=column == 1,
                **at,
            )
        line, low, high = panel.line
        chart.add_vrect(low, high, fillcolor="gray", opacity=0.15, line_width=0, **at)
        chart.add_vline(line, line=REFERENCE, opacity=1.0, **at)
        chart.update_xaxes(title=cut(panel.label), range=_range_of(panel), **at)
    ticks = {"tickvals": list(rows), "ticktext": list(rows.values())}
    chart.update_yaxes(autorange="reversed", type="category", **ticks)
    chart.update_layout(scattermode="group")
    return _finish(chart, 120 + len(rows) * (20 + 16 * len(groups)))


def _range_of(panel: Dots) -> list[float] | None:
    """Returns the ends of the axis of intervals; None to let Plotly find them."""
    ends = np.array([*panel.line, *(end for each in panel.intervals for end in each[2:])])
    known = ends[np.isfinite(ends)]
    if not len(known) or is_constant(known):
        return None
    free = PADDING * float(np.ptp(known))
    return [float(known.min()) - free, float(known.max()) + free]


def draw_steps(
    heights: Mapping[str, NDArray[np.float64]], edges: NDArray[np.float64], x: str, y: str
) -> Chart:
    """Returns a chart of histograms on logarithmic axes, as lines."""
    chart = graph_objects.Figure()
    names = cut_apart(heights)
    for place, (name, values) in enumerate(heights.items()):
        chart.add_scatter(
            x=edges,
            y=np.append(values, 0.0),
            line={"color": COLORS[place % len(COLORS)], "shape": "hv"},
            hovertemplate=f"{whole(name)}<br>%{{x:.3g}}: %{{y:.3%}}<extra></extra>",
            mode="lines",
            name=names[name],
            showlegend=True,
        )
    few = {"type": "log", "dtick": "D2"}  # ticks at 1, 2 and 5 times powers of ten
    chart.update_xaxes(title=x, tickformat="~g", **few)
    chart.update_yaxes(title=y, tickformat="~%", **few)
    return _finish(chart, ROW + 60)


def to_html(chart: Chart, place: int) -> str:
    """Returns a chart as a part of a page, the first of which, at place 0, has Plotly's script."""
    traces = [{key: _encode(value) for key, value in trace.items()} for trace in chart["data"]]
    shown = io.to_html(
        {**chart, "data": traces},
        config=CONFIG,
        div_id=f"chart-{place}",
        full_html=False,
        include_plotlyjs=place == 0,
        validate=False,
    )
    return str(shown)


def _encode(value: Any) -> Any:
    """Returns an array of numbers as Plotly's script reads it, and other values as they are."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fu":
        return value
    encoded = base64.b64encode(value.tobytes()).decode()
    shape = ", ".join(map(str, value.shape))
    return {"dtype": value.dtype.str[1:], "bdata": encoded, "shape": shape}


def _finish(chart: graph_objects.Figure, height: int, traces: Sequence[Any] = ()) -> Chart:
    """Returns a chart in the style of all, of a height in pixels, with more traces."""
    chart.update_layout(
        template="simple_white",
        height=height,
        margin={"l": 10, "r": 10, "t": 40, "b": 40},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        modebar={"bgcolor": CLEAR, "color": "darkgray", "activecolor": "black"},
    )
    made = chart.to_plotly_json()
    return {"data": [*made["data"], *traces], "layout": made["layout"]}


def _traces(
    curve: Curve, points: int, scale: Scale, is_log: bool, shared: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Returns the band of a curve, if it has one, and its line, as traces of Plotly.

    Args:
        curve: the curve.
        points: it has at most about so many.
        scale: of the horizontal axis.
        is_log: whether the vertical axis is logarithmic.
        shared: what says in which panel both are, and how a legend names them.
    """
    x, y, low, high = _thin(curve.band, points)
    if is_log and (low > 0.0).any():
        low = np.where(low > 0.0, low, low[low > 0.0].min())
    at = np.array(scale.names)[x.astype(np.int64)] if scale.names else _small(x)
    color = curve.color or COLORS[curve.place % len(COLORS)]
    dash = DASHES[LINES[curve.place // len(COLORS) % len(LINES)]]
    known = np.isfinite(low) & np.isfinite(high)
    value = VALUE if known.any() else "%{y:.4g}"
    position = "%{x}" if scale.names else "%{x:,}"
    shared = {"type": "scatter", "legendgroup": curve.name, **shared}
    line = {
        **shared,
        "x": at,
        "y": y,
        "mode": "lines+markers" if len(x) <= FEW else "lines",
        "line": {"color": color, "dash": dash, "width": 1.5},
        "customdata": np.stack([low, high], axis=1),
        "hovertemplate": f"{whole(curve.name)}<br>{position}: {value}<extra></extra>",
    }
    if not known.any():
        return [line]
    band = {
        **shared,
        "x": np.append(at[known], at[known][::-1]),
        "y": np.append(high[known], low[known][::-1]),
        "mode": "lines",
        "fill": "toself",
        "line": {"color": color, "width": 0},
        "opacity": 0.45,
        "hoverinfo": "skip",
        "showlegend": False,
    }
    return [band, line]


def _thin(band: NDArray[np.float64], points: int) -> NDArray[np.float32]:
    """Returns at most about so many points of a band, closer at first."""
    size = band.shape[1]
    first = np.arange(min(size, points // 8))
    spread = np.linspace(0, size - 1, min(points, size)).astype(np.int64)
    return band[:, np.union1d(first, spread)].astype(np.float32)


def _small(steps: NDArray[np.float32]) -> NDArray[Any]:
    """Returns whole numbers from 0 on in as few bytes as hold them; others as they are."""
    integers = steps.astype(np.uint32)
    if not (integers == steps).all():
        return steps
    return integers.astype(np.min_scalar_type(integers.max()))
