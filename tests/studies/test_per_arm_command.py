"""`bandit-envs per-arm` as its users meet it."""

import csv
import io
import json

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

import matplotlib.figure as matplotlib_figure

from tests.experiments.sweeps import run, sweep, tables, task_files

SMALL = (
    *("--global-dim", "4", "--arm-dim", "5", "--arms", "6", "--batch-size", "3"),
    *("--runs", "4", "--steps", "30"),
)


@pytest.fixture
def per_arm(tmp_path):
    """Runs the command with an output folder of its own."""

    def per_arm(*arguments, output="results"):
        return run("per-arm", *arguments, "--output", tmp_path / output)

    return per_arm


def rows(file):
    return list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))


def study(folder):
    return json.loads((folder / "config.json").read_text("utf-8"))["study"]


def test_the_default_is_ten_runs_of_three_policies(per_arm, tmp_path):
    per_arm("--steps", "2")
    made = study(tmp_path / "results")
    assert (made["runs"], made["seed"]) == (10, 0)
    assert made["environments"] == [
        "per_arm:global_dim=40,arm_dim=50,arms=70,batch_size=20,noise=1"
    ]
    assert made["policies"] == [
        *("lin_ucb", "linear_thompson", "linear_epsilon_greedy:epsilon=0.1")
    ]
    assert len(task_files(tmp_path / "results")) == 30


def test_help_names_every_option_and_its_default():
    out = run("per-arm", "--help").out
    for option, default in (
        *(("global-dim", 40), ("arm-dim", 50), ("arms", 70), ("batch-size", 20)),
        *(("steps", 1000), ("noise", 1.0), ("seed", 0), ("runs", 10)),
    ):
        assert f"--{option} N" in out
        assert f"(default: {default})" in out
    assert "--policy SPEC" in out
    assert "--output DIR" in out


def test_it_leaves_the_files_that_testbed_does(per_arm, tmp_path):
    code, out, err = per_arm(*SMALL)
    assert code == 0
    results = tmp_path / "results"
    assert {file.name for file in results.glob("[!.]*")} == {
        *("config.json", "curves.csv", "figure.png", "summary.csv", "tasks")
    }
    assert list(rows(results / "summary.csv")[0]) == [
        *("policy", "reward", "reward_se", "percent_optimal", "percent_optimal_se"),
        *("mean_reward", "mean_reward_se", "cumulative_regret", "cumulative_regret_se"),
        "steps_per_second",
    ]
    curves = rows(results / "curves.csv")
    assert list(curves[0]) == [
        *("policy", "step", "reward", "reward_se", "percent_optimal", "percent_optimal_se"),
        *("regret", "regret_se"),
    ]
    assert len(curves) == 3 * 30
    for label in ("LinUCB", "linear Thompson", "linear ε-greedy"):  # the rest may be wrapped
        assert label in out
    assert "12/12" in err


def test_the_figure_shows_average_and_cumulative_regret_of_every_policy(per_arm, monkeypatch):
    figures, savefig = [], matplotlib_figure.Figure.savefig
    monkeypatch.setattr(
        matplotlib_figure.Figure,
        "savefig",
        lambda figure, *of, **options: figures.append(figure) or savefig(figure, *of, **options),
    )
    per_arm(*SMALL)
    upper, lower = figures[-1].axes
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("Average regret", "Cumulative regret")
    for axis in (upper, lower):
        assert len(axis.lines) == len(axis.collections) == 3
        for band in axis.collections:  # of one standard error over independent runs
            assert band.get_datalim(axis.transData).height > 0
    for line in lower.lines:
        assert (line.get_ydata()[1:] >= line.get_ydata()[:-1]).all()


def test_policies_learn_and_random_choice_does_not(per_arm, tmp_path):
    policies = ("lin_ucb:alpha=0.5", "linear_thompson", "linear_epsilon_greedy:epsilon=0.05")
    arguments = [item for policy in (*policies, "random") for item in ("--policy", policy)]
    code, _, _ = per_arm(*SMALL, "--steps", "150", "--batch-size", "10", *arguments)
    assert code == 0
    *learned, random = rows(tmp_path / "results" / "summary.csv")
    for row in learned:
        difference = float(random["cumulative_regret"]) - float(row["cumulative_regret"])
        error = float(random["cumulative_regret_se"]) + float(row["cumulative_regret_se"])
        assert difference > 5 * error
        assert float(row["cumulative_regret"]) < 0.3 * float(random["cumulative_regret"])


def test_it_is_a_study_like_any_other(per_arm, tmp_path):
    per_arm(*SMALL, "--policy", "lin_ucb:alpha=2", "--seed", "5", "--noise", "0.5")
    text = """
        title = "The same"
        runs = 4
        steps = 30
        seed = 5
        environment = [
          { name = "per_arm", global_dim = 4, arm_dim = 5, arms = 6, batch_size = 3, noise = 0.5 }
        ]
        policy = [{ name = "lin_ucb", alpha = 2 }]
    """
    sweep(tmp_path, text, output="sweep")
    assert tables(tmp_path / "results")["curves.csv"] == tables(tmp_path / "sweep")["curves.csv"]


def test_equal_seeds_write_equal_curves_whatever_the_number_of_workers(per_arm, tmp_path):
    curves = []
    for number, arguments in enumerate(
        [("--workers", "1"), ("--workers", "2"), ("--workers", "1", "--seed", "1")]
    ):
        assert per_arm(*SMALL, *arguments, output=str(number)).code == 0
        curves.append((tmp_path / str(number) / "curves.csv").read_bytes())
    assert curves[0] == curves[1] != curves[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arms", "0"), "argument --arms: '0'; expected an integer, at least 1"),
        (("--batch-size", "2.5"), "argument --batch-size: '2.5'; expected an integer, at least 1"),
        (("--noise", "-1"), "argument --noise: '-1'; expected a number, at least 0"),
        (("--noise", "1e38"), "argument --noise: '1e38'; expected a number, at least 0 and"),
        (("--noise", "inf"), "argument --noise: 'inf'; expected a number, at least 0"),
        (("--seed", "-1"), "argument --seed: '-1'; expected an integer, at least 0"),
        (("--policy", "lin_ucb:beta=1"), "policy lin_ucb got 'beta'; expected alpha, gamma, tikh"),
        (("--policy", "lin_ucb:alpha=-1"), "policy lin_ucb:alpha=-1: alpha is -1; expected at l"),
        (("--policy", "lin_ucb", "--policy", "lin_ucb"), "policy lin_ucb is there twice"),
        (("--figure", "2.2"), "unrecognized arguments: --figure 2.2"),
    ],
)
def test_wrong_input_ends_with_one_line_and_no_file(per_arm, tmp_path, arguments, message):
    code, out, err = per_arm(*SMALL, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_folder_of_other_results_is_left_alone(per_arm, tmp_path):
    per_arm(*SMALL)
    before = tables(tmp_path / "results")
    code, _, err = per_arm(*SMALL, "--noise", "2")
    assert code == 2
    assert "holds something else; expected a new or empty folder" in err
    assert tables(tmp_path / "results") == before
