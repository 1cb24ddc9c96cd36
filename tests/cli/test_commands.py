"""The command as its users meet it: the files that it leaves, and what it shows."""

import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bandit_envs
from bandit_envs.cli.help_examples import EXAMPLES
from bandit_envs.cli.parser import make_parser
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.metrics import QUANTITIES
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.registry import POLICIES
from bandit_envs.studies.running import forecast
from tests.command_line import (
    CONTEXTUAL,
    SMALL,
    TABLES,
    TINY,
    content,
    example_text,
    finish,
    finished_tasks,
    forget_tasks,
    rows,
    run,
    run_testbed,
    start,
    sweep,
    tables,
    write,
)
from tests.studies import mine

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from bandit_envs.cli import studies
from bandit_envs.cli.console import ERR, StepProgress

FILES = {"config.json", "curves.npy", "figure.png", "runs.csv", "summary.csv", "tasks"}
FIGURE_2_2 = ["greedy", "epsilon_greedy:epsilon=0.01", "epsilon_greedy:epsilon=0.1"]
MINE = "tests.studies.mine"


def policies(folder):
    return [row["policy"] for row in rows(folder / "summary.csv")]


def study(folder):
    return json.loads((folder / "config.json").read_text("utf-8"))["study"]


@pytest.fixture(scope="module")
def default_testbed(tmp_path_factory):
    """The folder of a testbed of few runs and steps, and what the command wrote."""
    folder = tmp_path_factory.mktemp("default") / "results"
    with pytest.MonkeyPatch.context() as patch:
        shorten_figures(patch, 20)
        outcome = run("reproduce", "sutton-barto-2.2", "--runs", "30", "--output", folder)
    return folder, outcome


@pytest.fixture
def short_figures(monkeypatch):
    """Lets figures of the book have few steps, where what is run and drawn is asked for."""
    shorten_figures(monkeypatch, 4)


def shorten_figures(monkeypatch, steps):
    """Gives the published figures this number of steps."""
    read_published = studies._read_published
    monkeypatch.setattr(
        studies, "_read_published", lambda name: {**read_published(name), "steps": steps}
    )


def test_the_default_testbed_is_figure_2_2(default_testbed):
    folder, (code, out, err) = default_testbed
    assert code == 0
    assert {path.name for path in folder.glob("[!.]*")} == FILES
    assert policies(folder) == FIGURE_2_2
    assert studies._read_published("sutton-barto-2.2")["steps"] == 1000  # which are not all run
    for text in ("Figure 2.2", "30 runs of 20 steps", "ε-greedy, ε=0.01", str(folder)):
        assert text in out
    assert "3 tasks" in err
    columns = ["reward", "percent_optimal", "mean_reward", "cumulative_regret"]
    expected = [name for column in columns for name in (column, f"{column}_se")]
    assert list(rows(folder / "summary.csv")[0])[3:] == expected
    names = ["reward", "percent_optimal", "regret"]
    expected = [name for column in names for name in (column, f"{column}_se")]
    assert np.load(folder / "curves.npy").dtype.names == ("step", *expected)


def test_the_summary_sums_the_curves_up(default_testbed):
    folder, _ = default_testbed
    for summary, curve in zip(rows(folder / "summary.csv"), np.load(folder / "curves.npy")):
        assert curve["step"].tolist() == list(range(1, 21))
        for name in ("reward", "reward_se", "percent_optimal", "percent_optimal_se"):
            assert float(summary[name]) == pytest.approx(curve[name][-1], rel=1e-6)
        means = curve["reward"].mean(), curve["regret"].sum()
        assert float(summary["mean_reward"]) == pytest.approx(means[0], rel=1e-5)
        assert float(summary["cumulative_regret"]) == pytest.approx(means[1], rel=1e-5)


