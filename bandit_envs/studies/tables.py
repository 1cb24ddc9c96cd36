"""The tables of a study, as CSV files."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.saving import atomic_write
from bandit_envs.metrics import QUANTITIES, of_runs
from bandit_envs.studies.results import PairResult
from bandit_envs.studies.study import Study


def write_tables(path: Path, study: Study, pairs: Sequence[PairResult]) -> None:
    """Writes `summary.csv`, `curves.csv` and `runs.csv` of the pairs that have finished all runs.

    Args:
        path: the folder.
        study: the study.
        pairs: the results.
    """
    steps = range(1, study.steps + 1)
    runs = range(1, study.runs + 1)

    def summary(pair: PairResult) -> dict[str, Floats]:
        return _means_and_errors(pair, study.summary)

    def curves(pair: PairResult) -> dict[str, Floats]:
        return _means_and_errors(pair, study.metrics)

    def totals(pair: PairResult) -> dict[str, Floats]:
        return of_runs(pair.result)

    atomic_write(path / "summary.csv", _table(study, pairs, "step", steps[-1:], summary))
    atomic_write(path / "curves.csv", _table(study, pairs, "step", steps, curves))
    atomic_write(path / "runs.csv", _table(study, pairs, "run", runs, totals))


def csv_rows(rows: Iterable[Sequence[object]]) -> bytes:
    """Returns rows of a table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _means_and_errors(pair: PairResult, names: Iterable[str]) -> dict[str, Floats]:
    """Returns means and standard errors of quantities, as far as they were measured."""
    columns = {}
    for name in names:
        if QUANTITIES[name].metric in pair.result:
            statistics = pair.statistics(name)
            columns[name] = np.atleast_1d(statistics.mean)
            columns[f"{name}_se"] = np.atleast_1d(statistics.standard_error)
    return columns


def _table(
    study: Study,
    pairs: Iterable[PairResult],
    index: str,
    numbers: Sequence[int],
    columns_of: Callable[[PairResult], Mapping[str, Floats]],
) -> Iterator[bytes]:
    """Yields the parts of a CSV file.

    Args:
        study: the study.
        pairs: the results.
        index: the name of the column that counts the rows of a pair.
        numbers: what it counts.
        columns_of: returns the other columns of a pair, whose last rows are written.
    """
    for place, pair in enumerate(pairs):
        columns = columns_of(pair)
        if place == 0:
            yield csv_rows([("environment", "policy", index, *columns)])
        if pair.runs == study.runs:
            names = (str(pair.environment), str(pair.policy))
            cells = [map("{:.10g}".format, column[-len(numbers) :]) for column in columns.values()]
            yield csv_rows((*names, *row) for row in zip(numbers, *cells))
