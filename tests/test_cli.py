"""The command as its users meet it: the files that it leaves, and what it shows."""

import json
import subprocess
import sys

import numpy as np
import pytest

import bandit_envs
from bandit_envs.cli import main
from tests.command_line import SMALL, columns, content, rows, run_testbed

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
matplotlib_figure = pytest.importorskip("matplotlib.figure")

SUMMARY_COLUMNS = [
    *("policy", "reward", "reward_se", "percent_optimal", "percent_optimal_se", "mean_reward"),
    *("mean_reward_se", "cumulative_regret", "cumulative_regret_se", "steps_per_second"),
]
CURVE_COLUMNS = [
    *("policy", "step", "reward", "reward_se", "percent_optimal", "percent_optimal_se"),
    *("regret", "regret_se"),
]
FIGURES = {
    "2.2": ["greedy", "epsilon_greedy:epsilon=0.01", "epsilon_greedy:epsilon=0.1"],
    "2.3": [
        "greedy:initial_value=5,step_size=0.1",
        "epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1",
    ],
    "2.4": ["ucb:c=2", "epsilon_greedy:epsilon=0.1"],
    "2.5": [
        "gradient:step_size=0.1",
        "gradient:step_size=0.4",
        "gradient:step_size=0.1,baseline=false",
        "gradient:step_size=0.4,baseline=false",
    ],
}


def test_the_default_is_figure_2_2(tmp_path):
    code, folder, out, _ = run_testbed(tmp_path, *SMALL)
    assert code == 0
    assert {path.name for path in folder.glob("[!.]*")} == {
        *("config.json", "curves.csv", "figure.png", "summary.csv", "tasks")
    }
    assert [row["policy"] for row in rows(folder / "summary.csv")] == FIGURES["2.2"]
    assert "Figure 2.2" in out
    assert "ε-greedy, ε=0.01" in out
    assert str(folder) in out.replace("\n", "")


def test_the_tables_have_the_columns_and_rows_promised(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, *SMALL)
    assert columns(folder / "summary.csv") == SUMMARY_COLUMNS
    assert columns(folder / "curves.csv") == CURVE_COLUMNS
    expected = [(policy, str(step)) for policy in FIGURES["2.2"] for step in range(1, 13)]
    assert [(row["policy"], row["step"]) for row in rows(folder / "curves.csv")] == expected


def test_the_summary_sums_the_curves_up(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, *SMALL)
    for summary in rows(folder / "summary.csv"):
        curve = [row for row in rows(folder / "curves.csv") if row["policy"] == summary["policy"]]
        for name in ("reward", "reward_se", "percent_optimal", "percent_optimal_se"):
            assert summary[name] == curve[-1][name]
        rewards = [float(row["reward"]) for row in curve]
        regrets = [float(row["regret"]) for row in curve]
        assert float(summary["mean_reward"]) == pytest.approx(np.mean(rewards), rel=1e-8)
        assert float(summary["cumulative_regret"]) == pytest.approx(np.sum(regrets), rel=1e-8)
        assert float(summary["steps_per_second"]) > 0
        assert all(0 <= float(row["percent_optimal"]) <= 100 for row in curve)
        assert min(regrets) >= 0


def test_the_same_seed_writes_the_same_curves_byte_for_byte(tmp_path):
    curves = []
    for number, seed in enumerate(["7", "7", "8"]):
        arguments = ("--policy", "thompson", *SMALL, "--seed", seed)
        folder = run_testbed(tmp_path, *arguments, output=f"run {number}").folder
        curves.append((folder / "curves.csv").read_bytes())
    first, second, other = curves
    assert first == second
    assert first != other


def test_the_number_of_workers_does_not_change_the_curves(tmp_path):
    # More runs than fit into one batch, so that there is something to divide.
    arguments = ("--policy", "gradient:step_size=0.1", "--runs", "4100", "--steps", "5")
    _, one, _, _ = run_testbed(tmp_path, *arguments, output="one")
    _, two, _, _ = run_testbed(tmp_path, *arguments, "--workers", "2", output="two")
    assert (one / "curves.csv").read_bytes() == (two / "curves.csv").read_bytes()


def test_the_config_is_all_that_reruns_it(tmp_path):
    arguments = ("--policy", "ucb:c=2", "--policy", "random", "--arms", "4", "--seed", "3")
    _, folder, _, _ = run_testbed(tmp_path, *arguments, *SMALL)
    config = json.loads((folder / "config.json").read_text())
    assert config["versions"]["bandit_envs"] == bandit_envs.__version__
    assert config["versions"]["numpy"] == np.__version__
    study = config["study"]
    assert study["environments"] == ["testbed:k=4,value_mean=0"]
    again = [item for policy in study["policies"] for item in ("--policy", policy)]
    for name in ("runs", "steps", "seed"):
        again += [f"--{name}", str(study[name])]
    _, other, _, _ = run_testbed(tmp_path, *again, "--arms", "4", output="again")
    assert (other / "curves.csv").read_bytes() == (folder / "curves.csv").read_bytes()