def test_every_run_has_a_line_and_the_summary_has_their_means(tmp_path):
    policies = ["--policy", "lin_ucb", "--policy", "linear_thompson"]
    folder = tmp_path / "results"
    small = "per_arm:global_dim=2,arm_dim=2,max_num_actions=3,batch_size=2"
    size = ("--runs", "4", "--steps", "6", "--workers", "1")
    assert run("run", small, *policies, *size, "--output", folder).code == 0
    for summary in rows(folder / "summary.csv"):
        runs = [row for row in rows(folder / "runs.csv") if row["policy"] == summary["policy"]]
        assert [row["run"] for row in runs] == ["1", "2", "3", "4"]
        for name in ("mean_reward", "cumulative_regret"):
            values = [float(row[name]) for row in runs]
            assert float(summary[name]) == pytest.approx(np.mean(values), rel=1e-8)
            error = np.std(values, ddof=1) / 2
            assert float(summary[f"{name}_se"]) == pytest.approx(error, rel=1e-6)


def test_a_report_shows_differences_to_the_first_policy_by_environment(tmp_path):
    sweep(tmp_path, TINY.replace("batch_size = 2", "batch_size = [2, 3]"))
    out = run("report", tmp_path / "results").out.partition("Differences to random")[2]
    assert out.count("ε-greedy") == 8
    table = rows(tmp_path / "results" / "runs.csv")
    for environment in {row["environment"] for row in table}:
        means = {
            policy: [
                float(row["mean_reward"])
                for row in table
                if (row["environment"], row["policy"]) == (environment, policy)
            ]
            for policy in ("random", "epsilon_greedy:epsilon=0.5")
        }
        differences = np.subtract(*reversed(means.values()))
        assert f" {differences.mean():.3f} (" in out
    single = TINY.replace("runs = 4", "runs = 1")  # without an interval
    sweep(tmp_path, single, output="single")
    assert "Differences" not in run("report", tmp_path / "single").out


def test_the_config_is_all_that_reruns_it(tmp_path):
    arguments = ("--policy", "ucb:c=2", "--policy", "random", "--seed", "3")
    run("run", "testbed:k=4", *arguments, *SMALL, "--output", tmp_path / "results")
    config = study(tmp_path / "results")
    assert config["environment"] == ["testbed:k=4"]
    again = [item for policy in config["policy"] for item in ("--policy", policy)]
    for name in ("runs", "steps", "seed"):
        again += [f"--{name}", str(config[name])]
    run("run", *config["environment"], *again, "--output", tmp_path / "again", "--workers", "1")
    assert tables(tmp_path / "again") == tables(tmp_path / "results")


def test_policies_replace_the_default_ones(tmp_path):
    run_testbed(tmp_path, "--policy", "ucb:c=1", "--policy", "thompson", *SMALL, output="alone")
    assert policies(tmp_path / "alone") == ["ucb:c=1", "thompson"]


def test_the_same_seed_writes_the_same_tables_byte_for_byte(tmp_path):
    for number, seed in enumerate("778"):
        run_testbed(tmp_path, "--policy", "thompson", *SMALL, "--seed", seed, output=str(number))
    first, again, other = (tables(tmp_path / str(number)) for number in range(3))
    assert first == again != other


@pytest.mark.parametrize(
    ("number", "expected", "panels"),
    [
        (
            "2.3",
            [
                "greedy:initial_value=5,step_size=0.1",
                "epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1",
            ],
            ["% Optimal action"],
        ),
        ("2.4", ["ucb:c=2", "epsilon_greedy:epsilon=0.1"], ["Average reward"]),
        (
            "2.5",
            [
                f"gradient:step_size={step_size},baseline={baseline}"
                for step_size in (0.1, 0.4)
                for baseline in ("true", "false")
            ],
            ["% Optimal action"],
        ),
    ],
)
@pytest.mark.usefixtures("short_figures")
def test_a_figure_has_the_policies_and_panels_of_the_book(
    tmp_path, drawn, number, expected, panels
):
    sizes = ("--runs", "5", "--output", tmp_path / "results")
    code, out, _ = run("reproduce", f"sutton-barto-{number}", *sizes)
    assert code == 0
    assert policies(tmp_path / "results") == expected
    assert [axis.get_ylabel() for axis in drawn[-1].axes] == panels
    assert f"Figure {number}" in out


