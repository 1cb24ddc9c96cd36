"""What a study costs besides its runs, and how well two cores share it."""

import itertools
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("joblib")
pytest.importorskip("filelock")

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
title = "300 tasks that take next to nothing"
runs = 1
steps = 1
metrics = ["reward"]
panels = ["reward"]

[[environment]]
name = "testbed"
k = 2

[[policy]]
name = "epsilon_greedy"
epsilon = {[number / 300 for number in range(300)]}
"""


@pytest.fixture
def sweeping(tmp_path):
    """Makes functions that run a study by the command, each time in a new folder."""
    numbers = itertools.count()

    def sweeping(text, workers):
        study = tmp_path / f"study-{next(numbers)}.toml"
        study.write_text(text, encoding="utf-8")

        def sweep():
            folder = tmp_path / f"results-{next(numbers)}"
            command = [sys.executable, "-m", "bandit_envs", "sweep", study, "--output", folder]
            command += ["--workers", str(workers)]
            subprocess.run(command, check=True, capture_output=True)

        return sweep

    return sweeping


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core only")
def test_two_workers_beside_one(compare, sweeping):
    clock = time.perf_counter
    compare(
        "64 tasks, two workers / one", sweeping(LONG, 2), sweeping(LONG, 1), rounds=3, clock=clock
    )


def test_a_task_beside_two_milliseconds(compare, sweeping):
    """The start of the command, its tables and its figure are counted, too."""
    compare(
        "300 tasks that do next to nothing, two workers / 2 ms each",
        sweeping(SHORT, 2),
        lambda: time.sleep(0.6),
        rounds=3,
        clock=time.perf_counter,
    )
