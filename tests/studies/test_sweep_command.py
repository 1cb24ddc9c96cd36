"""`bandit-envs sweep` and `bandit-envs report` as their users meet them."""

import csv
import io
import os
import re
import signal
import subprocess
import sys
import tracemalloc

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.studies.estimate import estimate

from bandit_envs.studies.tasks import run_task
from tests.experiments.sweeps import (
    CONTEXTUAL,
    TINY,
    finish,
    run,
    start,
    sweep,
    tables,
    task_files,
    wait_for,
    write,
)
from tests.experiments.test_studies import example_text, parse

STRANGE = (
    '{"versions": {}, "study": {"environments": [5], "policies": [], "metrics": [], "panels": []}}'
)


def rows(file):
    """Returns the rows of a table as dicts."""
    return list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))


def test_a_sweep_leaves_tables_a_picture_and_what_reruns_it(tmp_path):
    code, out, err = sweep(tmp_path, CONTEXTUAL)
    output = tmp_path / "results"
    assert code == 0
    assert {file.name for file in output.glob("[!.]*")} == {
        *("config.json", "curves.csv", "figure.png", "summary.csv", "tasks")
    }
    summary, curves = rows(output / "summary.csv"), rows(output / "curves.csv")
    assert list(summary[0]) == [
        *("environment", "policy", "reward", "reward_se", "mean_reward", "mean_reward_se"),
        *("cumulative_regret", "cumulative_regret_se"),
    ]
    assert list(curves[0]) == [
        *("environment", "policy", "step", "reward", "reward_se", "regret", "regret_se")
    ]
    assert [(row["environment"], row["policy"]) for row in summary] == [
        (f"per_arm:batch_size={size}", policy)
        for size in (1, 20)
        for policy in (
            *("lin_ucb:alpha=0.5", "lin_ucb:alpha=2", "linear_thompson"),
            "linear_epsilon_greedy:epsilon=0.1",
        )
    ]
    assert len(curves) == 8 * 12
    assert "LinUCB, α=0.5, B=20" in out
    assert "24/24" in err


def test_the_output_folder_is_named_after_the_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("sweep", write(tmp_path, TINY)).code == 0
    assert (tmp_path / "results" / "study" / "summary.csv").exists()


def test_the_same_command_again_does_nothing_again(tmp_path):
    sweep(tmp_path, TINY)
    before = {file: file.stat().st_mtime_ns for file in task_files(tmp_path / "results")}
    code, out, err = sweep(tmp_path, TINY)
    assert code == 0
    assert "0/0" in err
    assert "linear ε-greedy, ε=0.25" in out
    assert {file: file.stat().st_mtime_ns for file in task_files(tmp_path / "results")} == before


def test_only_what_is_missing_is_done(tmp_path):
    sweep(tmp_path, TINY)
    whole = tables(tmp_path / "results")
    for file in task_files(tmp_path / "results")[3:8]:
        file.unlink()
    code, _, err = sweep(tmp_path, TINY)
    assert code == 0
    assert "5/5" in err
    assert tables(tmp_path / "results") == whole


def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path):
    code, out, err = sweep(tmp_path, CONTEXTUAL, "--dry-run", "--workers", "2")
    assert (code, err) == (0, "")
    assert "lin_ucb:alpha=0.5, per_arm:batch_size=1: 3 tasks\n" in out
    assert re.search(
        r"\n24 tasks, about \d+ s on 2 workers, about \d+ MiB a worker besides Python", out
    )
    assert list(tmp_path.iterdir()) == [tmp_path / "study.toml"]


def test_a_dry_run_counts_no_worker_that_has_nothing_to_do(tmp_path):
    assert " s on 24 workers, " in sweep(tmp_path, CONTEXTUAL, "--dry-run", "--workers", "99").out


@pytest.mark.parametrize("title", ["a [/b] [red]b :smile:", "costs $5 to $10", "a $\\\\foo{$ b"])
def test_a_title_is_printed_and_drawn_as_it_is(tmp_path, title):
    text = re.sub('title = ".*"', lambda _: f'title = "{title}"', TINY)
    assert title in text
    code, out, err = sweep(tmp_path, text, "--output", str(tmp_path / "run[/b]"))
    assert (code, err.count("\n") < 5) == (0, True)
    assert title.replace("\\\\", "\\") in out
    assert f"Results: {tmp_path / 'run[/b]'}, picture: " in out
    code, again, _ = run("report", tmp_path / "run[/b]")
    assert (code, again) == (0, out)