@pytest.mark.usefixtures("short_figures")
def test_figure_2_1_has_one_policy_that_does_not_learn(tmp_path):
    code, out, _ = run(
        "reproduce", "sutton-barto-2.1", "--runs", "5", "--output", tmp_path / "results"
    )
    assert (code, policies(tmp_path / "results")) == (0, ["random"])
    assert "Figure 2.1" in out


@pytest.mark.usefixtures("short_figures")
def test_figure_2_6_is_a_parameter_study(tmp_path, drawn):
    code, _, _ = run("reproduce", "sutton-barto-2.6", "--runs", 2, "--output", tmp_path / "results")
    assert code == 0
    assert policies(tmp_path / "results") == [
        *(f"epsilon_greedy:epsilon={2.0**power!r}" for power in range(-7, -1)),
        *(f"gradient:step_size={2.0**power:g}" for power in range(-5, 3)),
        *(f"ucb:c={2.0**power:g}" for power in range(-4, 3)),
        *(f"greedy:initial_value={2.0**power:g},step_size=0.1" for power in range(-2, 3)),
    ]
    (axis,) = drawn[-1].axes
    assert axis.get_xscale() == "log"
    assert [len(line.get_xdata()) for line in axis.lines] == [6, 8, 7, 5]


@pytest.mark.slow
def test_the_per_arm_bandit_is_run_with_linear_policies_and_regret(tmp_path, drawn):
    environment = "per_arm:global_dim=4,arm_dim=5,max_num_actions=6,batch_size=3"
    options = ("--steps", "30", "--workers", "1", "--output", tmp_path / "results")
    code, out, _ = run("run", environment, *options)
    assert code == 0
    made = study(tmp_path / "results")
    assert made["environment"] == [environment]
    assert made["runs"] == 10
    assert made["policy"] == ["lin_ucb", "linear_thompson", "linear_epsilon_greedy:epsilon=0.1"]
    upper, lower = drawn[-1].axes
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("Average regret", "Cumulative regret")
    assert len(upper.lines) == len(upper.collections) == 3
    for label in ("LinUCB", "linear Thompson sampling", "linear ε-greedy, ε=0.1"):
        assert label in out


@pytest.mark.parametrize("name", ["wheel:batch_size=2", "stationary_stochastic", "drifting_linear"])
def test_an_environment_with_contexts_is_run_with_policies_that_see_them(tmp_path, name):
    output = tmp_path / "results"
    run("run", name, "--runs", "1", "--steps", "4", "--workers", "1", "--output", output)
    assert study(output)["policy"] == [
        *("lin_ucb", "linear_thompson"),
        "linear_epsilon_greedy:epsilon=0.1",
    ]
    assert study(output)["panels"] == ["regret", "cumulative_regret"]


def test_an_environment_without_contexts_is_run_with_policies_that_fit(tmp_path):
    output = tmp_path / "results"
    run("run", "testbed:k=3", *SMALL, "--output", output)
    expected = ["random", "greedy", "epsilon_greedy:epsilon=0.1", "ucb:c=1"]
    assert policies(output) == expected
    assert study(output)["panels"] == ["reward", "percent_optimal"]


def test_an_environment_whose_means_are_unknown_is_run_with_the_reward_alone(tmp_path):
    output = tmp_path / "results"
    options = ("--runs", 2, "--steps", 3, "--workers", 1, "--output", output)
    code, _, _ = run("run", f"{MINE}:Unknown:means=[0.2,0.8]", *options)
    assert code == 0
    assert np.load(output / "curves.npy").dtype.names == ("step", "reward", "reward_se")
    assert study(output)["panels"] == ["reward"]


OWN = Path(mine.__file__).read_text("utf-8")
OWN_STUDY = """
title = "Mine"
runs = 10
steps = 20
policy = ["mine:Always:action=1", "ucb:c=1", 'mine:Ending:how="exit",hook="learn",step=15']

[[environment]]
name = "mine:Bernoulli"
means = [[0.1, 0.9], [0.5, 0.5, 0.5]]

[[environment]]
name = "testbed"
k = 4
"""
"""A study of classes of one's own, one of which exits, and of tasks with many runs."""


