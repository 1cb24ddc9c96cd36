"""The command as its users meet it: files, exit codes, one line for each mistake."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import bandit_envs
from bandit_envs.cli import main

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
SMALL = ("--runs", "30", "--steps", "12")
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


@pytest.fixture
def testbed(tmp_path, capsys):
    """Runs `bandit-envs testbed`: returns the exit code, the output folder, stdout and stderr."""

    def testbed(*arguments, output="results"):
        folder = tmp_path / output
        try:
            code = main(["testbed", *arguments, "--output", str(folder)])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, folder, captured.out, captured.err

    return testbed


def rows(file):
    """Returns the rows of a table as dicts."""
    return list(csv.DictReader(io.StringIO(file.read_text())))


def columns(file):
    return next(csv.reader(io.StringIO(file.read_text())))


def content(folder):
    """Returns the bytes of every file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_default_is_figure_2_2(testbed):
    code, folder, out, _ = testbed(*SMALL)
    assert code == 0
    assert {path.name for path in folder.glob("[!.]*")} == {
        *("config.json", "curves.csv", "figure.png", "summary.csv", "tasks")
    }
    assert [row["policy"] for row in rows(folder / "summary.csv")] == FIGURES["2.2"]
    assert "Figure 2.2" in out
    assert "ε-greedy, ε=0.01" in out
    assert str(folder) in out.replace("\n", "")


def test_the_tables_have_the_columns_and_rows_promised(testbed):
    _, folder, _, _ = testbed(*SMALL)
    assert columns(folder / "summary.csv") == SUMMARY_COLUMNS
    assert columns(folder / "curves.csv") == CURVE_COLUMNS
    expected = [(policy, str(step)) for policy in FIGURES["2.2"] for step in range(1, 13)]
    assert [(row["policy"], row["step"]) for row in rows(folder / "curves.csv")] == expected


def test_the_summary_sums_the_curves_up(testbed):
    _, folder, _, _ = testbed(*SMALL)
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


def test_the_same_seed_writes_the_same_curves_byte_for_byte(testbed):
    curves = [
        testbed("--policy", "thompson", *SMALL, *options, output=f"run {number}")[1] / "curves.csv"
        for number, options in enumerate([("--seed", "7"), ("--seed", "7"), ("--seed", "8")])
    ]
    first, second, other = (file.read_bytes() for file in curves)
    assert first == second
    assert first != other


def test_the_number_of_workers_does_not_change_the_curves(testbed):
    # More runs than fit into one batch, so that there is something to divide.
    arguments = ("--policy", "gradient:step_size=0.1", "--runs", "4100", "--steps", "5")
    _, one, _, _ = testbed(*arguments, output="one")
    _, two, _, _ = testbed(*arguments, "--workers", "2", output="two")
    assert (one / "curves.csv").read_bytes() == (two / "curves.csv").read_bytes()


def test_the_config_is_all_that_reruns_it(testbed):
    arguments = ("--policy", "ucb:c=2", "--policy", "random", "--arms", "4", "--seed", "3")
    _, folder, _, _ = testbed(*arguments, *SMALL)
    config = json.loads((folder / "config.json").read_text())
    assert config["versions"]["bandit_envs"] == bandit_envs.__version__
    assert config["versions"]["numpy"] == np.__version__
    study = config["study"]
    assert study["environments"] == ["testbed:k=4,value_mean=0"]
    again = [item for policy in study["policies"] for item in ("--policy", policy)]
    for name in ("runs", "steps", "seed"):
        again += [f"--{name}", str(study[name])]
    _, other, _, _ = testbed(*again, "--arms", "4", output="again")
    assert (other / "curves.csv").read_bytes() == (folder / "curves.csv").read_bytes()


def test_a_policy_alone_is_all_that_runs(testbed):
    _, folder, _, _ = testbed("--policy", "ucb:c=1", "--policy", "thompson", *SMALL)
    assert [row["policy"] for row in rows(folder / "summary.csv")] == ["ucb:c=1", "thompson"]


def test_a_policy_comes_beside_those_of_a_figure(testbed):
    _, folder, _, _ = testbed("--figure", "2.4", "--policy", "thompson", *SMALL)
    policies = [row["policy"] for row in rows(folder / "summary.csv")]
    assert policies == [*FIGURES["2.4"], "thompson"]


def test_every_policy_meets_the_same_testbeds(testbed):
    policies = ("--policy", "ucb:c=2", "--policy", "greedy")
    _, together, _, _ = testbed(*policies, *SMALL)
    _, alone, _, _ = testbed("--policy", "greedy", *SMALL, output="alone")
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
def test_a_figure_has_the_policies_and_panels_of_the_book(testbed, drawn, number, panels):
    code, folder, out, _ = testbed("--figure", number, *SMALL)
    assert code == 0
    assert [row["policy"] for row in rows(folder / "summary.csv")] == FIGURES[number]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert [axis.get_ylabel() for axis in drawn[-1].axes] == panels
    assert all(len(axis.lines) == len(FIGURES[number]) for axis in drawn[-1].axes)
    assert drawn[-1].texts[0].get_text().startswith(f"Figure {number}")
    assert f"Figure {number}" in out


