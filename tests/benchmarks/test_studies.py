"""What a study costs besides its runs, and how well two cores share it."""

import itertools
import os
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("filelock")

from bandit_envs.studies import load
from tests.benchmarks.made_results import many_policies, write_results

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

SHORT = """
title = "Tasks that take next to nothing"
runs = 1
steps = 1
metrics = ["reward"]
panels = ["reward"]

[[environment]]
name = "testbed"
k = 2

[[policy]]
name = "epsilon_greedy"
epsilon = """


@pytest.fixture
def sweeping(tmp_path, one_round):
    """Makes functions that run a study by the command, each time in a new folder."""
    numbers = itertools.count()

    def sweeping(text, workers):
        if one_round:
            text = text.replace("steps = 100", "steps = 1")
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


def test_a_task_beside_two_milliseconds(compare, sweeping, one_round):
    """The start of the command, its tables and its figure are counted, too."""
    epsilons = [number / 300 for number in range(10 if one_round else 300)]
    compare(
        "300 tasks that do next to nothing, two workers / 2 ms each",
        sweeping(f"{SHORT}{epsilons}", 2),
        lambda: time.sleep(0.6),
        rounds=3,
        clock=time.perf_counter,
    )


@pytest.fixture
def many(tmp_path, one_round):
    """A folder with the results of 400 combinations of 1,000 steps and three metrics."""
    pytest.importorskip("matplotlib")
    study = many_policies(4, 5 if one_round else 100)
    write_results(tmp_path, study, np.random.default_rng(0)).files.pack()
    return tmp_path


def read_pack(folder):
    """Reads all arrays of the only pack of a folder."""
    with np.load(folder / "tasks" / "results-1.npz") as archive:
        return [archive[name].sum() for name in archive.files if "." in name]


def reporting(folder):
    """Returns a function that reads results, and writes their tables and figure."""

    def report():
        found = load(folder)
        found.write_tables()
        found.write_figure(folder / "figure.png")

    return report


def test_tables_beside_reading_their_results(compare, many):
    compare(
        "tables of 400 combinations of 1,000 steps / reading the arrays of their pack",
        lambda: load(many).write_tables(),
        lambda: read_pack(many),
        rounds=5,
    )


def test_a_page_beside_tables_and_a_figure(compare, many):
    pytest.importorskip("plotly")
    compare(
        "page of 400 combinations of 1,000 steps / their tables and figure",
        lambda: load(many).write_page(many / "study.html"),
        reporting(many),
        goal=2.0,
        rounds=3,
    )


def test_packing_results_beside_writing_as_many_bytes(compare, tmp_path, one_round):
    study = many_policies(20, 1 if one_round else 20)
    rng = np.random.default_rng(0)
    folders = (tmp_path / f"results-{number}" for number in itertools.count())
    waiting = [write_results(next(folders), study, rng).files for _ in range(6)]
    content = bytes(40_000_000)

    def write():
        (tmp_path / "file").write_bytes(content)

    compare(
        "packing results of 400 tasks of 1,000 steps / writing 40 MB",
        lambda: waiting.pop().pack(),
        write,
        rounds=5,
    )