@pytest.mark.slow
def test_classes_in_the_current_folder_are_run_in_a_terminal_that_lacks_signs(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (tmp_path / "mine.py").write_text(OWN)
    policies = ("--policy", "mine:Always:action=1", "--policy", "epsilon_greedy:epsilon=0.1")
    options = ("--steps", "50", "--workers", "1")
    arguments = ("mine:Bernoulli:means=[0.1,0.9]", *policies, *options)
    code, out, err = finish(start("run", *arguments, folder=tmp_path))
    assert code == 0, err
    assert "Always, action=1" in out
    assert "?=0.1" in out
    row, _ = rows(tmp_path / "results" / "mine.Bernoulli" / "summary.csv")
    assert row["percent_optimal"] == "100"
    figure = tmp_path / "results" / "mine.Bernoulli" / "figure.png"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert float(row["mean_reward"]) == pytest.approx(0.9, abs=0.1)


def sweep_own(folder, workers):
    """Returns the tables of a study of classes in the current folder."""
    (folder / "mine.py").write_text(OWN)
    write(folder, OWN_STUDY)
    options = ("--workers", workers, "--output", "results")
    code, _, err = finish(start("sweep", "study.toml", *options, folder=folder))
    assert code == 1, err
    assert "21 of 63 tasks failed" in err
    failed = [line for line in err.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 21
    for line in failed:
        assert re.search(r"Ending:.*SystemExit: 0 \(.*mine\.py:\d+\)$", line)
    assert len(rows(folder / "results" / "summary.csv")) == 6
    return tables(folder / "results")


@pytest.fixture(scope="module")
def own_tables(tmp_path_factory):
    """The tables of such a study on one worker."""
    return sweep_own(tmp_path_factory.mktemp("one"), "1")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "dask", "ray"])
def test_classes_in_the_current_folder_are_in_studies_on_two_workers(tmp_path, own_tables, backend):
    if backend in ("dask", "ray"):
        pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    assert sweep_own(tmp_path, f"{backend}:2") == own_tables


@pytest.mark.parametrize("command", [("run", "testbed"), ("sweep", "study.toml"), ("reproduce",)])
def test_there_are_as_many_workers_as_cores_by_default(monkeypatch, command):
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert make_parser().parse_args(command).workers == ("loky", 7, None)


def test_a_sweep_leaves_tables_a_figure_and_what_reruns_it(tmp_path):
    short = CONTEXTUAL.replace("runs = 3\nsteps = 12", "runs = 1\nsteps = 3")
    code, out, err = sweep(tmp_path, short)
    output = tmp_path / "results"
    assert code == 0
    assert {file.name for file in output.glob("[!.]*")} == FILES
    assert [(row["environment"], row["policy"]) for row in rows(output / "summary.csv")] == [
        (f"per_arm:batch_size={size}", policy)
        for size in (1, 20)
        for policy in (
            *("lin_ucb:alpha=0.5", "lin_ucb:alpha=2", "linear_thompson"),
            "linear_epsilon_greedy:epsilon=0.1",
        )
    ]
    assert np.load(output / "curves.npy").shape == (8, 3)
    assert "LinUCB, α=0.5, B=20" in out
    assert "8 tasks" in err


def test_results_of_other_arguments_go_to_another_folder_by_themselves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for policy in ("ucb:c=1", "ucb:c=2", "ucb:c=1"):
        assert run("run", "testbed", "--policy", policy, *SMALL).code == 0
    first, second = sorted((tmp_path / "results").iterdir())
    assert policies(first) == ["ucb:c=1"]
    assert policies(second) == ["ucb:c=2"]
    assert run("sweep", write(tmp_path, TINY), "--workers", "1").code == 0
    assert (tmp_path / "results" / "study" / "summary.csv").exists()


def test_only_what_is_missing_is_done(tmp_path):
    sweep(tmp_path, TINY)
    output = tmp_path / "results"
    whole = tables(output)
    forget_tasks(output, range(3, 8))
    code, _, err = sweep(tmp_path, TINY)
    assert code == 0
    assert "5 tasks" in err
    assert finished_tasks(output) == list(range(20))
    assert tables(output) == whole
    assert "nothing to run" in sweep(tmp_path, TINY).err


