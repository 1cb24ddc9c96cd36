"""Logs that the command makes of runs."""

import re

import pytest

from bandit_envs.logged import read_log
from tests.command_line import rows, run

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

RUN = ["run", "logistic_context:batch_size=5,num_actions=3", "--steps", "8", "--workers", "1"]


def record(folder, *arguments, suffix=".npz", command=RUN):
    """Runs a command that records, with its outputs below a folder."""
    outputs = ("--record", folder / f"log{suffix}", "--output", folder / "results")
    return run(*command, *arguments, *outputs)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_run_becomes_a_log(tmp_path, suffix):
    if suffix == ".csv":
        pytest.importorskip("pandas")
    policy = ("--policy", "linear_epsilon_greedy:epsilon=0.3")
    assert record(tmp_path, *policy, suffix=suffix).code == 0
    log = read_log(tmp_path / f"log{suffix}")
    assert (len(log), log.num_actions) == (40, 3)
    assert log.expected_rewards.shape == (40, 3)
    (row,) = rows(tmp_path / "results" / "runs.csv")
    assert log.reward.mean() == pytest.approx(float(row["mean_reward"]))


def test_a_run_becomes_a_folder_of_parts_that_are_replaced_only_on_demand(tmp_path):
    assert record(tmp_path, "--policy", "random", suffix="").code == 0
    outcome = record(tmp_path, "--policy", "random", "--overwrite")
    assert "40 rows, 3 actions, mean reward" in outcome.out
    log = read_log(tmp_path / "log.npz")
    assert read_log(tmp_path / "log") == log
    code, _, err = record(tmp_path, "--policy", "random", "--seed", "1", suffix="")
    assert (code, "--overwrite" in err) == (2, True)
    assert read_log(tmp_path / "log") == log
    options = ("--policy", "random", "--seed", "1", "--overwrite")
    assert record(tmp_path, *options, suffix="").code == 0
    assert read_log(tmp_path / "log") != log


def test_a_run_of_real_actions_becomes_a_log_that_evaluate_takes_and_learn_refuses(tmp_path):
    command = ["run", "continuous:batch_size=5", "--steps", "8", "--workers", "1"]
    policy = ("--policy", "gaussian:std=0.2")
    assert "40 rows, real actions" in record(tmp_path, *policy, command=command).out
    log = read_log(tmp_path / "log.npz")
    assert (log.num_actions, log.action.dtype.kind) == (0, "f")
    evaluate = ("evaluate", "--policy", "gaussian:std=0.2")
    outcome = run(*evaluate, tmp_path / "log.npz", "--output", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert "kernel_snips:bandwidth=" in outcome.out
    code, _, err = run("learn", tmp_path / "log.npz", "--output", tmp_path / "out.npz")
    assert (code, "real numbers; expected actions that can be counted" in err) == (2, True)


CASCADE = ["run", "cascade", "--steps", "5"]


@pytest.mark.parametrize(
    ("command", "policies", "message"),
    [
        (RUN, ["linear_thompson"], "probabilities"),
        (RUN, ["random", "greedy"], "one policy"),
        (RUN, [], "one policy"),
        (CASCADE, [], "slates.*cascade"),
        (CASCADE, ["cascade_ucb"], "slates.*cascade"),
        (CASCADE, ["random_slate"], "slates.*cascade"),
    ],
)
def test_a_run_that_cannot_become_a_log_does_not_start(tmp_path, command, policies, message):
    given = [item for policy in policies for item in ("--policy", policy)]
    code, out, err = record(tmp_path, *given, command=command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    code, out, err = record(tmp_path, "--policy", "random", suffix=".txt")
    assert (code, out) == (2, "")
    assert "log.txt; expected a name that ends in .npz, .csv, .parquet" in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_not_recorded_to_and_keeps_them(tmp_path):
    assert record(tmp_path, "--policy", "random", suffix="").code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "log").iterdir()}
    (tmp_path / "log" / "part-a.npz").write_text("mine")
    code, _, err = record(tmp_path, "--policy", "random", "--overwrite", suffix="")
    assert code == 2
    assert "log has part-a.npz; expected a folder without other files" in err
    after = {file.name: file.read_bytes() for file in (tmp_path / "log").iterdir()}
    assert after == {**before, "part-a.npz": b"mine"}


def test_a_log_is_replaced_only_on_demand(tmp_path):
    assert record(tmp_path, "--policy", "random").code == 0
    before = (tmp_path / "log.npz").read_bytes()
    code, _, err = record(tmp_path, "--policy", "random", "--seed", "1")
    assert code == 2
    assert "--overwrite" in err
    assert (tmp_path / "log.npz").read_bytes() == before
    assert record(tmp_path, "--policy", "random", "--seed", "1", "--overwrite").code == 0
    assert (tmp_path / "log.npz").read_bytes() != before
