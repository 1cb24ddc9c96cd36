"""What the subcommands do: run, show progress, write files, draw, print a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bandit_envs import plots
from bandit_envs.experiments import FIGURES, Result, TestbedStudy, run_testbed
from bandit_envs.policy_specs import PolicySpec
from bandit_envs.results import open_folder, summary_row, write_results, write_whole


def testbed(options: argparse.Namespace) -> int:
    """Runs `bandit-envs testbed`.

    Raises:
        ValueError: two policies are the same, or the output folder holds something else.
        OSError: the output folder cannot be written.
    """
    number = options.figure or (None if options.policy else "2.2")
    figure = FIGURES[number] if number else None
    policies = [PolicySpec.parse(text) for text in figure.policies] if figure else []
    policies += options.policy or []
    names = [str(policy) for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"--policy {name} is there twice; expected each policy once")
    study = TestbedStudy(
        tuple(policies),
        options.runs,
        options.steps,
        options.arms,
        figure.value_mean if figure else 0.0,
        options.seed,
    )
    folder = options.output or Path("results", f"testbed-{number or 'policies'}")
    open_folder(
        folder,
        {
            "command": "testbed",
            "figure": number,
            "policies": names,
            "runs": study.runs,
            "steps": study.steps,
            "arms": study.arms,
            "value_mean": study.value_mean,
            "seed": study.seed,
        },
    )
    title = f"Figure {number}: {figure.title}" if figure else "Average performance"
    results: list[Result] = []
    try:
        _run(study, folder, results)
    finally:
        if results:
            draws_parameters = figure is not None and not figure.panels and not options.policy
            panels = (figure.panels if figure else ()) or ("reward", "percent_optimal")
            write_whole(
                folder / "figure.png",
                plots.parameter_study(title, results)
                if draws_parameters
                else plots.learning_curves(title, results, panels),
            )
    console = Console()
    console.print(_table(title, study, results))
    console.print(f"Wrote {folder / 'figure.png'}, summary.csv, curves.csv and config.json")
    return 0


def _run(study: TestbedStudy, folder: Path, results: list[Result]) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        total = study.runs * study.steps * len(study.policies)
        bar = progress.add_task("", total=total)
        for policy in study.policies:
            progress.update(bar, description=str(policy))
            results.append(run_testbed(study, policy, lambda steps: progress.advance(bar, steps)))
            write_results(folder, results)
        progress.update(bar, description="done")


def _table(title: str, study: TestbedStudy, results: list[Result]) -> Table:
    table = Table(
        title=f"{title}\n{study.runs} testbeds, {study.arms} arms, {study.steps} steps",
        caption="± one standard error over testbeds; reward and % optimal are of the last step",
        box=box.SIMPLE,
        pad_edge=False,
    )
    table.add_column("policy")
    for heading in ("reward", "% optimal", "mean reward", "regret", "steps/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        _, *numbers, speed = summary_row(result)
        pairs = zip(numbers[::2], numbers[1::2], ("{:.3f}", "{:.1f}", "{:.3f}", "{:.1f}"))
        cells = [f"{form.format(mean)} ±{form.format(error)}" for mean, error, form in pairs]
        table.add_row(result.policy.label(), *cells, f"{speed / 1e6:.1f}M")
    return table
