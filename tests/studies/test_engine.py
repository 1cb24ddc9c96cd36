"""What the engine does is the same wherever it is done, and goes on where something fails."""

import errno
import itertools
import os
import re
import threading

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

import joblib

from bandit_envs.studies import engine
from bandit_envs.studies.results import ResultsFolder
from bandit_envs.studies.run import EngineError, missing_tasks, run_tasks
from tests.experiments.sweeps import (
    CONTEXTUAL,
    TESTBED,
    TINY,
    finish,
    start,
    sweep,
    tables,
    task_files,
    write,
)
from tests.experiments.test_studies import parse


@pytest.fixture
def open_folder(tmp_path):
    """Opens a folder for the results of `TINY`."""
    folder = ResultsFolder(tmp_path / "results", parse(TINY))
    with folder.opened():
        yield folder


@pytest.mark.parametrize("study", [CONTEXTUAL, TESTBED], ids=["contextual", "testbed"])
def test_results_are_byte_identical_for_any_workers_and_backend(tmp_path, study):
    expected = None
    for backend, workers in itertools.product(("loky", "threading"), (1, 2)):
        output = f"{backend}-{workers}"
        arguments = ("--backend", backend, "--workers", workers)
        assert sweep(tmp_path, study, *arguments, output=output).code == 0
        found = tables(tmp_path / output)
        assert found == (expected or found)
        expected = found


def test_the_backend_of_the_caller_is_used(open_folder, monkeypatch):
    threads = set()

    def run_task(task):
        threads.add(threading.current_thread())
        barrier.wait(timeout=30)  # passes only if two tasks are done at once
        return run(task)

    barrier, run = threading.Barrier(2), engine.run_task
    monkeypatch.setattr(engine, "run_task", run_task)
    tasks = missing_tasks(open_folder)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert len(list(run_tasks(open_folder, tasks))) == len(tasks) == 20
    assert threading.current_thread() not in threads
    assert missing_tasks(open_folder) == []


def test_tasks_are_done_in_this_process_if_nobody_says_otherwise(open_folder, monkeypatch):
    threads, run = set(), engine.run_task
    monkeypatch.setattr(
        engine, "run_task", lambda task: threads.add(threading.current_thread()) or run(task)
    )
    outcomes = run_tasks(open_folder, missing_tasks(open_folder))
    first = next(outcomes)
    assert first.error is None
    assert len(task_files(open_folder.path)) == 1  # and the others are not begun
    list(outcomes)
    assert threads == {threading.current_thread()}


def test_a_failing_task_names_its_parameters_and_the_others_go_on(tmp_path, monkeypatch):
    run = engine.run_task

    def fail_at_times(task):
        if task.cell.policy.parameters.get("epsilon") == 0.5 and task.block == 2:
            raise ArithmeticError("no luck")
        return run(task)

    monkeypatch.setattr(engine, "run_task", fail_at_times)
    code, out, err = sweep(tmp_path, TINY, "--backend", "threading")
    assert code == 1
    name = "linear_epsilon_greedy:epsilon=0.5 in per_arm:global_dim=2,arm_dim=2,arms=3,batch_size=2"
    assert f"failed: {name}, block 2: ArithmeticError: no luck\n" in err
    assert "1 of 20 tasks failed; the same command tries them again" in err
    assert "(3 runs so far)" in out
    assert len(task_files(tmp_path / "results")) == 19
    # Of a policy, the tables tell all runs or nothing.
    assert b"epsilon=0.5" not in tables(tmp_path / "results")["summary.csv"]
    assert b"epsilon=0.25" in tables(tmp_path / "results")["summary.csv"]

    monkeypatch.setattr(engine, "run_task", run)
    before = {file: file.stat().st_mtime_ns for file in task_files(tmp_path / "results")}
    assert sweep(tmp_path, TINY).code == 0
    after = {file: file.stat().st_mtime_ns for file in task_files(tmp_path / "results")}
    assert len(after) == 20
    assert {file: after[file] for file in before} == before
    sweep(tmp_path, TINY, output="undisturbed")
    assert tables(tmp_path / "results") == tables(tmp_path / "undisturbed")


