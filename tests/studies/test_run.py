"""What runs is the same wherever it runs, and goes on where something fails."""

import errno
import itertools
import os

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs import AverageRewardMetric, KArmedTestbed, StepDriver, UCBPolicy
from bandit_envs.studies import study as studying
from bandit_envs.studies import tasks as doing
from bandit_envs.studies.results import Results
from bandit_envs.studies.tasks import run_task
from bandit_envs.testing import assert_identical
from tests.command_line import (
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
from tests.studies.test_study import parse, study


def test_a_task_is_a_policy_that_learns():
    (task,) = study(["testbed:k=4"], ["ucb:c=2"], runs=50, steps=20, seed=5).tasks()
    env_seed, policy_seed = np.random.SeedSequence(5, spawn_key=(0,)).spawn(2)
    env = KArmedTestbed(4, batch_size=50, seed=env_seed)
    policy = UCBPolicy(2.0, num_actions=4, batch_size=50, seed=policy_seed)
    metric = AverageRewardMetric()
    StepDriver(env, policy, [policy, metric], 20).run()
    expected, found = metric.result(), run_task(task)["reward"]
    np.testing.assert_array_equal(found.per_step.mean, expected.per_step.mean)
    np.testing.assert_array_equal(
        found.cumulative.squared_deviation, expected.cumulative.squared_deviation
    )


def test_a_wrapper_that_makes_its_own_environment_is_run():
    wrapped = "tests.studies.mine:Clipped:means=[0.0,1.0]"
    (task,) = study([wrapped], ["greedy"], runs=50, steps=100).tasks()
    assert task.batches == 1
    found = run_task(task)
    assert list(found) == ["reward"]  # clipping makes the means unknown
    assert found["reward"].per_step.mean[-1] == 0.5


@pytest.mark.parametrize(
    "environment",
    [
        *("testbed:drift_std=0.1", "bernoulli", "corrupted_k_armed", "piecewise_bernoulli"),
        *("per_arm", "structured", "wheel", "drifting_linear", "piecewise_linear"),
    ],
)
def test_all_policies_meet_the_same_problems(environment, monkeypatch):
    met = []

    class Spy(StepDriver):
        def __init__(self, env, policy, observers, num_steps):
            def look(trajectory):
                met.append((trajectory.observation, env.expected_rewards()))

            super().__init__(env, policy, (look, *observers), num_steps)

    monkeypatch.setattr(doing, "StepDriver", Spy)
    monkeypatch.setattr(studying, "RUNS_PER_TASK", 2)
    tasks = study([environment], ["random", "greedy"], runs=4, steps=3, metrics=["reward"]).tasks()
    for task in tasks:
        run_task(task)
    half = len(met) // 2
    assert half >= 6
    assert_identical(met[:half], met[half:])


@pytest.mark.parametrize("environment", ["testbed:k=4", "per_arm:batch_size=2"])
def test_for_quantiles_each_run_keeps_what_it_earned_up_to_some_steps(environment):
    values = {"runs": 3, "steps": 150, "quantiles": [0.1, 0.9], "metrics": ["reward", "regret"]}
    one = study([environment], ["random"], **values)
    assert one.kept[-1] == 150
    assert len(one.kept) <= 100
    results = [(task, run_task(task)) for task in one.tasks()]
    for index in (0, 3, len(one.kept) - 1):
        for task, result in results:
            shorter = run_task(task._replace(steps=one.kept[index], kept=()))
            for name, found in result.items():
                np.testing.assert_allclose(found.curves[index], shorter[name].totals, rtol=1e-6)
                assert shorter[name].curves.size == 0


def test_runs_beyond_one_batch_are_other_runs(tmp_path):
    results = Results(tmp_path / "results", study(["testbed"], ["random"], runs=4500, steps=3))
    with results.lock():
        for task in results.missing():
            results.files.save(task, run_task(task))
        results.load()
    parts = [results.files.load(task)["reward"].per_step.mean for task in results.study.tasks()]
    assert not np.any(parts[0] == parts[1])
    (pair,) = results.pairs()
    merged = pair.result
    assert pair.runs == merged["reward"].per_step.count == 4500
    expected = np.average(parts, axis=0, weights=[2000, 2000, 500])
    np.testing.assert_allclose(merged["reward"].per_step.mean, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "text",
    [pytest.param(CONTEXTUAL, marks=pytest.mark.slow), TESTBED],
    ids=["contextual", "testbed"],
)
def test_two_threads_write_what_one_writes(tmp_path, text):
    for workers in (1, 2):
        arguments = ("--backend", "threading", "--workers", workers)
        assert sweep(tmp_path, text, *arguments, output=str(workers)).code == 0
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


@pytest.mark.slow
@pytest.mark.parametrize("text", [CONTEXTUAL, TESTBED], ids=["contextual", "testbed"])
def test_two_processes_write_what_one_writes(tmp_path, text):
    for workers in (1, 2):
        assert sweep(tmp_path, text, "--workers", workers, output=str(workers)).code == 0
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


STUMBLING = """
title = "Stumbling"
runs = 6
steps = 40
environment = ["tests.studies.mine:Bernoulli:means=[0.5,0.5]"]
policy = ["random", "tests.studies.mine:Stumbling:action=1"]
"""


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_where_a_task_fails_the_others_go_on(tmp_path, backend):
    code, out, err = sweep(tmp_path, STUMBLING, "--backend", backend)
    output = tmp_path / "results"
    assert code == 1
    failed = [line for line in err.splitlines() if line.startswith("failed: ")]
    assert 0 < len(failed) < 6
    for line in failed:
        assert "Stumbling:action=1 in tests.studies.mine:Bernoulli:means=[0.5,0.5], block" in line
        assert "ArithmeticError: no luck" in line
        assert line.isprintable()
        assert len(line) < 1000
    assert len(task_files(output)) == 12 - len(failed)
    assert f"({6 - len(failed)} runs so far)" in out
    # The tables have what has finished all of its runs.
    assert b"random" in tables(output)["summary.csv"]
    assert b"Stumbling" not in tables(output)["summary.csv"]


POISON = """
import os
import bandit_envs.studies.tasks as tasks

run_task = tasks.run_task

def run_or_die(task, progress):
    if str(task.policy) == "linear_epsilon_greedy:epsilon=0.5":
        os._exit(3)
    return run_task(task, progress)

tasks.run_task = run_or_die
"""


@pytest.mark.slow
def test_a_dead_worker_ends_the_run_with_one_line_and_keeps_what_was_finished(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--workers", "2", "--output", output)
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "Traceback" not in err
    assert err.count("stopped: ") == 1
    assert len(task_files(output)) < 20
    assert finish(start(*arguments)).code == 0
    sweep(tmp_path, TINY, output="undisturbed")
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_a_worker_with_another_numpy_does_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "VERSIONS", {**doing.VERSIONS, "numpy": "0.9"})
    code, _, err = sweep(tmp_path, TINY)
    assert code == 1
    assert err.count("failed: ") == 20
    assert "'numpy': '0.9'" in err
    assert task_files(tmp_path / "results") == []


@pytest.mark.parametrize("call", [12, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 22))])
def test_a_full_disk_ends_the_run_and_damages_nothing(tmp_path, monkeypatch, call):
    calls, fsync = itertools.count(), os.fsync

    def full(descriptor):
        if next(calls) >= call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        code, _, err = sweep(tmp_path, TINY)
    output = tmp_path / "results"
    assert code == 1
    assert "Traceback" not in err
    assert err.count("stopped: ") == err.count("No space left on device") == 1
    assert not list(output.rglob(".*.part"))
    results = Results(output, parse(TINY))
    results.load()
    assert len(task_files(output)) == 20 - len(results.missing())

    assert sweep(tmp_path, TINY).code == 0
    sweep(tmp_path, TINY, output="undisturbed")
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_what_a_task_keeps_grows_with_its_steps_and_by_one_number_a_metric_with_its_runs(tmp_path):
    sizes = {}
    for runs, steps in itertools.product((20, 2000), (5, 500)):
        one = study(["testbed"], ["random"], runs=runs, steps=steps)
        results = Results(tmp_path / f"{runs}-{steps}", one)
        with results.lock():
            (task,) = one.tasks()
            results.files.save(task, run_task(task))
        (file,) = task_files(results.path)
        sizes[runs, steps] = file.stat().st_size
    assert sizes[2000, 500] - sizes[20, 500] == pytest.approx(3 * 8 * 1980, abs=100)
    assert sizes[2000, 500] - sizes[2000, 5] == pytest.approx(12 * 8 * 495, abs=100)
