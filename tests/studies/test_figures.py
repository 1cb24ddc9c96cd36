"""What the figures of studies show."""

import dataclasses
import functools
import itertools
import struct
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("filelock")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from matplotlib.text import Text

from bandit_envs.studies.definition import study as studying
from bandit_envs.studies.results.records import merge
from bandit_envs.studies.results.results import PairResult
from bandit_envs.studies.running.tasks import run_task
from bandit_envs.studies.showing.axes import wrap
from bandit_envs.studies.showing.shown_environments import page_environments
from bandit_envs.studies.showing.study_figures import draw_study, study_figure
from tests.studies.test_study import study

PANELS = ["reward", "percent_optimal"]
PER_ARM = "per_arm:global_dim=2,arm_dim=2,max_num_actions=3,batch_size={}"


def a_study(*policies, environments=("testbed",), panels=PANELS, runs=20):
    return study(environments, policies, panels=panels, runs=runs, steps=15)


def draw(study, pairs=None, is_laid_out=False):
    """Returns matplotlib's figure of a study; its parts have their places if it is laid out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_study(study, run(study) if pairs is None else pairs)
        if is_laid_out:
            figure.draw_without_rendering()
    return figure


def run(study):
    """Returns results in which one task has finished of each policy and environment."""
    return [
        PairResult(task.environment, task.policy, task.runs, run_task(task))
        for task in study.tasks()
        if task.block == 0
    ]


def labels(figure):
    (legend,) = [*figure.legends, *filter(None, (axis.get_legend() for axis in figure.axes))]
    return [text.get_text() for text in legend.get_texts()]


def test_a_label_with_dollars_is_text_and_no_formula(tmp_path):
    formula = r"$\input{x}$ and $\frac{$"
    environments = ("testbed:k=2", "testbed:k=3")
    one = a_study("greedy", environments=environments, runs=2)
    names = dict.fromkeys(["greedy", *environments], formula)
    shown = dataclasses.replace(one, labels=names, title=formula)
    figure = draw(shown)
    assert labels(figure) == [formula]
    assert figure.axes[0].get_title(loc="left") == formula
    assert figure.get_suptitle() == formula
    texts = [text for text in figure.findobj(Text) if formula in text.get_text()]
    assert len(texts) == 4
    assert not any(text.get_parse_math() for text in texts)
    over = draw(dataclasses.replace(shown, over={formula: [2.0, 3.0]}), is_laid_out=True)
    assert over.axes[-1].get_xlabel() == formula


def test_a_figure_is_a_png_as_wide_as_the_text_of_a_page():
    one = a_study("greedy", runs=1)
    png = study_figure(one, run(one))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width == 1200
    assert 1100 < height < 1250


@pytest.mark.parametrize(
    ("file_format", "start"),
    [("svg", b"<?xml"), pytest.param("pdf", b"%PDF", marks=pytest.mark.slow)],
)
def test_a_figure_may_be_a_file_for_papers(file_format, start):
    one = a_study("greedy", runs=1)
    assert study_figure(one, run(one), file_format).startswith(start)


def test_a_picture_of_arms_is_a_png():
    one = a_study("random", panels=["arms"])
    assert study_figure(one, ()).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"written as svg; expected .*png"):
        study_figure(one, (), "svg")


def test_a_list_longer_than_a_line_breaks_after_its_commas():
    label = wrap("means=[0.10,0.05,0.05,0.05,0.02,0.02]", width=1.5, size=9.0)
    assert label.split("\n") == ["means=[0.10, 0.05,", "0.05, 0.05, 0.02,", "0.02]"]


def test_panels_stand_in_the_order_asked_for():
    figure = draw(
        a_study("greedy", panels=["percent_optimal", "cumulative_regret", "reward", "regret"])
    )
    assert [axis.get_ylabel() for axis in figure.axes] == [
        *("% Optimal action", "Cumulative regret", "Average reward", "Average regret")
    ]
    assert figure.axes[-1].get_xlabel() == "Steps"
    assert figure.texts[0].get_text() == "A study"
    assert figure.axes[0].get_ylim() == (0, 100)
    assert figure.axes[0].yaxis.get_major_formatter()(40.0) == "40%"


def test_curves_are_means_over_steps_with_bands_of_one_standard_error():
    one = a_study("greedy", "ucb:c=2", panels=["reward", "cumulative_regret"])
    results = run(one)
    figure = draw(one, results)
    for index, pair in enumerate(results):
        expected = pair.statistics("reward"), pair.statistics("cumulative_regret")
        for axis, statistics in zip(figure.axes, expected):
            np.testing.assert_array_equal(axis.lines[index].get_xdata(), np.arange(1, 16))
            np.testing.assert_array_equal(axis.lines[index].get_ydata(), statistics.mean)
            corners = axis.collections[index].get_paths()[0].vertices
            for step in range(1, 16):
                edges = corners[corners[:, 0] == step, 1]
                error = statistics.standard_error[step - 1]
                assert edges.max() == pytest.approx(statistics.mean[step - 1] + error)
                assert edges.min() == pytest.approx(statistics.mean[step - 1] - error)


def test_quantiles_give_medians_and_bands_over_all_runs(monkeypatch):
    monkeypatch.setattr(studying, "RUNS_PER_TASK", 7)
    panels = ["reward", "cumulative_regret"]
    one = study(["testbed"], ["ucb:c=2"], panels=panels, runs=20, steps=15, quantiles=[0.2, 0.7])
    task, blocks = next(one.tasks()), [run_task(task) for task in one.tasks()]
    figure = draw(
        one, [PairResult(task.environment, task.policy, 20, functools.reduce(merge, blocks))]
    )
    sums = {name: np.hstack([block[name].curves for block in blocks]) for name in blocks[0]}
    reward, regret = np.diff(sums["reward"], axis=0, prepend=0), sums["regret"]
    for axis, runs in zip(figure.axes, (reward, regret)):
        low, median, high = np.quantile(runs, [0.2, 0.5, 0.7], axis=1)
        np.testing.assert_array_equal(axis.lines[0].get_xdata(), np.arange(1, 16))
        np.testing.assert_allclose(axis.lines[0].get_ydata(), median)
        corners = axis.collections[0].get_paths()[0].vertices
        for step in range(1, 16):
            edges = corners[corners[:, 0] == step, 1]
            assert (edges.min(), edges.max()) == pytest.approx((low[step - 1], high[step - 1]))


def test_quantiles_of_what_is_0_or_1_in_each_step_are_those_of_shares_so_far():
    values = {"panels": ["percent_optimal"], "quantiles": [0.1, 0.9]}
    one = study(["testbed:k=2"], ["random"], runs=9, steps=15, **values)
    pairs = run(one)
    (axis,) = draw(one, pairs).axes
    steps = np.arange(1, 16)[:, np.newaxis]
    shares = pairs[0].result["percent_optimal"].curves / steps
    np.testing.assert_allclose(axis.lines[0].get_ydata(), np.median(shares, axis=1), rtol=1e-6)
    assert axis.get_ylabel() == "% Optimal action, so far"


def test_the_legend_names_the_policies_as_the_book_does():
    policies = [
        *("greedy", "epsilon_greedy:epsilon=0.1,step_size=0.2", "ucb:c=2", "thompson"),
        "gradient:step_size=0.4,baseline=false",
    ]
    figure = draw(a_study(*policies))
    assert labels(figure) == [
        *("greedy", "ε-greedy, ε=0.1, α=0.2", "UCB, c=2", "Thompson sampling"),
        "gradient bandit, α=0.4, baseline=false",
    ]


def test_a_short_logarithmic_axis_has_several_labels():
    one = study(["testbed"], ["ucb:c=2"], steps=15, panels=["reward"], log_axes=["x"])
    figure = draw(one)
    figure.draw_without_rendering()
    shown = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert {"1", "2", "5", "10"} <= set(shown)


@pytest.mark.slow
def test_labels_of_a_narrow_logarithmic_axis_do_not_overlap():
    environments = [f"testbed:k={k}" for k in (2, 3, 4, 5)]
    one = study(environments, ["greedy"], panels=["reward"], runs=3, steps=500, log_axes=["x"])
    figure = draw_study(one, run(one), width=3.3)
    figure.draw_without_rendering()
    low, high = figure.axes[-1].get_xlim()
    shown = [
        label.get_window_extent()
        for tick, label in zip(figure.axes[-1].get_xticks(), figure.axes[-1].get_xticklabels())
        if low <= tick <= high and label.get_text()
    ]
    assert len(shown) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(shown))


def test_curves_can_be_told_apart_and_are_of_the_best_policies_if_there_are_more():
    one = a_study(*(f"ucb:c={c}" for c in range(1, 35)), panels=["reward"], runs=2)
    results = run(one)
    figure = draw(one, results, is_laid_out=True)
    (axis,) = figure.axes
    styles = {(line.get_color(), line.get_linestyle()) for line in axis.lines}
    assert len(styles) == len(axis.lines) == 32
    assert figure.legends[0].get_title().get_text() == "the 32 best by mean reward of 34"
    means = {one.policy_label(p.policy): float(p.statistics("mean_reward").mean) for p in results}
    hidden = [means.pop(label) for label in set(means) - set(labels(figure))]
    assert len(hidden) == 2
    assert max(hidden) <= min(means.values())


@pytest.mark.parametrize("start", [pytest.param(1.0, marks=pytest.mark.slow), 1.234567890123456])
def test_the_legend_is_no_wider_than_the_figure(start):
    policies = [f"epsilon_greedy:epsilon=0.{e},initial_value={start},step_size=0.1" for e in (1, 2)]
    figure = draw(a_study(*policies, runs=1), is_laid_out=True)
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width


def test_curves_that_coincide_are_all_visible():
    own = [f"tests.studies.mine:Always:action={action}" for action in (0, 1)]
    figure = draw(a_study("greedy", "epsilon_greedy:epsilon=0", *own, panels=["reward"]))
    below, above, *others = (line.get_linewidth() for line in figure.axes[0].lines)
    assert below > above
    assert others == [above, above]


def test_what_is_finished_is_drawn_without_the_rest():
    one = a_study("greedy", "ucb:c=2", "thompson")
    figure = draw(one, run(one)[:2])
    assert labels(figure) == ["greedy", "UCB, c=2"]


PARAMETERS = (
    *("ucb:c=0.25", "ucb:c=4", "ucb:c=1"),
    *("greedy:initial_value=1,step_size=0.1", "greedy:initial_value=2,step_size=0.1"),
)


def test_a_parameter_study_draws_mean_rewards_over_what_varies():
    one = a_study("random", *PARAMETERS, panels=[])
    results = run(one)
    figure = draw(one, results, is_laid_out=True)
    (axis,) = figure.axes
    random, ucb, greedy = axis.lines
    means = [float(pair.statistics("mean_reward").mean) for pair in results]
    np.testing.assert_array_equal(ucb.get_xdata(), [0.25, 1, 4])
    np.testing.assert_array_equal(ucb.get_ydata(), [means[1], means[3], means[2]])
    np.testing.assert_array_equal(greedy.get_xdata(), [1, 2])
    np.testing.assert_array_equal(greedy.get_ydata(), means[4:])
    assert labels(figure) == ["random", "UCB, over c", "greedy, α=0.1, over Q₁"]
    assert axis.get_xlabel() == "Parameter: c  Q₁"
    assert axis.get_ylabel() == "Average reward over first 15 steps"
    # What does not vary is a line from edge to edge.
    left, right = random.get_transform().transform([(0, means[0]), (1, means[0])])
    box = axis.get_window_extent()
    assert (left[0], right[0]) == pytest.approx((box.x0, box.x1))
    assert random.get_ydata().tolist() == [means[0], means[0]]


def test_a_parameter_study_has_a_logarithmic_axis_of_base_2():
    figure = draw(a_study(*PARAMETERS, panels=[]))
    (axis,) = figure.axes
    assert axis.get_xscale() == "log"
    assert axis.xaxis.get_transform().base == 2
    form = axis.xaxis.get_major_formatter()
    assert [form(value) for value in (1 / 128, 0.5, 1, 4)] == ["1/128", "1/2", "1", "4"]


def test_values_that_have_no_logarithm_are_drawn_on_a_plain_axis():
    figure = draw(a_study(*(f"greedy:initial_value={x}" for x in (-1, 0, 1)), panels=[]))
    (axis,) = figure.axes
    assert axis.get_xscale() == "linear"
    assert axis.lines[0].get_xdata().tolist() == [-1, 0, 1]


def test_what_is_no_number_divides_the_lines():
    policies = [f"gradient:step_size={a},baseline={b}" for a in (1, 2) for b in ("true", "false")]
    own = [f"tests.studies.mine:Always:action={action}" for action in (0, 1)]
    figure = draw(a_study(*own, *policies, panels=[]))
    assert labels(figure) == [
        "Always, over action",
        *(f"gradient bandit, baseline={baseline}, over α" for baseline in ("true", "false")),
    ]
    lists = [f"tests.studies.mine:Bernoulli:means={means}" for means in ("[0.1,0.2]", "[0.3,0.4]")]
    figure = draw(a_study("random", environments=lists, panels=[]))
    assert labels(figure) == ["random, means=[0.1,0.2]", "random, means=[0.3,0.4]"]


def test_environments_and_other_parameters_are_lines_of_their_own():
    environments = [PER_ARM.format(size) for size in (1, 20)]
    policies = [f"lin_ucb:alpha={alpha},gamma={gamma}" for alpha in (1, 2) for gamma in (0.5, 1)]
    figure = draw(a_study(*policies, environments=environments, panels=[], runs=1))
    (axis,) = figure.axes
    assert labels(figure) == [f"LinUCB, α={a}, B={b}, over γ" for b in (1, 20) for a in (1, 2)]
    assert [list(line.get_xdata()) for line in axis.lines] == 4 * [[0.5, 1]]


def test_one_run_has_no_band_and_is_drawn():
    for panels in (PANELS, []):
        figure = draw(a_study("greedy", panels=panels, runs=1))
        assert len(figure.axes[0].lines) == 1


def test_several_environments_have_a_row_of_axes_each():
    environments = ["testbed:k=2", "testbed:k=3"]
    expected = [
        {"metric": "reward", "policy": "greedy", "value": 0.5, "step": 4, "source": "exact"},
        {"metric": "reward", "policy": "ucb:c=2", "value": 0.25, "source": "published: page 1"}
        | {"environment": "testbed:k=3"},
    ]
    values = {"panels": ["reward", "regret"], "log_axes": ["x"], "expected": expected}
    one = study(environments, ["greedy", "ucb:c=2"], runs=20, steps=15, **values)
    figure = draw(one)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == ["k-armed testbed, k=2", "", "k-armed testbed, k=3", ""]
    assert {axis.get_xscale() for axis in figure.axes} == {"log"}
    marks = [
        {line.get_marker(): tuple(line.get_xydata()[0]) for line in axis.lines[2:]}
        for axis in figure.axes
    ]
    assert marks == [{"x": (4, 0.5)}, {}, {"x": (4, 0.5), "*": (15, 0.25)}, {}]
    assert labels(figure) == ["greedy", "UCB, c=2", "exact", "published"]


@pytest.fixture(scope="module")
def many():
    """A study of 21 environments, with its results."""
    environments = [f"testbed:k={k}" for k in range(2, 23)]
    one = study(environments, ["greedy", "random"], panels=["reward"], runs=30, steps=15)
    return one, run(one)


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_title(loc="left")]


def test_a_figure_of_many_environments_shows_the_twelve_where_policies_differ_most(many):
    one, pairs = many
    figure = draw(one, pairs)
    spreads = {}
    for first, second in zip(pairs[::2], pairs[1::2]):
        last = [pair.statistics("reward").at(-1) for pair in (first, second)]
        scale = np.sqrt(np.mean([each.standard_error**2 for each in last]))
        label = f"k-armed testbed, k={first.environment.parameters['k']}"
        spreads[label] = abs(last[0].mean - last[1].mean) / scale
    best = sorted(spreads, key=spreads.get)[-12:]
    assert titles(figure) == [label for label in spreads if label in best]
    text = " ".join(figure.texts[0].get_text().split())
    assert "the 12 of 21 environments where policies differ most" in text


@pytest.mark.slow
def test_a_pdf_of_many_environments_has_pages_with_all(many):
    one, pairs = many
    assert study_figure(one, pairs, "pdf").count(b"/Type /Page ") == 2
    two_panels = dataclasses.replace(one, panels=("reward", "regret"))
    assert [len(page) for page in page_environments(two_panels)] == [6, 6, 6, 3]


def test_many_environments_of_one_panel_stand_side_by_side():
    environments = [f"testbed:k={k}" for k in range(2, 7)]
    figure = draw(study(environments, ["greedy"], panels=["reward"], runs=3, steps=15))
    columns = {axis.get_subplotspec().colspan.start for axis in figure.axes}
    assert columns == {0, 1, 2}
    assert [bool(axis.get_ylabel()) for axis in figure.axes] == [True, False, False, True, False]
    assert [bool(axis.get_xlabel()) for axis in figure.axes] == [False, False, True, True, True]


def test_labels_and_colors_are_those_that_the_study_gives():
    policies = [
        {"name": "greedy", "label": "always the best", "color": "tab:red"},
        {"name": "ucb", "c": [1, 2], "label": "optimism ({c})", "color": ["#112233", "black"]},
        {"name": "epsilon_greedy", "epsilon": [0.1, 0.2], "label": "dither"},
    ]
    environments = [{"name": "testbed", "k": [2, 3], "label": "{k} arms"}]
    values = {"panels": ["reward"], "expected": []}
    one = study(environments, policies, runs=3, steps=15, **values)
    figure = draw(one)
    assert labels(figure) == [
        *("always the best", "optimism (1)", "optimism (2)", "dither, ε=0.1", "dither, ε=0.2")
    ]
    colors = [line.get_color() for line in figure.axes[0].lines]
    assert colors[:3] == ["tab:red", "#112233", "black"]
    assert titles(figure) == ["2 arms", "3 arms"]
    other = one.shown(labels={"greedy": "greed"}, title="Another", log_axes=["x"])
    assert labels(draw(other))[0] == "greed"
    assert list(other.tasks()) == list(one.tasks())
    again = type(one).from_dict(one.to_dict())
    assert (again.labels, again.colors) == (one.labels, one.colors)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"color": "rde"}, "color of ucb:c=1 is 'rde'; expected a colour of matplotlib"),
        ({"label": 3}, "label of ucb is 3; expected a string"),
        ({"label": ["a", "b"]}, "label of ucb has 2 texts; expected one, or 1"),
    ],
)
def test_labels_and_colors_that_are_none_are_refused(table, message):
    with pytest.raises((TypeError, ValueError), match=message):
        study(["testbed"], [{"name": "ucb", "c": 1, **table}], panels=["reward"])


def test_a_label_that_all_values_of_a_parameter_share_is_that_of_their_line():
    policies = [{"name": "ucb", "c": [1, 2], "label": "optimism", "color": "red"}, "greedy"]
    figure = draw(study(["testbed"], policies, panels=[], runs=3, steps=15))
    assert labels(figure) == ["optimism, over c", "greedy"]
    assert figure.axes[0].lines[0].get_color() == "red"


def test_a_style_of_matplotlib_and_a_width_change_a_figure(tmp_path):
    style = tmp_path / "paper.mplstyle"
    style.write_text("axes.grid: False\nlines.linewidth: 3\naxes.prop_cycle: cycler(color=['k'])\n")
    one = a_study("greedy", "ucb:c=1", runs=2)
    pairs = run(one)
    figure = draw_study(one, pairs, width=3.3, style=style)
    assert figure.get_figwidth() == 3.3
    lines = figure.axes[0].lines
    assert [line.get_linewidth() for line in lines] == [3, 3]
    assert [line.get_color() for line in lines] == ["k", "k"]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width
    with pytest.raises(ValueError, match="width is 0"):
        draw_study(one, pairs, width=0)
    with pytest.raises(OSError, match="nowhere"):
        draw_study(one, pairs, style="nowhere.mplstyle")


def test_quantiles_of_rewards_of_0_and_1_are_those_of_shares_so_far():
    values = {"panels": ["reward"], "quantiles": [0.1, 0.9]}
    one = study(["bernoulli:means=[0.3,0.6]"], ["random"], runs=9, steps=15, **values)
    pairs = run(one)
    (axis,) = draw(one, pairs).axes
    shares = pairs[0].result["reward"].curves / np.arange(1, 16)[:, np.newaxis]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), np.median(shares, axis=1), rtol=1e-6)
    assert axis.get_ylabel() == "Average reward, so far"


def test_last_steps_are_drawn_over_what_tells_environments_apart():
    environments = ["testbed:k=2", "testbed:k=3"]
    pairs = dict(zip(environments, ("ucb:c=2", "ucb:c=1")))
    expected = [
        {"metric": "cumulative_regret", "source": "exact", "environment": e, "policy": p, **number}
        for (e, p), number in zip(pairs.items(), ({"value": 1}, {"at_most": 9}))
    ]
    values = {"panels": ["cumulative_regret"], "over": {"arms": [2, 3]}, "expected": expected}
    one = study(environments, [*pairs.values()], paired=True, runs=20, steps=15, **values)
    results = run(one)
    figure = draw(one, results)
    (axis,) = figure.axes
    means = [pair.statistics("cumulative_regret").mean[-1] for pair in results]
    np.testing.assert_array_equal(axis.lines[0].get_xydata(), [(2, means[0]), (3, means[1])])
    assert axis.get_xlabel() == "arms"
    assert labels(figure) == ["UCB", "exact", "exact: upper bound"]
    assert [line.get_xydata().tolist() for line in axis.lines[1:]] == [[[2, 1]], [[3, 9]]]