def test_figure_2_5_has_arm_values_about_4(testbed):
    _, folder, _, _ = testbed("--figure", "2.5", "--policy", "random", *SMALL)
    # The mean of 30 testbeds of 10 arms has a standard error of about 0.1.
    assert abs(float(rows(folder / "summary.csv")[-1]["mean_reward"]) - 4.0) < 0.5


def test_figure_2_6_is_a_parameter_study(testbed, drawn):
    code, folder, _, _ = testbed("--figure", "2.6", "--runs", "5", "--steps", "6")
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "thomson"], "policy is 'thomson'; expected one of random, greedy, "),
        (["--policy", ""], "policy is ''; expected one of random, greedy, "),
        (["--policy", "ucb:d=2"], "policy ucb got 'd'; expected c"),
        (["--policy", "random:c=2"], "policy random got 'c'; expected no parameters"),
        (["--policy", "greedy:epsilon=0.1"], "got 'epsilon'; expected initial_value, step_size"),
        (["--policy", "ucb"], "policy ucb got no c; expected one"),
        (["--policy", "ucb:"], "policy is 'ucb:'; expected name:key=value,key=value"),
        (["--policy", "ucb:c"], "policy is 'ucb:c'; expected name:key=value,key=value"),
        (["--policy", "ucb:c=2,c=3"], "policy ucb got c twice; expected it once"),
        (["--policy", "ucb:c=two"], "c is 'two'; expected a number, true, false or none"),
        (["--policy", "ucb:c=0"], "c is 0; expected more than 0"),
        (["--policy", "ucb:c=none"], "c is None; expected a number"),
        (["--policy", "ucb:c=inf"], "c is inf; expected a finite number"),
        (["--policy", "epsilon_greedy:epsilon=2"], "epsilon is 2; expected a number from 0 to 1"),
        (["--policy", "epsilon_greedy:epsilon=true"], "epsilon is True; expected a number"),
        (["--policy", "greedy:step_size=0"], "step_size is 0; expected more than 0"),
        (["--policy", "gradient:step_size=1,baseline=1"], "baseline is 1.0; expected True or Fal"),
        (["--policy", "lin_ucb"], "policy lin_ucb"),
        (["--policy", "greedy", "--policy", "greedy"], "policy greedy is there twice; expected"),
        (["--figure", "2.2", "--policy", "greedy"], "policy greedy is there twice; expected"),
        (["--figure", "2.7"], "choose from"),
        (["--runs", "0"], "argument --runs: '0'; expected an integer, at least 1"),
        (["--runs", "1.5"], "argument --runs: '1.5'; expected an integer, at least 1"),
        (["--steps", "-3"], "argument --steps: '-3'; expected an integer, at least 1"),
        (["--arms", "none"], "argument --arms: 'none'; expected an integer, at least 1"),
        (["--seed", "-1"], "argument --seed: '-1'; expected an integer, at least 0"),
        (["--runs"], "argument --runs: expected one argument"),
        (["--speed", "1"], "unrecognized arguments: --speed 1"),
    ],
)
def test_wrong_input_ends_with_one_line_and_no_file(testbed, arguments, message):
    code, folder, out, err = testbed(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("bandit-envs")
    assert message in err
    assert not folder.exists()


def test_no_command_and_an_unknown_one_are_refused(capsys):
    for arguments in ([], ["test-bed"]):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("other", [("--seed", "1"), ("--steps", "13"), ("--policy", "random")])
def test_a_folder_of_other_results_is_left_alone(testbed, other):
    _, folder, _, _ = testbed(*SMALL)
    before = content(folder)
    code, _, out, err = testbed(*SMALL, *other)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "holds something else; expected a new or empty folder" in err
    assert content(folder) == before


def test_a_folder_of_other_files_is_left_alone(testbed, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.tex").write_text("chapter 1")
    code, folder, _, err = testbed(*SMALL)
    assert code == 2
    assert err.count("\n") == 1
    assert "holds something else; expected a new or empty folder" in err
    assert content(folder) == {folder / "thesis.tex": b"chapter 1"}


@pytest.mark.parametrize("output", ["file", "file/results"])
def test_an_output_that_cannot_be_a_folder_is_refused(testbed, tmp_path, output):
    (tmp_path / "file").write_text("not a folder")
    code, _, _, err = testbed(*SMALL, output=output)
    assert code == 2
    assert err.count("\n") == 1
    assert f"output folder {tmp_path / output}" in err
    assert "; expected a folder" in err
    assert content(tmp_path) == {tmp_path / "file": b"not a folder"}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_may_not_be_written_is_refused(testbed, tmp_path):
    (tmp_path / "results").mkdir(mode=0o500)
    code, folder, _, err = testbed(*SMALL)
    assert code == 2
    assert err.count("\n") == 1
    assert str(folder) in err


def test_an_empty_folder_is_welcome(testbed, tmp_path):
    (tmp_path / "results").mkdir()
    assert testbed(*SMALL)[0] == 0


def test_the_same_command_again_finds_everything_done(testbed):
    _, folder, _, _ = testbed(*SMALL)
    before = content(folder)
    code, _, out, _ = testbed(*SMALL)
    assert code == 0
    assert "Figure 2.2" in out
    assert content(folder) == before


def test_progress_goes_to_stderr_and_the_table_to_stdout(testbed):
    _, _, out, err = testbed("--policy", "ucb:c=2", *SMALL)
    assert "tasks" in err
    assert "tasks" not in out
    assert "UCB, c=2" in out
    assert "30 runs of 12 steps" in out


# A first policy that is done at once, and others that take a third of a second each.
LONG = [
    *("--runs", "200", "--arms", "500", "--steps", "300", "--policy", "random"),
    *(item for std in range(1, 8) for item in ("--policy", f"thompson:prior_std={std}")),
]


@pytest.fixture
def start(tmp_path):
    """Starts a run in a process of its own, and waits until it has written a file."""
    processes = []

    def start(arguments, until):
        folder = tmp_path / "results"
        command = [sys.executable, "-m", "bandit_envs", "testbed", *arguments]
        process = subprocess.Popen(
            [*command, "--output", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        processes.append(process)
        deadline = time.monotonic() + 60
        while not (folder / until).exists():
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process, folder

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_finished_policy_is_on_disk_while_others_run(start):
    process, folder = start(LONG, until="curves.csv")
    summary = rows(folder / "summary.csv")
    curves = rows(folder / "curves.csv")
    assert process.poll() is None
    assert summary[0]["policy"] == "random"
    assert len(summary) < 8
    assert [row["step"] for row in curves[:300]] == [str(step) for step in range(1, 301)]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_keeps_what_was_finished(start):
    process, folder = start(LONG, until="curves.csv")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted: what was finished is in the output folder" in err
    assert rows(folder / "summary.csv")[0]["policy"] == "random"
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert not list(folder.rglob(".*.part"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_before_anything_is_finished_leaves_no_empty_tables(start):
    arguments = ("--policy", "thompson", "--runs", "2000", "--steps", "100000")
    process, folder = start(arguments, until="config.json")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert {path.name for path in folder.glob("[!.]*")} == {"config.json", "tasks"}


def test_a_killed_run_leaves_no_half_file_and_can_be_continued(start, tmp_path):
    process, folder = start(LONG, until="curves.csv")
    process.kill()
    process.wait()
    json.loads((folder / "config.json").read_text())
    finished = {row["policy"] for row in rows(folder / "summary.csv")}
    assert "random" in finished
    for name, width in (("summary.csv", 10), ("curves.csv", 8)):
        text = (folder / name).read_text()
        assert text.endswith("\n")
        assert {len(row) for row in csv.reader(io.StringIO(text))} == {width}
    for file in (folder / "tasks").glob("[!.]*"):
        with np.load(file, allow_pickle=False) as arrays:
            assert arrays["curves"].shape[-1] == 300

    # What is there is not done again, and the curves are as if nothing had happened.
    done = {file: file.stat().st_mtime_ns for file in (folder / "tasks").glob("[!.]*")}
    whole = tmp_path / "whole"
    for output in (folder, whole):
        assert main(["testbed", *LONG, "--output", str(output)]) == 0
    assert {file: file.stat().st_mtime_ns for file in done} == done
    assert (folder / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    assert not list(folder.rglob(".*.part"))


def python(*arguments, code=None):
    """Runs Python and returns the finished process."""
    command = [sys.executable, *(["-c", code] if code else []), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("package", ["rich", "matplotlib", "joblib", "filelock", "threadpoolctl"])
def test_a_missing_package_is_named_with_what_to_install(package, tmp_path):
    code = f"""
import sys

class Missing:
    def find_spec(name, path, target=None):
        if name == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)

from bandit_envs.cli import main

sys.exit(main(sys.argv[1:]))
"""
    process = python("testbed", "--output", str(tmp_path / "results"), code=code)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr == (
        f"bandit-envs: {package} is not installed; expected pip install 'bandit_envs[cli]'\n"
    )
    assert not (tmp_path / "results").exists()


def test_the_version_is_that_of_the_package():
    process = python("-m", "bandit_envs", "--version")
    assert (process.returncode, process.stdout) == (0, f"bandit-envs {bandit_envs.__version__}\n")


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["testbed", "--help"])
    out = capsys.readouterr().out
    for option in ("--figure", "--policy", "--runs", "--steps", "--arms", "--seed", "--output"):
        assert option in out
