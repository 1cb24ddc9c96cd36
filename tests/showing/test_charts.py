"""Charts of pages: where panels stand, and what they have."""

import base64
import json
import re

import numpy as np
import pytest

pytest.importorskip("plotly")

from plotly.graph_objects import Figure

from bandit_envs.showing.chart_texts import cut, cut_apart, whole
from bandit_envs.showing.charts import (
    CONFIG,
    Curve,
    Dots,
    Facet,
    Interval,
    Panel,
    Scale,
    draw_intervals,
    draw_panels,
    to_html,
)

STEPS = np.arange(1.0, 1001.0)
BAND = np.array([STEPS, STEPS, STEPS - 1.0, STEPS + 1.0])


def panels(number, **options):
    curves = [Curve("one", BAND, 0), Curve("two", BAND, 1)]
    return [Panel(f"panel {place}", curves, **options) for place in range(number)]


def draw(number, facets=2, **scale):
    titles = [f"place {place}" for place in range(facets)]
    chart = draw_panels([Facet(title, panels(number)) for title in titles], Scale("Steps", **scale))
    return Figure(chart)  # which checks all values


@pytest.mark.parametrize(("number", "columns", "rows"), [(1, 1, 2), (2, 2, 2), (3, 1, 6)])
def test_two_panels_stand_side_by_side_and_three_are_stacked(number, columns, rows):
    chart = draw(number)
    axes = [chart.layout[name] for name in chart.layout if name.startswith("xaxis")]
    assert len({axis.domain[0] for axis in axes}) == columns
    uprights = [chart.layout[name] for name in chart.layout if name.startswith("yaxis")]
    assert len({axis.domain[0] for axis in uprights}) == rows
    (shared,) = {axis.matches for axis in axes} - {None}  # so that a zoom is one of all
    assert [axis.matches for axis in axes].count(shared) == len(axes) - 1
    assert [each.text for each in chart.layout.annotations] == ["place 0", "place 1"]


def test_each_facet_names_its_lines_once():
    chart = draw(3)
    named = [(trace.legend, trace.name) for trace in chart.data if trace.showlegend]
    assert sorted(named) == [
        ("legend", "one"),
        ("legend", "two"),
        ("legend2", "one"),
        ("legend2", "two"),
    ]
    groups = {trace.legendgroup for trace in chart.data}
    assert groups == {"one", "two"}


def test_a_curve_has_few_points_and_its_ends():
    trace = draw(1, facets=1).data[1]
    assert len(trace.x) < 250
    assert (trace.x[0], trace.x[-1]) == (1.0, 1000.0)


def test_positions_may_have_names_and_a_curve_no_band():
    nothing = np.full(3, np.nan)
    curve = Curve("one", np.array([[0, 1, 2], [0.1, np.nan, 0.3], nothing, nothing]), 0)
    panel = Panel("share", [curve], level=1.0)
    scale = Scale("Start", names=["may", "june", "july"])
    chart = Figure(draw_panels([Facet("", [panel])], scale))
    (trace,) = chart.data
    assert list(trace.x) == ["may", "june", "july"]
    assert trace.mode == "lines+markers"
    assert "customdata" not in trace.hovertemplate
    assert len(chart.layout.shapes) == 1
    assert chart.layout.xaxis.type == "category"


def test_intervals_fill_their_axis_wherever_they_are():
    intervals = [Interval("a", "ips", 1000.0, 999.0, 1001.0)]
    chart = Figure(draw_intervals([Dots("Mean reward", intervals, (1000.5, 1000.0, 1001.5))]))
    low, high = chart.layout.xaxis.range
    assert 998.5 < low < 999.0
    assert 1001.5 < high < 1002.0


def test_an_axis_does_not_show_rounding():
    intervals = [Interval("a", "ips", 0.3, 0.3, 0.1 + 0.2)]
    chart = Figure(draw_intervals([Dots("Mean reward", intervals, (0.3, 0.3, 0.3))]))
    assert chart.layout.xaxis.range is None


def test_only_the_first_chart_of_a_page_has_the_script_and_none_an_upload():
    chart = draw_panels([Facet("", panels(1))], Scale("Steps"))
    first, second = (to_html(chart, place) for place in (0, 1))
    assert len(first) > 2_000_000 > len(second)
    assert '"showSendToCloud": false' in second
    assert CONFIG["showSendToCloud"] is False
    assert to_html(chart, 1) == second


def test_a_page_holds_the_numbers_of_a_curve_in_few_bytes():
    page = to_html(draw_panels([Facet("", panels(1))], Scale("Steps")), 1)
    traces = json.loads(re.search(r'"chart-1",\s*(\[.*?\]),\s*\{"', page, re.S)[1])
    band, line = traces[:2]
    assert [line[name]["dtype"] for name in ("x", "y", "customdata")] == ["u2", "f4", "f4"]
    x, y, ends = (
        np.frombuffer(base64.b64decode(line[name]["bdata"]), line[name]["dtype"])
        for name in ("x", "y", "customdata")
    )
    np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(ends.reshape(-1, 2), np.stack([y - 1.0, y + 1.0], axis=1))
    assert line["customdata"]["shape"] == f"{len(x)}, 2"
    assert band["x"]["shape"] == str(2 * len(x))


LONG = "policy " + "x" * 200


def test_a_long_name_is_cut_in_a_legend_and_whole_beside_a_point():
    chart = Figure(draw_panels([Facet(LONG, [Panel(LONG, [Curve(LONG, BAND, 0)])])], Scale(LONG)))
    line = chart.data[1]
    assert line.name == cut(LONG)
    assert line.hovertemplate.startswith(f"{whole(LONG)}<br>%{{x:,}}")
    assert whole(LONG).replace("<br>", "") == LONG
    title = chart.layout.annotations[0]
    assert title.hovertext == whole(LONG)
    for text in (line.name, title.text, chart.layout.xaxis.title.text):
        assert len(text) <= 90


def test_intervals_show_names_cut_and_keep_their_rows_apart():
    rows = [f"{'x' * 100}{number}{'x' * 100}" for number in range(3)]
    intervals = [Interval(row, LONG, 1.0, 0.5, 1.5) for row in rows]
    chart = Figure(draw_intervals([Dots("Mean reward", intervals, (1.0, 1.0, 1.0))]))
    (dots,) = chart.data
    assert list(chart.layout.yaxis.tickvals) == list(dots.y) == rows
    assert list(chart.layout.yaxis.ticktext) == list(cut_apart(rows).values())
    assert dots.hovertext[2] == whole(f"{rows[2]}, {LONG}")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["greedy", "a < b", "x\x1b"], ["greedy", "a &lt; b", r"x\x1b"]),
        (["x" * 40], ["x" * 40]),
        (["a" * 30 + "b" * 30], ["a" * 26 + "…" + "b" * 13]),
        (
            ["x" * 41, "x" * 42, "y"],
            ["x" * 26 + "…" + "x" * 13 + end for end in ("", " (2)")] + ["y"],
        ),
    ],
)
def test_names_are_cut_and_stay_apart(names, shown):
    assert list(cut_apart(names).values()) == shown
