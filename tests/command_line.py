"""Runs the command in this process, and reads what it leaves."""

import contextlib
import csv
import io
from pathlib import Path
from typing import NamedTuple

from bandit_envs.cli import main

SMALL = ("--runs", "30", "--steps", "12")


class Outcome(NamedTuple):
    """What a command did: its exit code, its output folder, what it wrote to the terminal."""

    code: int
    folder: Path
    out: str
    err: str


def run_testbed(path, *arguments, output="results"):
    """Runs `bandit-envs testbed` with a folder below `path` for its output."""
    folder = path / output
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["testbed", *arguments, "--output", str(folder)])
        except SystemExit as stop:
            code = stop.code
    return Outcome(code, folder, out.getvalue(), err.getvalue())


def rows(file):
    """Returns the rows of a table as dicts."""
    return list(csv.DictReader(io.StringIO(file.read_text())))


def columns(file):
    """Returns the names of a table's columns."""
    return next(csv.reader(io.StringIO(file.read_text())))


def content(folder):
    """Returns the bytes of every file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