def test_progress_counts_steps(tmp_path):
    assert "60 of 60 steps" in sweep(tmp_path, TINY.replace("0.25, 0.5, ", "")).err
    text = TINY.replace("per_arm", "testbed").replace("runs = 4", "runs = 9")
    for line in ("global_dim = 2", "arm_dim = 2", "max_num_actions = 3", "batch_size = 2"):
        text = text.replace(line + "\n", "")
    long = text.replace("steps = 5", "steps = 300")
    assert "1,500 of 1,500 steps" in sweep(tmp_path, long, output="b").err


def test_progress_does_not_pass_its_total_where_tasks_are_repeated():
    progress = StepProgress("2 tasks", np.array([5, 5]), np.array([1.0, 3.0]), lambda: 13)
    list(progress.get_renderables())
    (task,) = progress.tasks
    assert (task.fields["steps"], task.completed, task.total) == (10, 4.0, 4.0)


def test_progress_weighs_tasks_by_what_they_cost():
    progress = StepProgress("2 tasks", np.array([5, 5]), np.array([1.0, 3.0]), lambda: 5)
    list(progress.get_renderables())
    (task,) = progress.tasks
    assert (task.fields["steps"], task.completed, task.total) == (5, 1.0, 4.0)


def test_progress_writes_lines_to_the_log_of_a_job(capsys, monkeypatch):
    now = [0.0]
    done = [0]
    monkeypatch.setattr(ERR, "get_time", lambda: now[0])
    progress = StepProgress("2 tasks", np.array([600, 600]), np.ones(2), lambda: done[0])
    for second in range(0, 3600, 20):
        now[0] = second
        done[0] = second // 3
        list(progress.get_renderables())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "20 of 1,200 steps, about 59.0 minutes left"
    assert lines[9] == "200 of 1,200 steps, about 50.0 minutes left"
    assert lines[10].startswith("400 of 1,200 steps")
    assert len(lines) == 14


def test_a_dry_run_counts_tasks_and_does_nothing(tmp_path):
    code, out, _ = sweep(tmp_path, CONTEXTUAL, "--dry-run", "--workers", "1")
    assert code == 0
    assert out.startswith("24 tasks\nabout ")
    assert "with 1 worker" in out
    assert "of memory for each worker" in out
    assert re.search(r"\d+\.\d kB of results", out)
    assert [file.name for file in tmp_path.iterdir()] == ["study.toml"]


def test_a_dry_run_says_which_environment_takes_most_of_the_time(tmp_path, monkeypatch):
    def cost(task, seconds):
        return forecast.Cost(0.0, 9.0 if "batch_size=20" in str(task.environment) else 1.0)

    monkeypatch.setattr(forecast, "_try", cost)
    text = CONTEXTUAL.replace(
        "batch_size = [1, 20]", 'batch_size = [1, 20]\nlabel = "{batch_size} users"'
    )
    _, out, _ = sweep(tmp_path, text, "--dry-run")
    assert "90% of this time is for 20 users: its rows share a problem" in out
    _, out, _ = sweep(tmp_path, CONTEXTUAL.replace("[1, 20]", "20"), "--dry-run")
    assert "of this time" not in out


@pytest.mark.parametrize(
    "title",
    [
        "a [/b] [red]b :smile:",
        pytest.param("costs $5 to $10", marks=pytest.mark.slow),
        pytest.param("a $\\\\foo{$ b", marks=pytest.mark.slow),
    ],
)
def test_a_title_is_printed_and_drawn_as_it_is(tmp_path, drawn, title):
    code, out, _ = sweep(tmp_path, TINY.replace("Tiny", title), output="run[/b]")
    plain = title.replace("\\\\", "\\")
    assert code == 0
    assert plain in out
    assert f"Results: {tmp_path / 'run[/b]'}\n" in out
    drawn[-1].draw_without_rendering()
    assert drawn[-1].texts[0].get_text() == plain


