"""Estimates and gains of an evaluation as a table of LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.evaluations.showing.report import Report
from bandit_envs.studies.definition.shown import rounded
from bandit_envs.studies.showing.latex import Cell, Column, Group, LatexTable, escape_signs


def latex_of_estimates(report: Report) -> str:
    """Returns a table with a row for each policy and estimator, and those of segments below."""
    every = [*report.rows, *(row for rows in report.segments.values() for row in rows)]
    has_truth = any(not math.isnan(row.truth) for row in every)
    has_gains = any(row.gain_rows for row in every)
    columns = [Column("truth")] if has_truth else []
    columns.append(Column("value"))
    if has_gains:
        columns.append(Column(f"gain over {report.baseline}", has_p=True))
    groups = [Group("", _rows(report.rows, has_truth, has_gains))]
    for name, rows in report.segments.items():
        if rows:
            groups.append(Group(f"{report.by}: {name}", _rows(rows, has_truth, has_gains)))
    table = LatexTable(
        caption=[*_explain(report, every, has_gains)],
        stubs=["policy", "estimator"],
        columns=columns,
        groups=groups,
    )
    return table.write()


def _rows(
    rows: Sequence[EstimateRow], has_truth: bool, has_gains: bool
) -> list[tuple[list[str], list[Cell | None]]]:
    """Returns the rows of a table: of each, two texts, and its numbers."""
    found = []
    for row in rows:
        value = _cell(row.value, row.low, row.high, row.standard_error)
        cells: list[Cell | None] = [value]
        if has_truth:
            is_known = not math.isnan(row.truth)
            cells.insert(0, Cell(f"{row.truth:.4f}") if is_known else None)
        if has_gains and row.gain_rows:
            gain = _cell(row.gain, row.gain_low, row.gain_high, row.gain_standard_error)
            cells.append(gain and gain._replace(p_value=row.p_value))
        elif has_gains:
            cells.append(None)
        found.append(([row.policy, row.estimator], cells))
    return found


def _cell(value: float, low: float, high: float, error: float) -> Cell | None:
    """Returns an estimate with its interval; None if there is no estimate."""
    if math.isnan(value):
        return None
    texts = rounded(value, low, high, error=error)
    center, start, end = texts or [f"{number:.4f}" for number in (value, low, high)]
    return Cell(center, ends=(start, end))


def _explain(report: Report, rows: Sequence[EstimateRow], has_gains: bool) -> Iterator[str]:
    """Yields sentences that say what the numbers are."""
    level = rf"{100.0 * report.confidence:.4g}\%"
    yield f"Policies on {escape_signs(report.log)}, with {level} intervals."
    yield f"{LOGGED}: the policy that made the log, with its mean reward."
    if has_gains:
        yield "A gain is estimated from the same rows."
        yield "$p$: of no gain, corrected by Holm for the number of comparisons."
    number = sum(bool(row.warnings) for row in rows)
    if number:
        yield f"Estimates with reasons to distrust them: {number} of {len(rows)}."
