"""What a parameter study of several parameters and environments draws."""

import pytest

from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from bandit_envs.studies.study import Study
from bandit_envs.studies.tasks import run_task

matplotlib_figure = pytest.importorskip("matplotlib.figure")
plots = pytest.importorskip("bandit_envs.studies.curves")

SMALL = "per_arm:global_dim=2,arm_dim=2,arms=3,batch_size={}"


@pytest.fixture
def draw(monkeypatch):
    """Draws a parameter study and returns its axes."""
    figures, savefig = [], matplotlib_figure.Figure.savefig
    monkeypatch.setattr(
        matplotlib_figure.Figure,
        "savefig",
        lambda figure, *of, **options: figures.append(figure) or savefig(figure, *of, **options),
    )

    def draw(environments, policies, runs=2, unfinished=0):
        study = Study(
            "A parameter study",
            tuple(map(EnvironmentSpec.parse, environments)),
            tuple(map(PolicySpec.parse, policies)),
            runs,
            steps=4,
            panels=(),
        )
        cells = list(study.cells())
        results = []
        for cell in cells:
            first, *others = map(run_task, study.tasks(cell))
            for other in others[unfinished if cell is cells[0] else 0 :]:
                first = first.merge(other)
            results.append((cell, first))
        plots.study_figure(study, results)
        (axis,) = figures[-1].axes
        return axis, results

    return draw


def labels(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_environments_are_lines_of_their_own_named_by_what_differs(draw):
    environments = [SMALL.format(size) for size in (1, 20)]
    axis, _ = draw(environments, ["lin_ucb:alpha=0.5", "lin_ucb:alpha=2", "random"])
    assert labels(axis) == [
        *("LinUCB, B=1, over α", "random, B=1"),
        *("LinUCB, B=20, over α", "random, B=20"),
    ]
    assert [list(line.get_xdata()) for line in axis.lines] == [[0.5, 2], [0, 1], [0.5, 2], [0, 1]]


def test_a_second_parameter_divides_the_line_of_the_first(draw):
    policies = [f"lin_ucb:alpha={alpha},gamma={gamma}" for alpha in (1, 2) for gamma in (0.5, 1)]
    axis, _ = draw([SMALL.format(2)], policies)
    assert labels(axis) == ["LinUCB, α=1, over γ", "LinUCB, α=2, over γ"]
    assert [list(line.get_xdata()) for line in axis.lines] == [[0.5, 1], [0.5, 1]]


def test_points_of_an_unfinished_study_have_bands_of_their_own_runs(draw):
    policies = ["lin_ucb:alpha=1", "lin_ucb:alpha=2"]
    axis, results = draw([SMALL.format(2)], policies, runs=9, unfinished=5)
    assert [result.runs for _, result in results] == [4, 9]
    corners = axis.collections[0].get_paths()[0].vertices
    for (_, result), alpha in zip(results, (1.0, 2.0)):
        mean = result.metrics["reward"].mean
        band = corners[corners[:, 0] == alpha][:, 1]
        assert (band.max() - band.min()) / 2 == pytest.approx(float(mean.standard_error))


def test_more_lines_than_can_be_told_apart_are_not_drawn_silently(draw):
    policies = [
        f"lin_ucb:alpha={alpha},gamma={gamma}" for alpha in range(1, 35) for gamma in (0, 1)
    ]
    axis, _ = draw([SMALL.format(1)], policies)
    assert len(axis.lines) == 32
    assert axis.get_legend().get_title().get_text() == "the first 32 of 34"
