"""Curves of statistics on matplotlib's axes."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from bandit_envs.metrics import Statistics
from bandit_envs.showing.plots import log2_axis, plot_curves

RUNS = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 0.0]])


@pytest.fixture
def axis():
    return Figure().subplots()


def test_a_line_is_the_mean_and_its_band_one_standard_error(axis):
    plot_curves(axis, {"runs": Statistics.from_values(RUNS)})
    np.testing.assert_allclose(axis.lines[0].get_xydata(), [[1, 2], [2, 2], [3, 2]])
    edges = axis.collections[0].get_paths()[0].vertices
    assert {(1.0, 1.0), (1.0, 3.0), (3.0, 0.0), (3.0, 4.0)} <= set(map(tuple, edges.tolist()))


def test_lines_of_several_calls_differ_in_style(axis):
    for label in ("first", "second"):
        plot_curves(axis, {label: Statistics.from_values(RUNS)}, x=[10, 20, 30], marker="o")
    assert axis.lines[0].get_color() != axis.lines[1].get_color()
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["first", "second"]


def test_a_single_run_has_a_line_without_a_band(axis):
    plot_curves(axis, {"run": Statistics.from_values(RUNS[:1])})
    heights = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert set(heights.tolist()) <= set(RUNS[0].tolist())


def test_ticks_are_powers_of_two_written_as_fractions(axis):
    axis.plot([0.25, 0.5, 1.0, 2.0, 4.0], np.zeros(5))
    log2_axis(axis)
    axis.figure.draw_without_rendering()
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert {"1/4", "1/2", "1", "2", "4"} <= set(labels)
