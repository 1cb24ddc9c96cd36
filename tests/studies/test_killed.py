"""What is left of a run that is interrupted or killed."""

import os
import signal
import time

import numpy as np
import pytest

from tests.command_line import (
    SMALL,
    TINY,
    finish,
    finished_tasks,
    line_of,
    rows,
    run_testbed,
    start,
    sweep,
    tables,
    wait_for,
    write,
)

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

KILLS = 8
STUDY = """
title = "Killed"
runs = 5
steps = 150
metrics = ["reward", "regret"]
panels = ["regret"]

[[environment]]
name = "per_arm"
global_dim = 3
arm_dim = 4
max_num_actions = 5
batch_size = 3

[[policy]]
name = "lin_ucb"
alpha = [0.1, 0.2, 0.5, 1, 2, 5]

[[policy]]
name = "linear_thompson"
alpha = [0.1, 0.2, 0.5, 1, 2, 5]
"""


def test_an_interrupt_keeps_what_was_finished(tmp_path, monkeypatch):
    """In this process; the tests below send the signal itself."""
    results = pytest.importorskip("bandit_envs.studies.running.workers").WorkerFile
    save = results.save

    def interrupted(self, task, result):
        save(self, task, result)
        if task.position == 1:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as context:
        context.setattr(results, "save", interrupted)
        code, out, err = run_testbed(tmp_path, *SMALL)
    folder = tmp_path / "results"
    assert code == 130
    line = line_of("run", "testbed", *SMALL, "--output", folder)
    assert err.endswith(f"interrupted: this resumes it: {line}\n")
    assert "greedy" in out
    assert len(rows(folder / "summary.csv")) == len(finished_tasks(folder)) == 2
    assert (folder / "figure.png").exists()
    assert run_testbed(tmp_path, *SMALL).code == 0
    run_testbed(tmp_path, *SMALL, output="undisturbed")
    assert tables(folder) == tables(tmp_path / "undisturbed")


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_ctrl_c_ends_every_process_and_keeps_what_was_finished(tmp_path, backend):
    if backend == "dask":
        pytest.importorskip("distributed")
    study = TINY.replace("steps = 5", "steps = 3000")
    output = tmp_path / "results"
    options = ("--output", output, "--workers", f"{backend}:2")
    arguments = ("sweep", write(tmp_path, study), *options)
    process = start(*arguments)
    of_random = set(range(4))
    wait_for(lambda: of_random <= set(finished_tasks(output)), process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, out, err = finish(process)
    assert code == 130
    assert "Traceback" not in err
    assert err.endswith(f"interrupted: this resumes it: {line_of(*arguments)}\n")
    assert "random" in out
    assert rows(output / "summary.csv")[0]["policy"] == "random"
    assert not list(output.rglob(".*.part"))
    assert len(finished_tasks(output)) < 20


@pytest.mark.posix
@pytest.mark.slow
def test_killing_a_sweep_again_and_again_changes_no_byte_of_its_results(tmp_path):
    """Kills all of its processes: in the start, in tasks, while files and tables are written.

    With fewer kills, few would fall on the milliseconds in which a file is written. Each costs the
    start of three processes, or where threads run the tasks, of one.
    """
    rng = np.random.default_rng(7)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, STUDY), "--output", output, "--workers")
    finished = [0]
    for kill in range(KILLS):
        process = start(*arguments, "2" if kill % 3 == 0 else "threading:2")
        # A quarter dies within a second of its start, the others once some more tasks are done.
        until = finished[-1] + (rng.integers(0, 9) if kill % 4 else 0)
        deadline = time.monotonic() + 30
        while len(finished_tasks(output)) < until and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 0.05 if kill % 4 else 1.0))
        assert process.poll() is None, "it had finished before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        finished.append(len(finished_tasks(output)))
    assert np.all(np.diff(finished) >= 0)
    assert np.count_nonzero(np.diff(finished)) >= KILLS // 2
    assert 0 < finished[-1] < 60

    assert sweep(tmp_path, STUDY).code == 0
    assert not list(output.rglob(".*.part"))
    assert sweep(tmp_path, STUDY, output="undisturbed").code == 0
    assert tables(output) == tables(tmp_path / "undisturbed")


@pytest.mark.posix
@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path):
    psutil = pytest.importorskip("psutil")
    study = TINY.replace("steps = 5", "steps = 200_000")
    options = ("--output", tmp_path / "results", "--workers", "2")
    command = start("sweep", write(tmp_path, study), *options)

    def workers():
        children = psutil.Process(command.pid).children(recursive=True)
        return [child for child in children if "popen_loky" in " ".join(child.cmdline())]

    wait_for(lambda: len(workers()) == 2, command)
    found = workers()
    wait_for(lambda: list((tmp_path / "results" / "tasks").glob(".steps-*")), command)
    command.kill()
    command.communicate()
    _, alive = psutil.wait_procs(found, timeout=10)
    assert alive == []


def test_no_worker_outlives_a_run(tmp_path):
    psutil = pytest.importorskip("psutil")
    assert sweep(tmp_path, TINY, "--workers", "2").code == 0
    children = psutil.Process().children(recursive=True)
    assert not [child for child in children if "popen_loky" in " ".join(child.cmdline())]


@pytest.mark.posix
@pytest.mark.slow
def test_ctrl_c_after_the_last_task_leaves_one_line(tmp_path):
    """Tables and the figure are written then, and no worker is needed any more."""
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--output", output, "--workers", "2")
    command = start(*arguments)
    wait_for((output / "summary.csv").exists, command)
    os.killpg(command.pid, signal.SIGINT)
    code, _, err = finish(command)
    assert code == 130
    *bar, last = err.splitlines()
    assert last == f"interrupted: this resumes it: {line_of(*arguments)}"
    assert "leaked" not in "".join(bar)


@pytest.mark.posix
@pytest.mark.slow
def test_ctrl_c_after_the_last_line_leaves_no_traceback(tmp_path):
    options = ("--output", tmp_path / "results", "--workers", "2")
    for pause in (0.0, 0.03, 0.1):
        command = start("sweep", write(tmp_path, TINY), *options, "--overwrite")
        while not command.stdout.readline().startswith("Results: "):
            assert command.poll() is None
        time.sleep(pause)
        os.killpg(command.pid, signal.SIGINT)
        code, _, err = finish(command)
        assert code in (0, 130)
        assert "Traceback" not in err