POISON = """
import os
import bandit_envs.studies.tasks as tasks

run = tasks.run_task

def run_task(task):
    if str(task.cell.policy) == "linear_epsilon_greedy:epsilon=0.5":
        os._exit(3)
    return run(task)

tasks.run_task = run_task
"""


def test_a_dead_worker_ends_the_run_with_one_line_and_keeps_what_was_finished(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    study, output = write(tmp_path, TINY), tmp_path / "results"
    arguments = ("sweep", study, "--workers", "2", "--output", output)
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "Traceback" not in err
    assert "stopped: TerminatedWorkerError: A worker process managed by the executor was" in err
    under_way = re.search(r"\(under way: (.*?)\); what was finished is in", err)
    assert "linear_epsilon_greedy:epsilon=0.5 in per_arm" in under_way.group(1)
    assert 0 < len(task_files(output)) < 20
    assert finish(start(*arguments)).code == 0
    sweep(tmp_path, TINY, output="undisturbed")
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_a_process_with_another_numpy_does_nothing(open_folder, monkeypatch):
    mine = engine.versions()
    here_and_there = itertools.chain([mine], itertools.repeat({**mine, "numpy": "0.9"}))
    monkeypatch.setattr(engine, "versions", lambda: next(here_and_there))
    outcomes = list(run_tasks(open_folder, missing_tasks(open_folder)))
    assert len(outcomes) == 20
    for _, error in outcomes:
        assert f"has bandit_envs {mine['bandit_envs']}, results 1, numpy 0.9; expected" in error
    assert task_files(open_folder.path) == []


@pytest.mark.parametrize("call", [1, 3, 7, 12])
def test_a_full_disk_ends_the_run_and_damages_nothing(tmp_path, monkeypatch, call):
    calls, fsync = itertools.count(), os.fsync

    def full(descriptor):
        if next(calls) >= call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        code, _, err = sweep(tmp_path, TINY, "--workers", "1")
    output = tmp_path / "results"
    assert code == 1
    assert "Traceback" not in err
    assert err.count("stopped: ") == err.count("No space left on device") == 1
    assert not list(output.rglob(".*.part"))
    folder = ResultsFolder(output, parse(TINY))
    assert len(task_files(output)) == 20 - len(missing_tasks(folder))  # no half files

    assert sweep(tmp_path, TINY, "--workers", "1").code == 0
    sweep(tmp_path, TINY, output="undisturbed")
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_what_the_disk_refuses_is_the_engines_error(open_folder, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EngineError, match="No space left on device"):
        list(run_tasks(open_folder, missing_tasks(open_folder)))


def test_what_a_task_keeps_grows_with_its_steps_and_not_with_its_runs(tmp_path):
    sizes = {}
    for runs, steps in itertools.product((20, 2000), (5, 500)):
        study = f"""
            title = "Memory"
            runs = {runs}
            steps = {steps}
            environment = [{{ name = "testbed" }}]
            policy = [{{ name = "random" }}]
        """
        output = f"{runs}-{steps}"
        assert sweep(tmp_path, study, "--workers", "1", output=output).code == 0
        (file,) = task_files(tmp_path / output)
        with np.load(file) as arrays:
            assert arrays["curves"].shape == (12, steps)
        sizes[runs, steps] = file.stat().st_size
    assert sizes[2000, 500] - sizes[20, 500] < 100
    assert sizes[2000, 500] - sizes[2000, 5] == pytest.approx(12 * 8 * 495, abs=100)


def test_blocks_are_merged_one_at_a_time(open_folder, monkeypatch):
    list(run_tasks(open_folder, missing_tasks(open_folder)))
    events, load = [], type(open_folder.files).load
    monkeypatch.setattr(
        type(open_folder.files), "load", lambda *of: events.append("load") or load(*of)
    )
    result_class = type(open_folder.result(next(open_folder.study.cells())))
    merge = result_class.merge
    monkeypatch.setattr(result_class, "merge", lambda *of: events.append("merge") or merge(*of))
    events.clear()
    open_folder.result(next(open_folder.study.cells()))
    assert events == ["load", "load", "merge", "load", "merge", "load", "merge"]
