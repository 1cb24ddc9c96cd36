"""What the subcommands do: make a study, run it, show progress, draw, print a table."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bandit_envs import plots
from bandit_envs.studies.backends import backend
from bandit_envs.studies.run import EngineError, missing_tasks, run_tasks
from bandit_envs.studies.estimate import estimate
from bandit_envs.studies.book import FIGURES
from bandit_envs.studies.results import ResultsFolder
from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from bandit_envs.studies.study import Study
from bandit_envs.studies.tables import steps_per_second, summary, write_tables
from bandit_envs.base.saving import write_whole

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUCCEEDED = 0
FAILED = 1
MOST_ROWS = 60
COLUMNS = {
    "reward": ("reward", "{:.3f}"),
    "percent_optimal": ("% optimal", "{:.1f}"),
    "mean_reward": ("mean reward", "{:.3f}"),
    "cumulative_regret": ("regret", "{:.1f}"),
}


def testbed(options: argparse.Namespace) -> int:
    """Runs `bandit-envs testbed` and returns the exit code.

    Raises:
        ValueError: the study is none, or the output folder holds something else.
        OSError: the output folder cannot be written.
    """
    number = options.figure or (None if options.policy else "2.2")
    figure = FIGURES[number] if number else None
    policies = [PolicySpec.parse(text) for text in figure.policies] if figure else []
    value_mean = figure.value_mean if figure else 0.0
    study = Study(
        f"Figure {number}: {figure.title}" if figure else "Policies on k-armed testbeds",
        (EnvironmentSpec("testbed", {"k": options.arms, "value_mean": value_mean}),),
        (*policies, *(options.policy or [])),
        options.runs,
        options.steps,
        options.seed,
        panels=figure.panels if figure else ("reward", "percent_optimal"),
    )
    path = options.output or Path("results", f"testbed-{number or 'policies'}")
    return _run_locally(study, path, options.workers)


def per_arm(options: argparse.Namespace) -> int:
    """Runs `bandit-envs per-arm` and returns the exit code.

    Raises:
        ValueError: the study is none, or the output folder holds something else.
        OSError: the output folder cannot be written.
    """
    keys = ("global_dim", "arm_dim", "arms", "batch_size", "noise")
    default = ("lin_ucb", "linear_thompson", "linear_epsilon_greedy:epsilon=0.1")
    study = Study(
        "Contextual policies on a bandit with per-arm features",
        (EnvironmentSpec("per_arm", {key: getattr(options, key) for key in keys}),),
        tuple(options.policy or map(PolicySpec.parse, default)),
        options.runs,
        options.steps,
        options.seed,
        panels=("regret", "cumulative_regret"),
    )
    return _run_locally(study, options.output or Path("results", "per-arm"), options.workers)


def sweep(options: argparse.Namespace) -> int:
    """Runs `bandit-envs sweep` and returns the exit code.

    Raises:
        ValueError: the file is no study, or the output folder holds something else.
        OSError: the file cannot be read, or the output folder not be written.
        ModuleNotFoundError: the backend's package is not installed.
    """
    try:
        study = Study.from_toml(tomllib.loads(options.study.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{options.study}: {error}") from error
    if options.dry_run:
        return _dry_run(study, options.workers)
    path = options.output or Path("results", options.study.stem)
    with backend(options.backend, options.workers, options.address):
        return _run(study, path, with_speed=False)


def report(options: argparse.Namespace) -> int:
    """Runs `bandit-envs report` and returns the exit code.

    Raises:
        ValueError: the folder holds no results, or those of other versions.
        OSError: the folder cannot be written.
    """
    folder = ResultsFolder.read(options.folder)
    missing = len(missing_tasks(folder))
    _show(folder, with_speed=False)
    if missing:
        _console().print(f"{missing} of {folder.study.num_tasks()} tasks are not there yet")
    return SUCCEEDED


def _run_locally(study: Study, path: Path, workers: int) -> int:
    with backend("loky", workers):
        return _run(study, path, with_speed=True)


def _run(study: Study, path: Path, with_speed: bool) -> int:
    """Does what is missing of a study, writes its files, and shows it."""
    folder = ResultsFolder(path, study)
    with folder.opened():
        try:
            try:
                failures = _do(folder, with_speed)
            finally:
                write_tables(folder, with_speed)
                _show(folder, with_speed)
        except (EngineError, OSError) as error:
            text = f"stopped: {error}; what was finished is in {path}, the same command goes on"
            _console(stderr=True).print(text, soft_wrap=True)
            return FAILED
    return FAILED if failures else SUCCEEDED


def _do(folder: ResultsFolder, with_speed: bool) -> int:
    """Does the missing tasks and returns how many failed."""
    errors = _console(stderr=True)
    tasks = missing_tasks(folder)
    left = Counter(task.cell.position for task in tasks)
    failures = 0
    rest_until = 0.0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with (
        warnings.catch_warnings(),
        Progress(*columns, console=errors) as progress,
        contextlib.closing(run_tasks(folder, tasks)) as outcomes,
    ):
        warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning, "joblib")
        bar = progress.add_task("tasks", total=len(tasks))
        for task, error in outcomes:
            progress.advance(bar)
            left[task.cell.position] -= 1
            if error is not None:
                failures += 1
                errors.print(f"failed: {task}: {error}", soft_wrap=True)
            # Tables are written anew for each policy, unless that would take most of the time.
            finished = left[task.cell.position] == 0 and not progress.finished
            if error is None and finished and time.monotonic() >= rest_until:
                started = time.monotonic()
                write_tables(folder, with_speed)
                rest_until = time.monotonic() + 10 * (time.monotonic() - started)
    if failures:
        errors.print(f"{failures} of {len(tasks)} tasks failed; the same command tries them again")
    return failures


def _show(folder: ResultsFolder, with_speed: bool) -> None:
    """Draws the figure and prints the table of what is there."""
    study, console = folder.study, _console()
    if not any(folder.result(cell) for cell in study.cells()):
        return
    figure = folder.path / "figure.png"
    write_whole(figure, [plots.study_figure(study, folder.results())])
    runs = f"{study.runs} runs of {study.steps} steps"
    table = Table(
        title=f"{study.title}\n{runs}",
        caption="± one standard error over runs; reward and % optimal are of the last step",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    rows = 0
    for cell, result in folder.results():
        numbers = summary(result)
        if rows == 0:
            headings = ["policy", *(COLUMNS[name][0] for name in numbers)]
            _add_columns(table, [*headings, *(["steps/s"] if with_speed else [])])
        rows += 1
        if rows > MOST_ROWS:
            continue
        cells: list[Any] = [study.label(cell)]
        if result.runs < study.runs:
            cells[0] += f" ({result.runs} runs so far)"
        for name, statistics in numbers.items():
            form = COLUMNS[name][1]
            mean, error = float(statistics.mean), float(statistics.standard_error)
            spread = "" if math.isnan(error) else f" ±{form.format(error)}"
            cells.append(f"{form.format(mean)}{spread}")
        if with_speed:
            speed = steps_per_second(folder, result)
            cells.append(f"{speed / 1e6:.1f}M" if speed > 1e5 else f"{speed:,.0f}")
        table.add_row(*cells)
    console.print(table)
    if rows > MOST_ROWS:
        console.print(f"{rows - MOST_ROWS} more are in {folder.path / 'summary.csv'}")
    console.print(f"Results: {folder.path}, picture: {figure}", soft_wrap=True)


def _console(stderr: bool = False) -> Console:
    """Returns a console that prints what users wrote as they wrote it: brackets are no markup."""
    return Console(stderr=stderr, markup=False, emoji=False)


def _add_columns(table: Table, headings: Sequence[str]) -> None:
    table.add_column(headings[0])
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)


def _dry_run(study: Study, workers: int) -> int:
    console = _console()
    for number, cell in enumerate(study.cells()):
        if number == MOST_ROWS:
            console.print(f"... and {study.num_cells() - MOST_ROWS} more")
            break
        blocks = sum(1 for _ in study.tasks(cell))
        console.print(f"{study.name(cell)}: {blocks} tasks", soft_wrap=True)
    seconds, memory = estimate(study)
    workers = min(workers, study.num_tasks())
    console.print(
        f"{study.num_tasks()} tasks, about {seconds / workers:.0f} s on {workers} workers, "
        f"about {memory / 2**20:.0f} MiB a worker besides Python and its libraries"
    )
    return SUCCEEDED
