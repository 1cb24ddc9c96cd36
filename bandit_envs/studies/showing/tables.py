"""The tables of a study, and their CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.saving import atomic_write
from bandit_envs.metrics import QUANTITIES, kept_steps, of_runs
from bandit_envs.studies.definition.shown import SHOWN
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


FORMULA = ("=", "+", "-", "@")
"""What formulas of spreadsheets begin with."""


class Table(NamedTuple):
    """A table with some rows of each pair that has finished all runs."""

    counter: str
    """The name of the column that counts the rows of a pair."""

    numbers: Sequence[int]
    """What it counts."""

    columns_of: Callable[[PairResult], dict[str, Floats]]
    """Returns the other columns of a pair. Their last rows are in the table."""

    def columns(self, pair: PairResult) -> dict[str, Floats]:
        """Returns the other columns of a pair, with a value for each of `numbers`."""
        columns = self.columns_of(pair)
        return {name: column[-len(self.numbers) :] for name, column in columns.items()}


def study_tables(study: Study) -> dict[str, Table]:
    """Returns the tables of a study: summary, curves and runs."""
    steps = kept_steps(study.steps).tolist()
    runs = range(1, study.runs + 1)

    def summary(pair: PairResult) -> dict[str, Floats]:
        return {**_means_and_errors(pair, study.summary), **_quantiles(pair, study.summary)}

    def curves(pair: PairResult) -> dict[str, Floats]:
        return _means_and_errors(pair, study.metrics)

    def totals(pair: PairResult) -> dict[str, Floats]:
        return of_runs(pair.result)

    return {
        "summary": Table("step", steps[-1:], summary),
        "curves": Table("step", steps, curves),
        "runs": Table("run", runs, totals),
    }


def write_tables(path: Path, study: Study, pairs: Sequence[PairResult]) -> None:
    """Writes `summary.csv`, `curves.csv` and `runs.csv` of the pairs that have finished all runs.

    Args:
        path: the folder.
        study: the study.
        pairs: the results.
    """
    for name, table in study_tables(study).items():
        atomic_write(path / f"{name}.csv", _to_csv(table, study, pairs))


def text_cell(text: str) -> str:
    """Returns a text as a cell that a spreadsheet does not run as a formula.

    >>> text_cell("=1+2")
    "'=1+2"
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_rows(rows: Iterable[Sequence[object]]) -> bytes:
    """Returns rows of a table as CSV. Texts of users are those of `text_cell`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def shows_shares(study: Study, pairs: Sequence[PairResult], name: str) -> bool:
    """Whether quantiles of a quantity are those of shares of all steps so far."""
    shown = SHOWN[name]
    metric = shown.quantity.metric
    return bool(study.quantiles) and any(
        shown.shows_share(pair.result[metric].curves, study.kept) for pair in pairs
    )


def _means_and_errors(pair: PairResult, names: Iterable[str]) -> dict[str, Floats]:
    """Returns means and standard errors of quantities, as far as they were measured.

    Probabilities have Wilson's 95% interval, too.
    """
    columns = {}
    for name in names:
        if QUANTITIES[name].metric in pair.result:
            statistics = pair.statistics(name)
            columns[name] = np.atleast_1d(statistics.mean)
            columns[f"{name}_se"] = np.atleast_1d(statistics.standard_error)
            if QUANTITIES[name].is_probability:
                low, high = pair.probability_interval(name)
                columns[f"{name}_low"] = low
                columns[f"{name}_high"] = high
    return columns


def _quantiles(pair: PairResult, names: Iterable[str]) -> dict[str, Floats]:
    """Returns the quantiles over runs of the quantities that have them."""
    columns = {}
    for name in names:
        for level, value in pair.quantiles(name).items():
            columns[f"{name}_q{100 * level:02.0f}"] = np.array([value])
    return columns


def _to_csv(table: Table, study: Study, pairs: Iterable[PairResult]) -> Iterator[bytes]:
    """Yields the parts of a CSV file."""
    for place, pair in enumerate(pairs):
        columns = table.columns(pair)
        if place == 0:
            yield csv_rows([("environment", "policy", table.counter, *columns)])
        if pair.runs == study.runs:
            names = (text_cell(str(pair.environment)), text_cell(str(pair.policy)))
            cells = [map("{:.10g}".format, column) for column in columns.values()]
            yield csv_rows((*names, *row) for row in zip(table.numbers, *cells))
