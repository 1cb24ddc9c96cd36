"""What a study costs besides its runs, and how well two cores share it."""

import functools
import itertools
import os
import time

import pytest

pytest.importorskip("joblib")
pytest.importorskip("filelock")

from bandit_envs.studies.backends import backend
from bandit_envs.studies.results import Results
from bandit_envs.studies.run import try_task
from tests.studies.test_study import parse

LONG = """
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

SHORT = f"""
title = "1000 tasks that take next to nothing"
runs = 1
steps = 1
metrics = ["reward"]
panels = ["reward"]

[[environment]]
name = "testbed"
k = 2

[[policy]]
name = "epsilon_greedy"
epsilon = {[number / 1000 for number in range(1000)]}
"""


@pytest.fixture
def doing(tmp_path):
    """Makes functions that do all tasks of a study in a new folder."""
    numbers = itertools.count()

    def doing(text, workers):
        study = parse(text)

        def do():
            results = Results(tmp_path / str(next(numbers)), study)
            with backend("loky", workers, None) as apply, results.lock():
                function = functools.partial(try_task, results.files)
                problems = list(apply(function, results.missing()))
                assert problems == [None] * len(problems)

        return do

    return doing


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core only")
def test_two_workers_beside_one(compare, doing):
    clock = time.perf_counter
    compare("64 tasks, two workers / one", doing(LONG, 2), doing(LONG, 1), rounds=5, clock=clock)


def test_a_task_beside_two_milliseconds(compare, doing):
    """All that a task takes is counted, its own work included."""
    compare(
        "1000 tasks that do next to nothing, two workers / 2 ms each",
        doing(SHORT, 2),
        lambda: time.sleep(2.0),
        rounds=5,
        clock=time.perf_counter,
    )
