"""Charts of pages, drawn by Plotly: one points at them for values, zooms, and hides lines."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from plotly import graph_objects
from plotly.subplots import make_subplots

from bandit_envs.showing.plots import COLORS, LINES

POINTS = 200
"""A curve has at most about so many points."""

ALL_POINTS = 60_000
"""All curves of a chart together have at most about so many points, of 40 bytes each."""

ROW = 280
"""The height of a row of panels, in pixels."""

DASHES = dict(zip(LINES, ("solid", "dash", "dot", "dashdot")))

VALUE = "%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g})"

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["lasso2d", "select2d"],
    "responsive": True,
    "showSendToCloud": False,
}
"""What buttons a chart has: none that would send it to Plotly's servers."""


class Line(NamedTuple):
    """A line with its band; those of one name are hidden and shown together."""

    name: str
    band: NDArray[np.float64]
    """Positions, the line, and the ends of the band, [4, n]."""

    place: int
    """Among the names, which decides how it looks."""

    color: str = ""
    """In place of the one of its place."""


class Panel(NamedTuple):
    """Axes with lines."""

    label: str
    """Of the vertical axis."""

    lines: Sequence[Line]
    limits: tuple[float, float] | None = None
    """In percent; None to fit the lines."""

    marks: Sequence[tuple[float, float, str]] = ()
    """Points with their names."""


