"""The tables of a study, and their CSV files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.saving import atomic_file
from bandit_envs.metrics import QUANTITIES, Quantity, kept_steps, of_runs
from bandit_envs.running.tracking import Track, track_nothing
from bandit_envs.showing.tables import csv_rows, text_cell
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


class StudyTable(NamedTuple):
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


def study_tables(study: Study) -> dict[str, StudyTable]:
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
        "summary": StudyTable("step", steps[-1:], summary),
        "curves": StudyTable("step", steps, curves),
        "runs": StudyTable("run", runs, totals),
    }


def write_tables(
    path: Path,
    study: Study,
    pairs: Sequence[PairResult],
    track: Track = track_nothing,
) -> None:
    """Writes `summary.csv`, `runs.csv` and `curves.npy` of the pairs that have finished all runs.

    It reads each pair once.

    Args:
        path: the folder.
        study: the study.
        pairs: the results.
        track: shows how many of the pairs have been read.
    """
    tables = study_tables(study)
    with contextlib.ExitStack() as stack:

        def open_file(name: str) -> BinaryIO:
            return stack.enter_context(atomic_file(path / name))

        writers: list[CsvWriter | NpyWriter] = [
            CsvWriter(open_file("summary.csv"), tables["summary"], study),
            CsvWriter(open_file("runs.csv"), tables["runs"], study),
            NpyWriter(open_file("curves.npy"), tables["curves"], study, pairs),
        ]
        for pair in track("tables", pairs):
            for writer in writers:
                writer.write(pair)


class CsvWriter:
    """Writes a table as CSV, pair by pair.

    Args:
        file: where it is written.
        table: the table.
        study: the study.
    """

    def __init__(self, file: BinaryIO, table: StudyTable, study: Study) -> None:
        self._file = file
        self._table = table
        self._study = study
        self._names = RowNames.of(study)
        self._is_first = True

    def write(self, pair: PairResult) -> None:
        """Writes the rows of a pair, if it has finished all runs."""
        table = self._table
        is_finished = pair.runs == self._study.runs
        if not (self._is_first or is_finished):
            return
        columns = table.columns(pair)
        if self._is_first:
            self._file.write(csv_rows([("environment", "policy", table.counter, *columns)]))
            self._is_first = False
        if is_finished:
            place = self._names.environments[str(pair.environment)]
            names = (text_cell(place), text_cell(self._names.policies[str(pair.policy)]))
            cells = [map("{:.10g}".format, column) for column in columns.values()]
            self._file.write(csv_rows((*names, *row) for row in zip(table.numbers, *cells)))


class NpyWriter:
    """Writes a table as a structured array of NumPy [n, T], with a row for each finished pair.

    Args:
        file: where it is written.
        table: the table.
        study: the study.
        pairs: all that will be written.
    """

    def __init__(
        self, file: BinaryIO, table: StudyTable, study: Study, pairs: Sequence[PairResult]
    ) -> None:
        self._file = file
        self._table = table
        self._study = study
        names = table.columns(pairs[0]) if pairs else ()
        self._dtype = np.dtype([(table.counter, "<i8"), *((name, "<f4") for name in names)])
        number = sum(pair.runs == study.runs for pair in pairs)
        np.lib.format.write_array_header_2_0(
            file,
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (number, len(table.numbers)),
            },
        )

    def write(self, pair: PairResult) -> None:
        """Writes the row of a pair, if it has finished all runs."""
        if pair.runs == self._study.runs:
            row = np.empty(len(self._table.numbers), self._dtype)
            row[self._table.counter] = self._table.numbers
            for name, column in self._table.columns(pair).items():
                row[name] = column
            self._file.write(row.tobytes())


def shows_shares(study: Study, pairs: Sequence[PairResult], name: str) -> bool:
    """Whether quantiles of a quantity are those of shares of all steps so far."""
    quantity = QUANTITIES[name]
    return bool(study.quantiles) and any(
        quantity.shows_share(pair.result[quantity.metric].curves, study.kept) for pair in pairs
    )


def explain_quantities(
    study: Study, pairs: Sequence[PairResult], columns: Mapping[str, Quantity]
) -> list[str]:
    """Returns texts that say what the numbers in columns of a table are, where that may differ."""
    parts = []
    per_step = {name: each for name, each in columns.items() if each.kind == "per_step"}
    shares = [each.heading for name, each in per_step.items() if shows_shares(study, pairs, name)]
    last = [each.heading for each in per_step.values() if each.heading not in shares]
    probabilities = [each.heading for each in columns.values() if each.is_probability]
    if probabilities and not study.quantiles:
        parts.append(f"{' and '.join(probabilities)}: with Wilson's 95% interval")
    if last:
        has_span = study.quantiles and len(study.kept) > 1
        span = study.kept[-1] - study.kept[-2] if has_span else 1
        when = f"over the last {span} steps" if span > 1 else "at the last step"
        parts.append(f"{' and '.join(last)}: {when}")
    if shares:
        parts.append(f"{' and '.join(shares)}: over all steps")
    return parts


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
