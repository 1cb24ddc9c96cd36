"""Runs the command, in this process and in others, and reads what it leaves."""

import contextlib
import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

import bandit_envs
from bandit_envs.cli import main
from bandit_envs.studies.results.packs import Pack
from bandit_envs.studies.results.records import columns_of, encode_record, scan_records

TABLES = "curves.npy", "runs.csv", "summary.csv"  # of every study
SMALL = ("--runs", "30", "--steps", "12", "--workers", "1")

# Linear algebra of a size that would use several threads, in tasks of one run.
CONTEXTUAL = """
title = "Contextual policies"
runs = 3
steps = 12
seed = 3
metrics = ["reward", "regret"]
panels = ["regret"]
quantiles = [0.1, 0.9]

[[environment]]
name = "per_arm"
batch_size = [1, 20]

[[policy]]
name = "lin_ucb"
alpha = [0.5, 2]

[[policy]]
name = "linear_thompson"

[[policy]]
name = "linear_epsilon_greedy"
epsilon = 0.1
"""

# Tasks of many runs, the last one of fewer.
TESTBED = """
title = "Testbed"
runs = 4100
steps = 15
quantiles = [0.1, 0.9]

[[environment]]
name = "testbed"
k = 4

[[policy]]
name = "thompson"

[[policy]]
name = "epsilon_greedy"
epsilon = [0.01, 0.1]
"""

# A task takes some milliseconds.
TINY = """
title = "Tiny"
runs = 4
steps = 5
metrics = ["reward"]
panels = ["reward"]

[[environment]]
name = "per_arm"
global_dim = 2
arm_dim = 2
max_num_actions = 3
batch_size = 2

[[policy]]
name = "random"

[[policy]]
name = "epsilon_greedy"
epsilon = [0, 0.25, 0.5, 1]
"""


class Outcome(NamedTuple):
    """What a command did: its exit code, and what it wrote to the terminal."""

    code: int
    out: str
    err: str


def run(*arguments):
    """Runs `bandit-envs` with arguments in this process, and in others only if `--workers` asks."""
    out, err = io.StringIO(), io.StringIO()
    wide = mock.patch.dict(os.environ, COLUMNS="200")  # no line of a table is wrapped
    alone = mock.patch("bandit_envs.cli.options.os.cpu_count", return_value=1)
    with wide, alone, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as stop:
            code = stop.code
    return Outcome(code, out.getvalue(), err.getvalue())


def run_testbed(folder, *arguments, output="results"):
    """Runs `bandit-envs run testbed` with its output below `folder`."""
    return run("run", "testbed", *arguments, "--output", folder / output)


def sweep(folder, study, *arguments, output="results"):
    """Runs `bandit-envs sweep` on the text of a study, below `folder`, in this process alone."""
    workers = () if "--workers" in arguments else ("--workers", "1")
    return run("sweep", write(folder, study), "--output", folder / output, *workers, *arguments)


def write(folder, study):
    """Writes the text of a study to a file below `folder`, and returns the file."""
    file = folder / "study.toml"
    file.write_text(study, encoding="utf-8")
    return file


def start(*arguments, path=(), folder=None):
    """Starts `bandit-envs` with arguments in a process group of its own, which Ctrl-C reaches.

    Args:
        arguments: of the command.
        path: folders that modules are looked for in first.
        folder: the current folder of the process.
    """
    root = Path(bandit_envs.__file__).parents[1]
    inherited = os.environ.get("PYTHONPATH", root)
    return subprocess.Popen(
        [sys.executable, "-m", "bandit_envs", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, root, inherited]))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        # A shell starts jobs in the background with SIGINT ignored, and children inherit that.
        preexec_fn=None if sys.platform == "win32" else _heed_interrupts,  # noqa: PLW1509
    )


def _heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process, timeout=300):
    """Waits for a process that `start` started."""
    out, err = process.communicate(timeout=timeout)
    return Outcome(process.returncode, out, err)


def line_of(*arguments):
    """Returns the line that a shell would start `bandit-envs` with arguments by."""
    return shlex.join(["bandit-envs", *map(str, arguments)])


def wait_for(condition, process, seconds=60):
    """Waits until a condition holds, while a process runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gallery():
    """Returns the folder of the package's studies."""
    return files("bandit_envs") / "studies" / "gallery"


def example_text(name):
    """Returns the text of a study of the package."""
    return (gallery() / f"{name}.toml").read_text("utf-8")


def rows(file):
    """Returns the rows of a table as dicts."""
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


def tables(folder):
    """Returns the bytes of the tables in a folder of results."""
    files = [*folder.glob("*.csv"), *folder.glob("*.npy")]
    found = {file.name: file.read_bytes() for file in files}
    assert found.keys() >= set(TABLES)
    return found


def finished_tasks(folder):
    """Returns the numbers of the finished tasks in a folder of results."""
    tasks = folder / "tasks"
    numbers = set()
    for pack in tasks.glob("*.npz"):
        numbers.update(np.load(pack)["task"].tolist())
    with contextlib.suppress(FileNotFoundError):  # it is just being packed
        for file in tasks.glob("*.records"):
            digest = json.loads((tasks / ".study.json").read_text())["digest"]
            numbers.update(record.task for record in scan_records(file, digest))
    return sorted(numbers)


def forget_tasks(folder, numbers):
    """Makes tasks of a folder of results unfinished: moves the others to a file of records."""
    path = folder / "tasks"
    digest = json.loads((path / ".study.json").read_text())["digest"]
    metrics = json.loads((folder / "config.json").read_text())["study"]["metrics"]
    for pack in map(Pack, path.glob("*.npz")):
        steps = len(pack.index.steps)
        with (path / "left.records").open("ab") as file:
            for task, runs in zip(pack.index.task.tolist(), pack.index.runs.tolist()):
                if task not in numbers:
                    header = {"study": digest, "task": task, "runs": runs, "kept": pack.kept}
                    columns = columns_of(metrics, steps, runs, len(pack.kept))
                    arrays = pack.read_slice(task, columns)
                    file.write(encode_record(header, arrays, columns))
        pack.path.unlink()


def content(folder):
    """Returns the bytes of every visible file below a folder."""
    files = (path for path in folder.rglob("[!.]*") if path.is_file())
    return {path: path.read_bytes() for path in files}