def test_where_a_terminal_lacks_a_sign_there_is_another(tmp_path):
    study, results = write(tmp_path, TINY), tmp_path / "results"
    done = subprocess.run(
        [sys.executable, "-m", "bandit_envs", "sweep", study, "--output", results],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b" ?0." in done.stdout


def test_a_dry_run_of_many_policies_names_the_first_of_them(tmp_path):
    many = TINY.replace("[0, 0.25, 0.5, 1]", str([step / 100 for step in range(100)]))
    out = sweep(tmp_path, many, "--dry-run").out
    assert out.count(": 4 tasks\n") == 60
    assert "\n... and 41 more\n404 tasks, about" in out


def test_the_estimate_of_memory_is_that_of_the_largest_task():
    small = parse(TINY)
    large = parse(TINY.replace("steps = 5", "steps = 5000").replace("arms = 3", "arms = 3000"))
    assert estimate(large).memory > 10 * estimate(small).memory
    assert estimate(large).seconds > 100 * estimate(small).seconds

    task = next(large.tasks(next(large.cells())))
    tracemalloc.start()
    run_task(task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < estimate(large).memory / peak < 2.5


@pytest.mark.parametrize("example", ["figure_2_6", "per_arm_alpha"])
def test_the_examples_can_be_run(tmp_path, example):
    code, out, _ = sweep(tmp_path, example_text(example), "--dry-run")
    assert code == 0
    assert {"figure_2_6": "\n26 tasks", "per_arm_alpha": "\n240 tasks"}[example] in out
    short = re.sub("steps = .*", "steps = 3", example_text(example))
    short = re.sub("runs = .*", "runs = 2", short)
    assert sweep(tmp_path, short).code == 0


def test_a_report_shows_again_what_is_there(tmp_path):
    first = sweep(tmp_path, TINY)
    output = tmp_path / "results"
    picture, before = (output / "figure.png").read_bytes(), tables(output)
    (output / "figure.png").unlink()
    code, out, err = run("report", output)
    assert (code, err) == (0, "")
    assert out == first.out
    assert (output / "figure.png").read_bytes() == picture
    assert tables(output) == before


def test_a_report_of_an_unfinished_folder_says_what_is_missing(tmp_path):
    sweep(tmp_path, TINY)
    output = tmp_path / "results"
    first, second, *others = task_files(output)
    for file in (first, second, *others[-4:]):
        file.unlink()
    code, out, _ = run("report", output)
    assert code == 0
    assert re.search(r"random \(2 runs so far\)", out)
    assert "linear ε-greedy, ε=0.5 " in out
    assert "ε=1 " not in out
    assert out.endswith("6 of 20 tasks are not there yet\n")


def test_a_report_of_a_folder_in_which_nothing_is_finished_says_so(tmp_path):
    sweep(tmp_path, TINY)
    for file in task_files(tmp_path / "results"):
        file.unlink()
    code, out, _ = run("report", tmp_path / "results")
    assert (code, out) == (0, "20 of 20 tasks are not there yet\n")


def test_a_report_of_what_is_no_folder_of_results_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    for number, config in enumerate(("[" * 100_000, '{"versions": {}, "study": [5]}', STRANGE)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "config.json").write_text(config)
    for folder in (tmp_path, *(tmp_path / name for name in ("nothing", "file", "0", "1", "2"))):
        code, out, err = run("report", folder)
        assert (code, out) == (2, "")
        assert f"{folder} holds no results: " in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs = ", "study.toml: Invalid value"),
        ("title = 'a'\ntitle = 'b'", "study.toml: Cannot overwrite a value"),
        ("", "study.toml: the study has no title; expected one"),
        (TINY.replace("runs = 4", 'runs = "4"'), "study.toml: runs is '4'; expected an integer"),
        (TINY.replace("[0, 0.25, 0.5, 1]", "[]"), "linear_epsilon_greedy got an empty list"),
        (TINY.replace('"random"', '"ucb"'), "study.toml: policy ucb got no c; expected one"),
        (
            TINY.replace('"per_arm"', '"testbed"')
            .replace("global_dim = 2\narm_dim = 2\narms = 3\nbatch_size = 2", "")
            .replace('"random"', '"lin_ucb"'),
            "policy lin_ucb: observation_spec is ArraySpec",
        ),
    ],
)
def test_a_study_that_is_none_ends_with_one_line_and_no_file(tmp_path, text, message):
    for arguments in ((), ("--dry-run",)):
        code, out, err = sweep(tmp_path, text, *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
        assert not (tmp_path / "results").exists()


def test_a_study_that_cannot_be_read_ends_with_one_line(tmp_path):
    (tmp_path / "latin-1.toml").write_bytes("title = 'ü'".encode("latin-1"))
    for name, message in (
        ("none.toml", "No such file"),
        ("", "Is a directory"),
        ("latin-1.toml", "can't decode byte"),
    ):
        code, out, err = run("sweep", tmp_path / name)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", "0"), "argument --workers: '0'; expected an integer, at least 1"),
        (("--workers", "two"), "argument --workers: 'two'; expected an integer, at least 1"),
        (("--backend", "mpi"), "argument --backend: invalid choice: 'mpi'"),
        (("--address",), "argument --address: expected one argument"),
    ],
)
def test_wrong_options_are_refused(tmp_path, arguments, message):
    code, _, err = sweep(tmp_path, TINY, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_an_interrupt_keeps_what_was_finished(tmp_path, backend):
    if backend == "dask":
        pytest.importorskip("distributed")
    study = TINY.replace("steps = 5", "steps = 3000").replace("runs = 4", "runs = 12")
    output = tmp_path / "results"
    arguments = ("--output", output, "--workers", "2", "--backend", backend)
    process = start("sweep", write(tmp_path, study), *arguments)
    wait_for((output / "summary.csv").exists, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, out, err = finish(process)
    assert code == 130
    assert "Traceback" not in err
    assert err.endswith("interrupted: what was finished is in the output folder\n")
    assert "random" in out
    assert rows(output / "summary.csv")[0]["policy"] == "random"
    assert (output / "figure.png").exists()
    assert not list(output.rglob(".*.part"))
    assert 0 < len(task_files(output)) < 60
