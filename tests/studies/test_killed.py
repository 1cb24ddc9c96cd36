"""A sweep that is killed again and again."""

import os
import signal
import sys
import time

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from tests.experiments.sweeps import finish, start, sweep, tables, task_files, write

KILLS = 24
STUDY = """
title = "Killed"
runs = 20
steps = 250
metrics = ["reward", "regret"]
panels = ["regret"]

[[environment]]
name = "per_arm"
global_dim = 3
arm_dim = 4
arms = 5
batch_size = 3

[[policy]]
name = "lin_ucb"
alpha = [0.1, 0.2, 0.5, 1, 2, 5]

[[policy]]
name = "linear_thompson"
alpha = [0.1, 0.2, 0.5, 1, 2, 5]
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups to kill")
def test_killing_a_sweep_again_and_again_changes_no_byte_of_its_results(tmp_path):
    """Kills all of its processes: in the start, in tasks, while files and tables are written."""
    rng = np.random.default_rng(7)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, STUDY), "--output", output, "--workers", "2")
    finished = [0]
    for kill in range(KILLS):
        process = start(*arguments)
        # A quarter dies within a second of its start, the others once some more tasks are done.
        until = finished[-1] + (rng.integers(0, 9) if kill % 4 else 0)
        deadline = time.monotonic() + 30
        while len(task_files(output)) < until and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.05 if kill % 4 else 1.0))
        assert process.poll() is None, "it had finished before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        finished.append(len(task_files(output)))
    assert np.all(np.diff(finished) >= 0)
    assert np.count_nonzero(np.diff(finished)) >= KILLS // 2
    assert 0 < finished[-1] < 240

    assert finish(start(*arguments)).code == 0
    assert not list(output.rglob(".*.part"))
    assert sweep(tmp_path, STUDY, "--workers", "2", output="undisturbed").code == 0
    assert tables(output) == tables(tmp_path / "undisturbed")
