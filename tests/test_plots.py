"""What the figures of studies show."""

import struct
import warnings

import numpy as np
import pytest

from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from bandit_envs.studies.study import Study
from bandit_envs.studies.tasks import run_task

matplotlib_figure = pytest.importorskip("matplotlib.figure")
plots = pytest.importorskip("bandit_envs.studies.curves")


def study(*policies, panels=("reward", "percent_optimal"), runs=20, environments=("testbed",)):
    return Study(
        "A study",
        tuple(map(EnvironmentSpec.parse, environments)),
        tuple(map(PolicySpec.parse, policies)),
        runs,
        15,
        panels=panels,
    )


@pytest.fixture
def draw(monkeypatch):
    """Draws a study and returns matplotlib's figure and the bytes of the PNG."""
    figures = []
    savefig = matplotlib_figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        return savefig(figure, *arguments, **options)

    monkeypatch.setattr(matplotlib_figure.Figure, "savefig", keep)

    def draw(study, results=None):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            png = plots.study_figure(study, run(study) if results is None else results)
        return figures[-1], png

    return draw


def run(study):
    """Returns the results of a study whose cells have one task each."""
    return [(cell, run_task(next(study.tasks(cell)))) for cell in study.cells()]


def test_a_figure_is_a_png_as_wide_as_the_text_of_a_page(draw):
    _, png = draw(study("greedy"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (1200, 1140)


def test_panels_stand_in_the_order_asked_for(draw):
    panels = ("percent_optimal", "cumulative_regret", "reward", "regret")
    figure, _ = draw(study("greedy", panels=panels))
    assert [axis.get_ylabel() for axis in figure.axes] == [
        *("% Optimal action", "Cumulative regret", "Average reward", "Average regret")
    ]
    assert figure.axes[-1].get_xlabel() == "Steps"
    assert figure.texts[0].get_text() == "A study"


def test_curves_are_the_means_over_steps_1_to_n(draw):
    one = study("greedy", "ucb:c=2", panels=("reward", "cumulative_regret"))
    results = run(one)
    figure, _ = draw(one, results)
    for index, (_, result) in enumerate(results):
        reward, regret = (axis.lines[index] for axis in figure.axes)
        np.testing.assert_array_equal(reward.get_xdata(), np.arange(1, 16))
        np.testing.assert_array_equal(reward.get_ydata(), result.metrics["reward"].per_step.mean)
        np.testing.assert_array_equal(regret.get_ydata(), result.metrics["regret"].cumulative.mean)


def test_bands_reach_one_standard_error_to_each_side(draw):
    one = study("greedy", panels=("reward",))
    results = run(one)
    figure, _ = draw(one, results)
    statistics = results[0][1].metrics["reward"].per_step
    (band,) = figure.axes[0].collections
    vertices = band.get_paths()[0].vertices
    for step, mean, error in zip(range(1, 16), statistics.mean, statistics.standard_error):
        edges = vertices[vertices[:, 0] == step, 1]
        assert edges.min() == pytest.approx(mean - error)
        assert edges.max() == pytest.approx(mean + error)


def test_percentages_are_drawn_from_0_to_100(draw):
    figure, _ = draw(study("greedy", panels=("percent_optimal",)))
    (axis,) = figure.axes
    assert axis.get_ylim() == (0, 100)
    assert axis.yaxis.get_major_formatter()(40.0) == "40%"


def test_the_legend_names_the_policies_as_the_book_does(draw):
    policies = [
        *("greedy", "epsilon_greedy:epsilon=0.1,step_size=0.2", "ucb:c=2", "thompson"),
        "gradient:step_size=0.4,baseline=false",
    ]
    figure, _ = draw(study(*policies))
    assert [text.get_text() for text in figure.axes[-1].get_legend().get_texts()] == [
        *("greedy", "ε-greedy, ε=0.1, α=0.2", "UCB, c=2", "Thompson sampling"),
        "gradient bandit, α=0.4, baseline=false",
    ]


def test_curves_can_be_told_apart(draw):
    policies = [f"ucb:c={c}" for c in range(1, 13)]
    figure, _ = draw(study(*policies, panels=("reward",)))
    styles = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(styles) == 12


def test_one_run_has_no_band_and_is_drawn(draw):
    figure, png = draw(study("greedy", runs=1))
    assert png.startswith(b"\x89PNG")
    assert len(figure.axes[0].lines) == 1


def test_what_is_finished_is_drawn_without_the_rest(draw):
    one = study("greedy", "ucb:c=2", "thompson")
    figure, _ = draw(one, run(one)[:2])
    texts = figure.axes[-1].get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["greedy", "UCB, c=2"]


PARAMETERS = (
    *("ucb:c=0.25", "ucb:c=4", "ucb:c=1"),
    *("greedy:initial_value=1,step_size=0.1", "greedy:initial_value=2,step_size=0.1"),
)


def test_a_parameter_study_draws_mean_rewards_over_what_is_varied(draw):
    one = study(*PARAMETERS, panels=())
    results = run(one)
    figure, _ = draw(one, results)
    (axis,) = figure.axes
    ucb, greedy = axis.lines
    means = [float(result.metrics["reward"].mean.mean) for _, result in results]
    np.testing.assert_array_equal(ucb.get_xdata(), [0.25, 1, 4])
    np.testing.assert_array_equal(ucb.get_ydata(), [means[0], means[2], means[1]])
    np.testing.assert_array_equal(greedy.get_xdata(), [1, 2])
    np.testing.assert_array_equal(greedy.get_ydata(), means[3:])
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["UCB, over c", "greedy, α=0.1, over Q₁"]


def test_a_parameter_study_has_a_logarithmic_axis_of_base_2(draw):
    figure, _ = draw(study(*PARAMETERS, panels=()))
    (axis,) = figure.axes
    assert axis.get_xscale() == "log"
    assert axis.xaxis.get_transform().base == 2
    form = axis.xaxis.get_major_formatter()
    assert [form(value) for value in (1 / 128, 0.5, 1, 4)] == ["1/128", "1/2", "1", "4"]
    assert axis.get_xlabel() == "Parameter: c  Q₁"
    assert axis.get_ylabel() == "Average reward over first 15 steps"


def test_a_parameter_study_that_has_just_begun_names_its_parameter(draw):
    one = study(*PARAMETERS, panels=())
    results = run(one)
    figure, _ = draw(one, [results[0], results[3]])
    (axis,) = figure.axes
    assert [line.get_xdata().tolist() for line in axis.lines] == [[0.25], [1.0]]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["UCB, over c", "greedy, α=0.1, over Q₁"]


def test_a_policy_of_which_nothing_is_varied_is_a_line_from_edge_to_edge(draw):
    one = study("random", *PARAMETERS, panels=())
    results = run(one)
    figure, _ = draw(one, results)
    (axis,) = figure.axes
    mean = float(results[0][1].metrics["reward"].mean.mean)
    assert axis.lines[0].get_ydata().tolist() == [mean, mean]
    left, right = axis.lines[0].get_transform().transform([(0, mean), (1, mean)])
    box = axis.get_window_extent()
    assert (left[0], right[0]) == pytest.approx((box.x0, box.x1))
    assert axis.get_legend().get_texts()[0].get_text() == "random"
    assert axis.get_xscale() == "log"


def test_a_parameter_study_of_one_policy_is_drawn_all_the_same(draw):
    figure, _ = draw(study("greedy", panels=()))
    assert len(figure.axes[0].lines) == 1


def test_values_that_have_no_logarithm_are_drawn_on_a_plain_axis(draw):
    policies = [f"greedy:initial_value={value}" for value in (-1, 0, 1)]
    figure, _ = draw(study(*policies, panels=()))
    (axis,) = figure.axes
    assert axis.get_xscale() == "linear"
    assert axis.lines[0].get_xdata().tolist() == [-1, 0, 1]
