"""What runs is the same wherever it runs, and goes on where something fails."""

import errno
import itertools
import json
import math
import os
import pickle
import shlex
import sys

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs import AverageRewardMetric, KArmedTestbed, StepDriver, UCBPolicy
from bandit_envs.studies.definition import study as studying
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.results import Results
from bandit_envs.studies.running import tasks as doing
from bandit_envs.studies.running import workers as working
from bandit_envs.studies.running.bundles import Bundles
from bandit_envs.studies.running.checkpoints import Checkpoint
from bandit_envs.studies.running.run import run
from bandit_envs.studies.running.tasks import run_task
from bandit_envs.studies.running.workers import BundleOutcome, run_bundle
from bandit_envs.testing import assert_identical
from tests.command_line import (
    CONTEXTUAL,
    TESTBED,
    TINY,
    finish,
    finished_tasks,
    line_of,
    start,
    sweep,
    tables,
    write,
)
from tests.command_line import run as run_command
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


@pytest.mark.parametrize(
    "text",
    [pytest.param(CONTEXTUAL, marks=pytest.mark.slow), TESTBED],
    ids=["contextual", "testbed"],
)
def test_two_threads_write_what_one_writes(tmp_path, text):
    short = text.replace("steps = 15", "steps = 5")
    for workers in (1, 2):
        arguments = ("--workers", f"threading:{workers}")
        assert sweep(tmp_path, short, *arguments, output=str(workers)).code == 0
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