def test_escape_sequences_in_a_study_do_not_reach_the_terminal(tmp_path, recwarn):
    escapes = r"\u001b[31mRED\u001b]0;pwn\u0007\u009b31m"
    text = TINY.replace("Tiny", escapes) + '[[expected]]\nmetric = "reward"\nat_most = 1e9\n'
    source = f'policy = "random"\nsource = "published: {escapes}"\n'
    code, out, err = sweep(tmp_path, f'over = {{"{escapes}" = [1]}}\n{text}{source}')
    assert code == 0
    assert out.count("RED") == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out + err)
    assert not recwarn.list


@pytest.mark.parametrize(
    "example", [pytest.param("lin-ucb-alpha", marks=pytest.mark.slow), "sutton-barto-exercise-2.5"]
)
def test_the_examples_can_be_run(tmp_path, example):
    text = re.sub(r"(?ms)^expected = \[.*?^\]$", "", example_text(example))  # of long runs
    short = re.sub("steps = .*", "steps = 3", text)
    assert sweep(tmp_path, re.sub("runs = .*", "runs = 2", short)).code == 0


def test_a_report_shows_and_writes_again_what_is_there(tmp_path):
    first = sweep(tmp_path, TINY)
    output = tmp_path / "results"
    before = content(output)
    for name in ("figure.png", *TABLES):
        (output / name).unlink()
    again = run("report", output)
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith(first.out)
    assert content(output) == before