def test_a_policy_alone_is_all_that_runs(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, "--policy", "ucb:c=1", "--policy", "thompson", *SMALL)
    assert [row["policy"] for row in rows(folder / "summary.csv")] == ["ucb:c=1", "thompson"]


def test_a_policy_comes_beside_those_of_a_figure(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, "--figure", "2.4", "--policy", "thompson", *SMALL)
    policies = [row["policy"] for row in rows(folder / "summary.csv")]
    assert policies == [*FIGURES["2.4"], "thompson"]


def test_every_policy_meets_the_same_testbeds(tmp_path):
    policies = ("--policy", "ucb:c=2", "--policy", "greedy")
    _, together, _, _ = run_testbed(tmp_path, *policies, *SMALL)
    _, alone, _, _ = run_testbed(tmp_path, "--policy", "greedy", *SMALL, output="alone")
    curves = rows(together / "curves.csv")
    assert curves[12:] == rows(alone / "curves.csv")
    # With nothing learned, both choose by the same draws, and the same arms pay the same.
    ucb, greedy = curves[0], curves[12]
    assert {**ucb, "policy": ""} == {**greedy, "policy": ""}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that matplotlib has written."""
    figures = []
    savefig = matplotlib_figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        return savefig(figure, *arguments, **options)

    monkeypatch.setattr(matplotlib_figure.Figure, "savefig", keep)
    return figures


@pytest.mark.parametrize(
    ("number", "panels"),
    [
        ("2.2", ["Average reward", "% Optimal action"]),
        ("2.3", ["% Optimal action"]),
        ("2.4", ["Average reward"]),
        ("2.5", ["% Optimal action"]),
    ],
)
def test_a_figure_has_the_policies_and_panels_of_the_book(tmp_path, drawn, number, panels):
    code, folder, out, _ = run_testbed(tmp_path, "--figure", number, *SMALL)
    assert code == 0
    assert [row["policy"] for row in rows(folder / "summary.csv")] == FIGURES[number]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert [axis.get_ylabel() for axis in drawn[-1].axes] == panels
    assert all(len(axis.lines) == len(FIGURES[number]) for axis in drawn[-1].axes)
    assert drawn[-1].texts[0].get_text().startswith(f"Figure {number}")
    assert f"Figure {number}" in out


def test_figure_2_5_has_arm_values_about_4(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, "--figure", "2.5", "--policy", "random", *SMALL)
    # The mean of 30 testbeds of 10 arms has a standard error of about 0.1.
    assert abs(float(rows(folder / "summary.csv")[-1]["mean_reward"]) - 4.0) < 0.5


def test_figure_2_6_is_a_parameter_study(tmp_path, drawn):
    code, folder, _, _ = run_testbed(tmp_path, "--figure", "2.6", "--runs", "5", "--steps", "6")
    assert code == 0
    policies = [row["policy"] for row in rows(folder / "summary.csv")]
    assert policies == [
        *(f"epsilon_greedy:epsilon={2.0**power:g}" for power in range(-7, -1)),
        *(f"gradient:step_size={2.0**power:g}" for power in range(-5, 3)),
        *(f"ucb:c={2.0**power:g}" for power in range(-4, 3)),
        *(f"greedy:initial_value={2.0**power:g},step_size=0.1" for power in range(-2, 3)),
    ]
    (axis,) = drawn[-1].axes
    assert axis.get_xscale() == "log"
    assert axis.get_ylabel() == "Average reward over first 6 steps"
    assert [len(line.get_xdata()) for line in axis.lines] == [6, 8, 7, 5]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_an_empty_folder_is_welcome(tmp_path):
    (tmp_path / "results").mkdir()
    assert run_testbed(tmp_path, *SMALL)[0] == 0


def test_the_same_command_again_finds_everything_done(tmp_path):
    _, folder, _, _ = run_testbed(tmp_path, *SMALL)
    before = content(folder)
    code, _, out, _ = run_testbed(tmp_path, *SMALL)
    assert code == 0
    assert "Figure 2.2" in out
    assert content(folder) == before


def test_progress_goes_to_stderr_and_the_table_to_stdout(tmp_path):
    _, _, out, err = run_testbed(tmp_path, "--policy", "ucb:c=2", *SMALL)
    assert "tasks" in err
    assert "tasks" not in out
    assert "UCB, c=2" in out
    assert "30 runs of 12 steps" in out


def test_the_version_is_that_of_the_package():
    command = [sys.executable, "-m", "bandit_envs", "--version"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout == f"bandit-envs {bandit_envs.__version__}\n"


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["testbed", "--help"])
    out = capsys.readouterr().out
    for option in ("--figure", "--policy", "--runs", "--steps", "--arms", "--seed", "--output"):
        assert option in out
