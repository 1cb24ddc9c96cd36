"""The tables of a study: a row for each policy, a row for each of its steps."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from bandit_envs.studies.results import ResultsFolder
from bandit_envs.studies.study import Cell
from bandit_envs.studies.tasks import Result
from bandit_envs.metrics import Statistics
from bandit_envs.base.saving import write_whole


def write_tables(folder: ResultsFolder, with_speed: bool) -> None:
    """Writes `summary.csv` and `curves.csv` of the policies that have finished, if any have.

    Args:
        folder: of the study.
        with_speed: whether the summary has a column `steps_per_second`, which is not the same from
            run to run.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    if next(_finished(folder), None) is None:
        return
    write_whole(folder.path / "summary.csv", _csv(_summary_rows(folder, with_speed)))
    write_whole(folder.path / "curves.csv", _csv(_curve_rows(folder)))


def summary(result: Result) -> dict[str, Statistics]:
    """Returns the numbers that sum a result up: at the last step, or over all steps."""
    metrics = result.metrics
    numbers: dict[str, Statistics] = {}
    for name in ("reward", "percent_optimal"):
        if name in metrics:
            numbers[name] = metrics[name].per_step.at(-1)
    if "reward" in metrics:
        numbers["mean_reward"] = metrics["reward"].mean
    if "regret" in metrics:
        numbers["cumulative_regret"] = metrics["regret"].cumulative.at(-1)
    return numbers


def steps_per_second(folder: ResultsFolder, result: Result) -> float:
    """Returns how many steps of single runs a worker simulated in a second."""
    return result.runs * folder.study.steps / result.seconds


def _summary_rows(folder: ResultsFolder, with_speed: bool) -> Iterator[dict[str, Any]]:
    for cell, result in _finished(folder):
        row = _names(folder, cell)
        for name, statistics in summary(result).items():
            row[name] = float(statistics.mean)
            row[f"{name}_se"] = float(statistics.standard_error)
        if with_speed:
            row["steps_per_second"] = steps_per_second(folder, result)
        yield row


def _curve_rows(folder: ResultsFolder) -> Iterator[dict[str, Any]]:
    for cell, result in _finished(folder):
        names = _names(folder, cell)
        columns = {}
        for name, metric in result.metrics.items():
            columns[name] = metric.per_step.mean.tolist()
            columns[f"{name}_se"] = metric.per_step.standard_error.tolist()
        for step, values in enumerate(zip(*columns.values()), start=1):
            yield {**names, "step": step, **dict(zip(columns, values))}


def _finished(folder: ResultsFolder) -> Iterator[tuple[Cell, Result]]:
    for cell, result in folder.results():
        if result.runs == folder.study.runs:
            yield cell, result


def _names(folder: ResultsFolder, cell: Cell) -> dict[str, Any]:
    if len(folder.study.environments) == 1:
        return {"policy": str(cell.policy)}
    return {"environment": str(cell.environment), "policy": str(cell.policy)}


def _csv(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(row)
        writer.writerow(
            [f"{value:.10g}" if isinstance(value, float) else value for value in row.values()]
        )
        if text.tell() > 1 << 20:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()