def draw_panels(
    rows: Sequence[Sequence[Panel]], titles: Sequence[str], x_label: str, log_axes: Iterable[str]
) -> graph_objects.Figure:
    """Returns a chart of panels in rows, each row with a title and with names to click on."""
    height = ROW * len(rows) + 60
    chart = make_subplots(
        len(rows),
        len(rows[0]),
        shared_xaxes="all",
        vertical_spacing=70 / height,
        horizontal_spacing=0.12,
        subplot_titles=[
            f"<b>{_escape(title)}</b>" if place == 0 else ""
            for title, row in zip(titles, rows)
            for place in range(len(row))
        ],
    )
    chart.update_annotations(font_size=13, x=0.0, xanchor="left")
    number = sum(len(panel.lines) for row in rows for panel in row)
    points = min(POINTS, max(40, ALL_POINTS // max(number, 1)))
    for i, row in enumerate(rows, start=1):
        top = chart.get_subplot(i, 1).yaxis.domain[1]
        legend = {"x": 1.01, "y": top, "yanchor": "top", "tracegroupgap": 0}
        chart.update_layout({_legend(i): {**legend, "maxheight": ROW - 70}})
        for j, panel in enumerate(row, start=1):
            is_log = "y" in log_axes and not panel.limits
            for line in panel.lines:
                traces = _traces(line, points, is_log)
                traces[1].showlegend = j == 1
                chart.add_traces(traces, rows=i, cols=j)
            for x, y, name in panel.marks:
                mark = {"symbol": "x", "color": "black"}
                chart.add_scatter(
                    x=[x], y=[y], name=_escape(name), marker=mark, showlegend=False, row=i, col=j
                )
            chart.update_yaxes(
                title=panel.label,
                type="log" if is_log else "linear",
                range=panel.limits,
                ticksuffix="%" if panel.limits else "",
                row=i,
                col=j,
            )
        chart.update_traces(legend=_legend(i), row=i)
    chart.update_xaxes(type="log" if "x" in log_axes else "linear", showticklabels=True)
    chart.update_xaxes(title=x_label, row=len(rows))
    return finish(chart, height)


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


def draw_intervals(panels: Sequence[Dots]) -> graph_objects.Figure:
    """Returns a chart of panels beside each other, with a line for each row of intervals."""
    chart = make_subplots(1, len(panels), shared_yaxes=True, horizontal_spacing=0.03)
    groups = list(dict.fromkeys(each.group for each in panels[0].intervals))
    rows = dict.fromkeys(each.row for each in panels[0].intervals)
    for column, panel in enumerate(panels, start=1):
        for place, group in enumerate(groups):
            own = [each for each in panel.intervals if each.group == group]
            if not own:
                continue
            _, _, values, lows, highs = map(list, zip(*own))
            name = _escape(group)
            chart.add_scatter(
                x=values,
                y=[_escape(each.row) for each in own],
                error_x={
                    "array": np.subtract(highs, values),
                    "arrayminus": np.subtract(values, lows),
                },
                customdata=np.stack([lows, highs], axis=1),
                hovertemplate=f"%{{y}}, {name}<br>{VALUE.replace('{y', '{x')}<extra></extra>",
                mode="markers",
                orientation="h",
                marker_color=COLORS[place % len(COLORS)],
                name=name,
                legendgroup=name,
                offsetgroup=name,
                showlegend=column == 1,
                row=1,
                col=column,
            )
        line, low, high = panel.line
        own_axes = {"row": 1, "col": column}
        chart.add_vrect(low, high, fillcolor="gray", opacity=0.15, line_width=0, **own_axes)
        look = {"color": "gray", "dash": "dash", "width": 1}
        look = {"color": "gray", "dash": "dash", "width": 1}
        chart.add_vline(line, line=look, opacity=1.0, **own_axes)
        chart.update_xaxes(title=_escape(panel.label), **own_axes)
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_layout(scattermode="group")
    return finish(chart, 120 + len(rows) * (20 + 16 * len(groups)))


def draw_steps(
    heights: Mapping[str, NDArray[np.float64]], edges: NDArray[np.float64], x: str, y: str
) -> graph_objects.Figure:
    """Returns a chart of histograms on logarithmic axes, as lines."""
    chart = graph_objects.Figure()
    for place, (name, values) in enumerate(heights.items()):
        chart.add_scatter(
            x=edges,
            y=np.append(values, values[-1:]),
            line={"color": COLORS[place % len(COLORS)], "shape": "hv"},
            hovertemplate=f"{_escape(name)}<br>%{{x:.3g}}: %{{y:.3%}}<extra></extra>",
            mode="lines",
            name=_escape(name),
            showlegend=True,
        )
    chart.update_xaxes(title=x, type="log")
    chart.update_yaxes(title=y, type="log", tickformat="~%")
    return finish(chart, ROW + 60)


def finish(chart: graph_objects.Figure, height: int) -> graph_objects.Figure:
    """Returns a chart in the style of all, of a height in pixels."""
    return chart.update_layout(
        template="simple_white", height=height, margin={"l": 10, "r": 10, "t": 40, "b": 40}
    )


def to_html(chart: graph_objects.Figure, place: int) -> str:
    """Returns a chart as a part of a page, the first of which, at place 0, has Plotly's script."""
    return str(
        chart.to_html(
            config=CONFIG, full_html=False, include_plotlyjs=place == 0, div_id=f"chart-{place}"
        )
    )


def _traces(line: Line, points: int, is_log: bool) -> list[Any]:
    """Returns a band and its line."""
    x, y, low, high = _thin(line.band, points)
    if is_log and (low > 0.0).any():
        low = np.where(low > 0.0, low, low[low > 0.0].min())
    name = _escape(line.name)
    color = line.color or COLORS[line.place % len(COLORS)]
    dash = DASHES[LINES[line.place // len(COLORS) % len(LINES)]]
    own: dict[str, Any] = {"name": name, "legendgroup": name, "mode": "lines"}
    band = graph_objects.Scatter(
        x=np.append(x, x[::-1]),
        y=np.append(high, low[::-1]),
        fill="toself",
        line={"width": 0, "color": color},
        opacity=0.45,
        hoverinfo="skip",
        showlegend=False,
        **own,
    )
    curve = graph_objects.Scatter(
        x=x,
        y=y,
        line={"color": color, "dash": dash, "width": 1.5},
        customdata=np.stack([low, high], axis=1),
        hovertemplate=f"{name}<br>%{{x:,}}: {VALUE}<extra></extra>",
        **own,
    )
    return [band, curve]


def _thin(band: NDArray[np.float64], points: int) -> NDArray[np.float32]:
    """Returns at most about so many points of a band, closer at first."""
    size = band.shape[1]
    first = np.arange(min(size, points // 8))
    spread = np.linspace(0, size - 1, min(points, size)).astype(np.int64)
    return band[:, np.union1d(first, spread)].astype(np.float32)


def _legend(row: int) -> str:
    """Returns the name of the legend of a row."""
    return "legend" if row == 1 else f"legend{row}"


def _escape(text: str) -> str:
    """Returns a text in which Plotly finds no tags."""
    return html.escape(text, quote=False)