def test_a_report_shows_results_of_code_that_has_changed_since(tmp_path, monkeypatch):
    module, output = tmp_path / "edited.py", tmp_path / "results"
    module.write_text("from bandit_envs import RandomPolicy\n\nclass Mine(RandomPolicy): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    sizes = "--runs", 2, "--steps", 3, "--output", output
    first = run("run", "testbed", "--policy", "edited:Mine", *sizes)
    module.write_text(module.read_text() + "# another line\n")
    assert run("report", output).out.startswith(first.out)


def test_a_report_of_other_panels_leaves_the_studys_own_figure(default_testbed, drawn):
    folder, _ = default_testbed
    (folder / "figure.png").write_bytes(b"the study's own")
    outcome = run("report", folder, "--panels", "cumulative_regret")
    assert outcome.code == 0
    assert "figure-cumulative_regret.png" in outcome.out
    (axis,) = drawn[-1].axes
    assert axis.get_ylabel() == "Cumulative regret"
    assert (folder / "figure-cumulative_regret.png").exists()
    assert (folder / "figure.png").read_bytes() == b"the study's own"
    assert run("report", folder, "--figure", folder / "paper.pdf").code == 0
    assert (folder / "paper.pdf").exists()
    assert (folder / "figure.png").read_bytes() == b"the study's own"
    own = ("report", folder, "--panels", "reward", "--figure", folder / "figure.png")
    assert "the study's own; expected another file for a view" in run(*own).err
    assert (folder / "figure.png").read_bytes() == b"the study's own"


def test_a_report_of_some_policies_leaves_the_tables_of_all(default_testbed, drawn):
    folder, _ = default_testbed
    policies = [policy for policy in FIGURE_2_2[1:] for policy in ("--policy", policy)]
    outcome = run("report", folder, *policies)
    assert outcome.code == 0
    assert "Differences to ε-greedy" in outcome.out
    assert "figure-policies.png" in outcome.out
    assert len(drawn[-1].axes[0].lines) == 2
    assert len(rows(folder / "summary.csv")) == 3


def test_a_wrong_panel_is_answered_by_all_that_there_are(default_testbed):
    folder, _ = default_testbed
    code, _, err = run("report", folder, "--panels", "loss")
    assert code == 2
    drawable = [name for name, each in QUANTITIES.items() if each.axis and name in err]
    assert drawable == ["reward", "percent_optimal", "regret", "cumulative_regret"]
    assert len(err.splitlines()) == 1


def test_labels_of_a_study_file_are_in_tables_and_change_no_results(tmp_path):
    sweep(tmp_path, TINY)
    before = tables(tmp_path / "results")
    labelled = TINY.replace('name = "random"', 'name = "random"\nlabel = "by chance"')
    outcome = sweep(tmp_path, labelled)
    assert "nothing to run" in outcome.err
    assert "by chance" in outcome.out
    named = {
        name: content if name.endswith(".npy") else content.replace(b",random,", b",by chance,")
        for name, content in before.items()
    }
    assert named != before
    assert tables(tmp_path / "results") == named
    out = run("report", tmp_path / "results").out
    assert "Differences to by chance" in out


def test_quantiles_over_runs_take_one_more_run_of_a_study_that_kept_no_curves(tmp_path):
    arguments = "--policy", "greedy", *SMALL, "--panels", "reward"
    output = tmp_path / "results"
    run_testbed(tmp_path, *arguments)
    before = tables(output)
    code, _, err = run("report", output, "--quantiles", 0.1, 0.9)
    assert code == 2
    assert "was run with --quantiles" in err
    assert tables(output) == before
    _, out, err = run_testbed(tmp_path, *arguments, "--quantiles", 0.1, 0.9)
    assert "nothing to run" not in err
    of_runs = rows(output / "runs.csv")
    rewards = [float(row["mean_reward"]) for row in of_runs]
    low, median, high = np.quantile(rewards, [0.1, 0.5, 0.9])
    assert f" {median:.3f} " in out
    assert f"({low:.3f} to {high:.3f})" in out
    low, high = np.quantile(rewards, [0.25, 1])
    assert f"({low:.3f} to {high:.3f})" in run("report", output, "--quantiles", 0.25, 1).out
    assert "nothing to run" in run_testbed(tmp_path, *arguments).err
    assert before == tables(output)


def test_a_report_of_an_unfinished_folder_says_what_is_missing(tmp_path):
    sweep(tmp_path, TINY)
    output = tmp_path / "results"
    forget_tasks(output, (0, 1, 16, 17, 18, 19))
    code, out, _ = run("report", output)
    assert code == 0
    assert "random (2 runs so far)" in out
    assert "ε=0.5" in out
    assert "ε=1" not in out
    assert out.endswith("6 of 20 tasks have not finished\n")
    assert "random" not in (output / "summary.csv").read_text()
    for file in (output / "tasks").iterdir():
        file.unlink()
    code, out, _ = run("report", output)
    assert code == 0
    assert out.endswith("20 of 20 tasks have not finished\n")


@pytest.mark.parametrize(
    ("what", "choices", "table"),
    [
        ("environments", EnvironmentChoice, ENVIRONMENTS),
        ("policies", PolicyChoice, POLICIES),
    ],
)
def test_the_list_has_what_a_user_can_paste_and_a_line_of_text(what, choices, table):
    code, out, err = run("list", what)
    assert (code, err) == (0, "")
    pairs = re.findall(r"^  (\S.*)\n      (.+)$", out, re.MULTILINE)
    assert len(set(pairs)) == len(pairs) == len(table)
    for entry_id, (text, summary) in zip(sorted(table), pairs):
        entry = table[entry_id]
        (pasted,) = shlex.split(text)
        (choice,) = choices.expand(pasted.replace("?", "0.5"))
        assert choice.name == entry.id
        assert entry.summary in summary
        for name in entry.parameters():
            assert re.search(rf"\b{name}\b", text + summary)


def test_the_list_of_all_kinds_fits_on_a_screen():
    code, out, _ = run("list")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert "bandit-envs list ID says all about one of them" in out
    environments, policies = out.split(f"{len(POLICIES)} policies")
    for what, text in (("environments", environments), ("policies", policies)):
        for kind, number in re.findall(r"^  (\w+) \((\d+)\)", text, re.MULTILINE):
            code, shown, _ = run("list", what, kind)
            ids = re.findall(r"^  \"?(\w+)", shown, re.MULTILINE)
            assert (code, len(ids)) == (0, int(number))
            assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("policies", "context"), "kind of policies is 'context'; expected one of arms"),
        (("ucb", "greedy"), "list shows one id at a time"),
    ],
)
def test_the_list_refuses_what_it_does_not_have(arguments, message):
    code, _, err = run("list", *arguments)
    assert code == 2
    assert message in err


