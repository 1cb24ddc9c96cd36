"""What is left of a run that is watched, interrupted or killed."""

import csv
import io
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bandit_envs.cli import main
from tests.command_line import rows

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

# A first policy that is done at once, and others that take a third of a second each.
LONG = [
    *("--runs", "200", "--arms", "500", "--steps", "300", "--policy", "random"),
    *(item for std in range(1, 8) for item in ("--policy", f"thompson:prior_std={std}")),
]


@pytest.fixture
def start(tmp_path):
    """Starts a run in a process of its own, and waits until it has written a file."""
    processes = []

    def start(arguments, until):
        folder = tmp_path / "results"
        command = [sys.executable, "-m", "bandit_envs", "testbed", *arguments]
        process = subprocess.Popen(
            [*command, "--output", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        processes.append(process)
        deadline = time.monotonic() + 60
        while not (folder / until).exists():
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process, folder

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_finished_policy_is_on_disk_while_others_run(start):
    process, folder = start(LONG, until="curves.csv")
    summary = rows(folder / "summary.csv")
    curves = rows(folder / "curves.csv")
    assert process.poll() is None
    assert summary[0]["policy"] == "random"
    assert len(summary) < 8
    assert [row["step"] for row in curves[:300]] == [str(step) for step in range(1, 301)]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_keeps_what_was_finished(start):
    process, folder = start(LONG, until="curves.csv")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted: what was finished is in the output folder" in err
    assert rows(folder / "summary.csv")[0]["policy"] == "random"
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert not list(folder.rglob(".*.part"))


class Deleted:
    """Calls a function while it is deleted."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __del__(self):
        function, arguments = self.call
        function(*arguments)
        time.sleep(0.0)  # here at the latest, Python sees a signal


def test_an_interrupt_that_meets_destructors_is_not_dropped(tmp_path, monkeypatch, capsys):
    commands = pytest.importorskip("bandit_envs.studies.commands")
    started, seen = time.monotonic(), []

    def report(options):
        Deleted(signal.raise_signal, signal.SIGINT)
        seen.append("dropped")
        Deleted(time.sleep, 10.0)  # meets the interrupt that is sent again
        seen.append("dropped again")
        time.sleep(10.0)
        return 0

    monkeypatch.setattr(commands, "report", report)
    hook = sys.unraisablehook
    assert main(["report", str(tmp_path)]) == 130
    assert seen == ["dropped", "dropped again"]
    assert time.monotonic() - started < 10.0
    assert sys.unraisablehook is hook
    expected = "interrupted: what was finished is in the output folder\n"
    assert capsys.readouterr().err == expected


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_before_anything_is_finished_leaves_no_empty_tables(start):
    arguments = ("--policy", "thompson", "--runs", "2000", "--steps", "100000")
    process, folder = start(arguments, until="config.json")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert {path.name for path in folder.glob("[!.]*")} == {"config.json", "tasks"}


def test_a_killed_run_leaves_no_half_file_and_can_be_continued(start, tmp_path):
    process, folder = start(LONG, until="curves.csv")
    process.kill()
    process.wait()
    json.loads((folder / "config.json").read_text())
    finished = {row["policy"] for row in rows(folder / "summary.csv")}
    assert "random" in finished
    for name, width in (("summary.csv", 10), ("curves.csv", 8)):
        text = (folder / name).read_text()
        assert text.endswith("\n")
        assert {len(row) for row in csv.reader(io.StringIO(text))} == {width}
    for file in (folder / "tasks").glob("[!.]*"):
        with np.load(file, allow_pickle=False) as arrays:
            assert arrays["curves"].shape[-1] == 300

    # What is there is not done again, and the curves are as if nothing had happened.
    done = {file: file.stat().st_mtime_ns for file in (folder / "tasks").glob("[!.]*")}
    whole = tmp_path / "whole"
    for output in (folder, whole):
        assert main(["testbed", *LONG, "--output", str(output)]) == 0
    assert {file: file.stat().st_mtime_ns for file in done} == done
    assert (folder / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    assert not list(folder.rglob(".*.part"))