@pytest.mark.parametrize("backend", ["x", "sequential", None])
def test_other_backends_are_refused_before_anything_is_written(tmp_path, backend):
    message = f"backend is {backend!r}; expected loky, threading, dask or ray"
    with pytest.raises(ValueError, match=message):
        run(parse(TINY), tmp_path / "found", backend=backend)
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize("missing", ["threadpoolctl", "filelock", "joblib"])
def test_a_missing_library_names_its_extra(tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{missing} is not installed; .*\[cli\]"):
        run(parse(TINY), tmp_path)


def test_each_run_has_one_thread_for_linear_algebra_and_leaves_it_as_it_was(tmp_path, monkeypatch):
    def threads():
        return [library["num_threads"] for library in working.threadpoolctl.threadpool_info()]

    def note(*arguments):
        seen.append(max(threads()))
        return run_task(*arguments)

    seen = []
    working._use_one_thread.cache_clear()
    monkeypatch.setattr(working, "run_task", note)
    one = study(["testbed:k=2"], ["random"], runs=2, steps=2)
    with working.threadpoolctl.threadpool_limits(2):
        before = threads()
        for backend in ("loky", "loky", "threading"):
            run(one, tmp_path / str(len(seen)), backend=backend)
        after = threads()
    assert seen == [1, 1, 1]
    assert max(before) == 2
    assert after[: len(before)] == before


@pytest.mark.slow
def test_two_processes_write_what_one_writes(tmp_path):
    for workers in (1, 2):
        assert sweep(tmp_path, CONTEXTUAL, "--workers", workers, output=str(workers)).code == 0
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
    code, out, err = sweep(tmp_path, STUMBLING, "--workers", f"{backend}:1")
    output = tmp_path / "results"
    assert code == 1
    failed = [line for line in err.splitlines() if line.startswith("failed: ")]
    assert 0 < len(failed) < 6
    for line in failed:
        assert "Stumbling:action=1 in tests.studies.mine:Bernoulli:means=[0.5,0.5], block" in line
        assert "ArithmeticError: no luck" in line
        assert line.isprintable()
        assert len(line) < 1000
    assert len(finished_tasks(output)) == 12 - len(failed)
    assert f"({6 - len(failed)} runs so far)" in out
    # The tables have what has finished all of its runs.
    assert b"random" in tables(output)["summary.csv"]
    assert b"Stumbling" not in tables(output)["summary.csv"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The tables of `TINY` where nothing fails."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert sweep(folder, TINY).code == 0
    return tables(folder / "results")


POISON = """
import os
import bandit_envs.studies.running.workers as workers

run_task = workers.run_task

def run_or_die(task, *others):
    if str(task.policy) == "epsilon_greedy:epsilon=0.5":
        os._exit(3)
    return run_task(task, *others)

workers.run_task = run_or_die
"""


@pytest.mark.slow
def test_a_dead_worker_ends_the_run_with_one_line_and_keeps_what_was_finished(
    tmp_path, undisturbed
):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--workers", "2", "--output", output)
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("stopped: ")]
    assert "a worker process has died (EXIT(3))" in line
    assert line.endswith(f"; this resumes it: {line_of(*arguments)}")
    assert len(finished_tasks(output)) < 20
    assert sweep(tmp_path, TINY).code == 0
    assert tables(output) == undisturbed


def test_a_worker_with_another_numpy_does_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(working, "VERSIONS", {**working.VERSIONS, "numpy": "0.9"})
    code, _, err = sweep(tmp_path, TINY, "--workers", "threading:1")
    assert code == 1
    assert err.count("failed: ") == 20
    assert "'numpy': '0.9'" in err
    assert finished_tasks(tmp_path / "results") == []


def fail_in_write(calls, monkeypatch):
    """Lets the disk be full in the middle of a record, after some of them."""
    write, count = os.write, itertools.count()

    def full(descriptor, content):
        if next(count) >= calls:
            write(descriptor, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, content)

    monkeypatch.setattr(os, "write", full)


def fail_in_fsync(calls, monkeypatch):
    """Lets the disk be full where a file is flushed, after some of them."""
    fsync, count = os.fsync, itertools.count()

    def full(descriptor):
        if next(count) >= calls:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize(
    ("fail", "calls"),
    [
        (fail_in_write, 0),
        pytest.param(fail_in_write, 7, marks=pytest.mark.slow),
        (fail_in_fsync, 4),
        pytest.param(fail_in_fsync, 8, marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_ends_the_run_and_damages_nothing(
    tmp_path, monkeypatch, undisturbed, fail, calls
):
    with monkeypatch.context() as disk:
        fail(calls, disk)
        code, _, err = sweep(tmp_path, TINY, "--workers", "threading:1")
    output = tmp_path / "results"
    assert code == 1
    assert "Traceback" not in err
    assert err.count("stopped: ") == err.count("No space left on device") == 1
    assert not list(output.rglob(".*.part"))
    results = Results(output, parse(TINY))
    results.load()
    assert len(finished_tasks(output)) == 20 - len(results.missing())

    assert sweep(tmp_path, TINY).code == 0
    assert tables(output) == undisturbed


def test_the_last_words_of_a_run_that_stopped_are_the_command_that_resumes_it(
    tmp_path, monkeypatch
):
    with monkeypatch.context() as disk:
        fail_in_write(7, disk)
        code, _, err = sweep(tmp_path, TINY, "--workers", "threading:1", output="my results")
    assert code == 1
    _, _, line = err.strip().rpartition("this resumes it: ")
    command, *arguments = shlex.split(line)
    assert command == "bandit-envs"
    assert run_command(*arguments).code == 0
    assert len(finished_tasks(tmp_path / "my results")) == 20


def test_what_a_task_keeps_grows_with_its_steps_and_by_one_number_a_metric_with_its_runs(tmp_path):
    sizes = {}
    for runs, steps in itertools.product((20, 2000), (5, 500)):
        one = study(["testbed"], ["random"], runs=runs, steps=steps)
        folder = tmp_path / f"{runs}-{steps}"
        run(one, folder, backend="threading")
        sizes[runs, steps] = (folder / "tasks" / "results-1.npz").stat().st_size
    assert sizes[2000, 500] - sizes[20, 500] == pytest.approx(3 * 8 * 1980, abs=100)
    assert sizes[2000, 500] - sizes[2000, 5] == pytest.approx((12 + 1) * 8 * 495, abs=100)


def test_tiny_tasks_are_sent_in_bundles_of_less_than_a_kilobyte(tmp_path):
    numbers = [*range(500), *range(1000, 30_000, 3)]
    bundles = Bundles(str(tmp_path), 64 * "0", numbers, lambda: 2)
    sent = []
    found = []
    for bundle in bundles:
        tasks = list(bundle.tasks)
        sent.append(len(tasks))
        assert len(pickle.dumps((run_bundle, bundle))) < 1000
        bundles.note(BundleOutcome(len(tasks), 0.001 * len(tasks), ()))
        found += tasks
    assert found == numbers
    assert sent[:4] == [1, 2, 4, 8]
    assert max(sent) > 20


def test_bundles_take_about_ten_seconds():
    seconds = 0.1
    bundles = Bundles("folder", "digest", range(10_000), lambda: 2)
    for bundle in itertools.islice(bundles, 20):
        size = len(list(bundle.tasks))
        bundles.note(BundleOutcome(size, seconds * size, ()))
    assert size * seconds == pytest.approx(10.0, rel=0.02)


def test_a_long_task_is_a_bundle_of_its_own():
    bundles = Bundles("folder", "digest", range(100), lambda: 2)
    for bundle in bundles:
        assert len(list(bundle.tasks)) == 1
        bundles.note(BundleOutcome(1, 3600.0, ()))


def test_a_worker_runs_any_task_of_a_study_that_it_reads_from_the_folder(tmp_path):
    one = parse(TINY)
    assert [one.task(number) for number in range(one.num_tasks)] == list(one.tasks())
    restored = Study.restored(json.loads(json.dumps(one.to_dict())), os.getcwd())
    assert list(restored.tasks()) == list(one.tasks())
    assert restored == one


def test_runs_beyond_one_batch_are_other_runs(tmp_path):
    results = run(study(["testbed"], ["random"], runs=4500, steps=3), tmp_path)
    (pair,) = results.pairs
    assert pair.runs == pair.result["reward"].per_step.count == 4500
    parts = [run_task(task)["reward"].per_step.mean for task in results.study.tasks()]
    assert not np.any(parts[0] == parts[1])
    expected = np.average(parts, axis=0, weights=[2000, 2000, 500])
    np.testing.assert_allclose(pair.result["reward"].per_step.mean, expected, rtol=1e-9)


LONG = [
    (["testbed:k=4"], ["ucb:c=2", "thompson"], {"quantiles": [0.1, 0.9], "runs": 20}),
    pytest.param(
        ["per_arm:batch_size=2"],
        ["linear_thompson"],
        {"quantiles": [0.1, 0.9], "runs": 130, "steps": 60},
        marks=pytest.mark.slow,
    ),
    (["bernoulli:means=[0.1,0.9]"], ["lucb:delta=0.1"], {"metrics": ["error", "stopping_time"]}),
    (["tests.studies.mine:Delayed:means=[0.1,0.9],delay=5"], ["greedy"], {"runs": 4}),
    (["testbed:k=4"], ["tests.policies.shared:SharedAverages"], {"runs": 5}),
]


class StoppedError(Exception):
    pass


class Attempt:
    """Counts the steps of a task, and stops it after some."""

    def __init__(self, last):
        self.steps = 0
        self.last = last

    def __call__(self, steps):
        self.steps += steps
        if self.steps > self.last:
            raise StoppedError


@pytest.mark.parametrize(("environments", "policies", "values"), LONG)
def test_a_long_task_goes_on_from_its_last_checkpoint_bit_for_bit(
    tmp_path, monkeypatch, environments, policies, values
):
    monkeypatch.setattr("bandit_envs.studies.running.checkpoints.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("bandit_envs.studies.running.checkpoints.MAX_SHARE", math.inf)
    one = study(environments, policies, **{"runs": 40, "steps": 90, **values})
    task = one.task(one.num_tasks // 2)
    expected = run_task(task)
    path = tmp_path / "checkpoint.npz"
    steps = task.batches * task.steps
    for last in (steps * 2 // 5, steps * 4 // 5):  # within a batch
        with pytest.raises(StoppedError):
            run_task(task, Attempt(last), Checkpoint(path, {"task": task.number}))
        assert path.exists()
    attempt = Attempt(steps)
    found = run_task(task, attempt, Checkpoint(path, {"task": task.number}))
    assert attempt.steps == steps
    assert not path.exists()
    assert_identical(found, expected)


def test_a_checkpoint_of_another_task_or_a_damaged_one_is_not_used(tmp_path):
    path = tmp_path / "checkpoint.npz"
    Checkpoint(path, {"task": 1}).save(lambda: {"steps": 3})
    assert Checkpoint(path, {"task": 1}).load() == {"steps": 3}
    assert Checkpoint(path, {"task": 2}).load() is None
    path.write_bytes(path.read_bytes()[:-40])
    assert Checkpoint(path, {"task": 1}).load() is None


def test_a_task_starts_anew_from_a_checkpoint_that_does_not_fit(tmp_path):
    task = study(["testbed:k=3"], ["greedy"], runs=2, steps=20).task(0)
    expected = run_task(task)
    for state in ({}, {"ended": 0, "result": {}, "batch": {"steps": "many"}}):
        checkpoint = Checkpoint(tmp_path / "checkpoint.npz", {})
        checkpoint.save(lambda saved=state: saved)
        assert_identical(run_task(task, checkpoint=checkpoint), expected)


def test_a_task_that_cannot_be_saved_runs_all_the_same(tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint.npz", {})
    checkpoint.save(lambda: {"model": object()})
    assert list(tmp_path.iterdir()) == []
    assert not checkpoint.is_due()