def test_the_list_shows_all_about_one_id_or_a_class_of_a_user():
    code, out, _ = run("list", "per_arm")
    assert code == 0
    assert out.startswith("per_arm:global_dim=40,")
    for text in (ENVIRONMENTS["per_arm"].make, ENVIRONMENTS["per_arm"].environment):
        assert inspect.getdoc(text) in out
    for user_class in (mine.Bernoulli, mine.Always):
        code, out, _ = run("list", f"{MINE}:{user_class.__name__}")
        assert code == 0
        assert user_class.__doc__ in out
    for unknown, hint in (("thomson", "did you mean thompson"), ("mine:Nothing", "mine:Nothing")):
        code, _, err = run("list", unknown)
        assert code == 2
        assert hint in err


def test_the_version_is_that_of_the_package():
    assert run("--version") == (0, f"bandit-envs {bandit_envs.__version__}\n", "")


def test_help_explains_every_option_and_has_examples_of_its_own():
    assert "bandit-envs run testbed:k=5 --policy ucb:c=2" in run("--help").out
    expected = {
        "reproduce": ("--runs", "--output"),
        "run": ("ENV", "--policy", "--panels", "--runs", "--steps", "--seed", "--output"),
        "sweep": ("STUDY.toml", "--workers", "--output", "--dry-run"),
        "report": ("DIR", "--policy", "--panels", "--quantiles", "--latex"),
        "evaluate": ("LOG", "--policy", "--slot", "--train", "--workers"),
        "list": (),
    }
    for command, options in expected.items():
        out = run(command, "--help", "all").out
        examples = re.findall(r"^  bandit-envs (\S+)", out, re.MULTILINE)
        assert set(examples) == {command}
        for option in options:
            assert option in out
        for line in re.findall(r"^  --.*(?:\n {6,}.*)*", out, re.MULTILINE):
            assert len(line.split()) > 3, f"{line} has no text"
    assert "base random seed (default: 0)" in run("run", "--help").out


def test_help_fits_on_a_screen_and_has_what_one_needs(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in EXAMPLES:
        parser = command_parser(command)
        out = parser.format_help()
        assert len(out.splitlines()) <= 40, command
        assert f"bandit-envs {command} --help all shows all options" in out
        everything = run(command, "--help", "all").out
        for action in parser._actions:
            name = (action.option_strings or [action.metavar])[-1]
            assert name in everything
            assert name in out or not action.required
    assert len(make_parser().format_help().splitlines()) <= 40


def test_no_two_options_of_a_command_have_the_same_help():
    for command in EXAMPLES:
        texts = [action.help for action in command_parser(command)._actions if action.help]
        assert sorted(texts) == sorted(set(texts)), command


def command_parser(name):
    """Returns the parser of a subcommand."""
    (action,) = [each for each in make_parser(name)._actions if each.dest == "command"]
    return action.choices[name]


def test_the_list_imports_nothing_that_only_runs_need_and_its_reader_may_stop_early():
    code = (
        "import sys; from bandit_envs.cli import command; code = command();"
        "found = {'rich', 'joblib', 'matplotlib', 'filelock'} & set(sys.modules);"
        "print(code, found, file=sys.stderr)"
    )
    arguments = [sys.executable, "-c", code, "list"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"1 set()\n"


def test_a_summary_says_that_some_tests_have_not_stopped(tmp_path):
    def out_of(steps):
        arms = "bernoulli:means=[0.1,0.9]"
        sizes = "--runs", 10, "--steps", steps, "--output", tmp_path / f"{steps}"
        return run("run", arms, "--policy", "track_and_stop:delta=0.1", *sizes).out

    assert "Some runs have not stopped within 5 steps: they count with so many" in out_of(5)
    assert "have not stopped" not in out_of(200)


def test_a_list_of_published_figures_takes_no_options_of_a_run():
    outcome = run("reproduce", "--runs", "5")
    assert (outcome.code, "no NAME is given" in outcome.err) == (2, True)


def test_the_command_has_few_options():
    # A pair is a subcommand and one of its options. Only --help does not count.
    pairs = {
        (command, action.option_strings[-1])
        for command in EXAMPLES
        for action in command_parser(command)._actions
        if action.option_strings and action.option_strings[-1] != "--help"
    }
    assert len(pairs) <= 105
