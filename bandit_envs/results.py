"""Results on disk: a folder of files that are whole or not there at all."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs import __version__
from bandit_envs.experiments import Result

SUMMARY_COLUMNS = (
    "policy",
    "reward",
    "reward_se",
    "percent_optimal",
    "percent_optimal_se",
    "mean_reward",
    "mean_reward_se",
    "cumulative_regret",
    "cumulative_regret_se",
    "steps_per_second",
)
CURVE_COLUMNS = (
    "policy",
    "step",
    "reward",
    "reward_se",
    "percent_optimal",
    "percent_optimal_se",
    "regret",
    "regret_se",
)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that `path` is either what it was or has all of `content`, even in a crash.

    Raises:
        OSError: the folder cannot be written, or the disk is full; `path` is what it was.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def open_folder(folder: Path, config: dict[str, Any]) -> None:
    """Makes `folder` one for the results of `config`, with a `config.json` that reruns them.

    Args:
        folder: made if it is not there.
        config: the command's arguments; the versions used are added.

    Raises:
        ValueError: `folder` holds anything but results of the same config.
        OSError: it cannot be written.
    """
    versions = {
        "bandit_envs": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    content = (json.dumps({**config, "versions": versions}, indent=2) + "\n").encode()
    file = folder / "config.json"
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output folder {folder} is a file; expected a folder")
    if folder.exists() and any(folder.iterdir()):
        if not file.is_file() or file.read_bytes() != content:
            raise ValueError(
                f"output folder {folder} holds something else; expected a new or empty folder, "
                "or one with results of the same arguments and versions"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(file, content)


def write_results(folder: Path, results: Sequence[Result]) -> None:
    """Writes `summary.csv` and `curves.csv` of the policies that have finished."""
    write_whole(folder / "summary.csv", _csv(SUMMARY_COLUMNS, map(summary_row, results)))
    curves = (row for result in results for row in _curve_rows(result))
    write_whole(folder / "curves.csv", _csv(CURVE_COLUMNS, curves))


def summary_row(result: Result) -> tuple[Any, ...]:
    """Returns a policy's values in the order of `SUMMARY_COLUMNS`."""
    reward, optimal, regret = result.reward, result.percent_optimal, result.regret
    return (
        str(result.policy),
        reward.per_step.mean[-1],
        reward.per_step.standard_error[-1],
        optimal.per_step.mean[-1],
        optimal.per_step.standard_error[-1],
        reward.mean.mean,
        reward.mean.standard_error,
        regret.cumulative.mean[-1],
        regret.cumulative.standard_error[-1],
        result.steps_per_second,
    )


def _curve_rows(result: Result) -> Iterable[tuple[Any, ...]]:
    metrics = result.reward, result.percent_optimal, result.regret
    columns = [
        column
        for metric in metrics
        for column in (metric.per_step.mean, metric.per_step.standard_error)
    ]
    policy = str(result.policy)
    for index, values in enumerate(zip(*columns)):
        yield (policy, index + 1, *values)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            [value if isinstance(value, (str, int)) else f"{value:.10g}" for value in row]
        )
    return text.getvalue().encode()
