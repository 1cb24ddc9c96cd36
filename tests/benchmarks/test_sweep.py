"""What running a study costs besides its runs, and how well two cores share it."""

import functools
import itertools
import os
import sys
import time

import pytest

pytest.importorskip("joblib")
pytest.importorskip("filelock")

from bandit_envs.studies.results import Results
from bandit_envs.studies.run import backend, try_task
from tests.benchmarks.pairing import Ratio, paired_ratio
from tests.command_line import start, task_files, wait_for, write
from tests.studies.test_study import parse

STUDY = """
title = "64 tasks"
runs = 8
steps = 100
metrics = ["reward", "regret"]
panels = ["regret"]

[[environment]]
name = "per_arm"

[[policy]]
name = "lin_ucb"
alpha = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]
"""


def near_empty(policies):
    """Returns a study whose tasks take next to nothing."""
    values = [number / policies for number in range(policies)]
    return f"""
        title = "Near-empty tasks"
        runs = 1
        steps = 1
        metrics = ["reward"]
        panels = ["reward"]

        [[environment]]
        name = "testbed"
        k = 2

        [[policy]]
        name = "epsilon_greedy"
        epsilon = {values}
    """


@pytest.fixture
def doing(tmp_path):
    """Makes functions that do all tasks of a study in a new folder."""
    numbers = itertools.count()

    def doing(study, workers):
        def do():
            results = Results(tmp_path / str(next(numbers)), study)
            with backend("loky", workers, None) as apply, results.opened():
                function = functools.partial(try_task, results)
                assert all(error is None for _, error in apply(function, results.missing()))

        return do

    return doing


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core only")
def test_two_workers_take_little_more_than_half_the_time_of_one(expect, doing):
    study = parse(STUDY)
    assert len(list(study.tasks())) == 64
    ratio = paired_ratio(doing(study, 2), doing(study, 1), rounds=5, number=1)
    expect("64 tasks, two workers / one", ratio, 0.6)


def test_a_study_costs_less_than_two_milliseconds_a_task(expect, doing):
    """All that a near-empty task takes is counted, its own work included."""
    tasks = 1000
    run = doing(parse(near_empty(tasks)), 2)
    ratio = paired_ratio(run, lambda: time.sleep(0.002 * tasks), rounds=5, number=1)
    expect("1000 near-empty tasks on loky / 2 ms each", ratio, 1.0)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_10000_tasks_start_within_ten_seconds_and_keep_memory_flat(expect, tmp_path):
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, near_empty(10_000)), "--output", output)

    def seconds_until(name):
        started, process = time.perf_counter(), start(*arguments)
        wait_for((output / "tasks" / name).exists, process)
        return time.perf_counter() - started, process

    def memory(process):
        with open(f"/proc/{process.pid}/statm") as file:
            return int(file.read().split()[1])

    first, process = seconds_until("000000-000000.npz")
    sizes = [memory(process)]
    while process.poll() is None:
        sizes.append(memory(process))
        time.sleep(0.1)
    process.communicate()
    assert len(task_files(output)) == 10_000

    (output / "tasks" / "009999-000000.npz").unlink()
    again, process = seconds_until("009999-000000.npz")
    assert process.wait() == 0

    expect("start of 10000 tasks / ten seconds", Ratio.exactly(first / 10.0), 1.0)
    expect("start when 9999 of them are there / ten seconds", Ratio.exactly(again / 10.0), 1.0)
    expect("memory over 10000 tasks / at the first", Ratio.exactly(max(sizes) / sizes[0]), 1.25)
