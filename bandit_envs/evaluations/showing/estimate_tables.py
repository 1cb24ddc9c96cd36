"""The tables of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow, Evaluated
from bandit_envs.evaluations.showing.reasons import Reasons
from bandit_envs.logged.summary import LogSummary
from bandit_envs.names.visible import visible
from bandit_envs.showing.latex import escape, to_latex
from bandit_envs.showing.tables import Cell, Grid, Group, NumericColumn, Table, rounded

MakeCell: TypeAlias = Callable[[Sequence[float], float, str], Cell]
"""Makes a cell of a value with the ends of its interval, its error, and a sign of its format."""

STUBS = ("policy", "estimator")

SHOWN_ITEMS = 10
"""A table shows at most so many items; a file has all."""


class Shown(Protocol):
    """What tables and pages show of an `Evaluation`."""

    rows: Sequence[EstimateRow]
    segments: Mapping[str, Sequence[EstimateRow]]
    confidence: float
    baseline: str
    by: str | None
    is_over_time: bool
    log: str
    title: str
    summary: LogSummary

    @property
    def all_rows(self) -> list[EstimateRow]:
        """The rows of the table and of all segments."""

    def headline(self) -> str:
        """Returns which policies are better than the baseline."""

    @property
    def notes(self) -> list[str]:
        """Sentences that say what the estimates are of."""


def estimates_table(found: Shown, reasons: Reasons) -> Table:
    """Returns the estimates and gains, those of segments in groups of their own.

    Args:
        found: the evaluation.
        reasons: to distrust estimates, by whose numbers rows have them.
    """
    level = f"({100.0 * found.confidence:.4g}% interval)"
    has_warnings = bool(reasons.lines())
    names = ["rows", "effective rows", *(["warning"] if has_warnings else [])]

    def details(row: EstimateRow, is_of_segment: bool) -> list[Cell | None]:
        cells = [Cell(f"{row.rows:,}"), Cell(f"{row.effective_sample_size:,.0f}")]
        if not has_warnings:
            return [*cells]
        number = reasons.number(row, is_of_segment)
        return [*cells, None if number is None else Cell(f"[{number}]")]

    columns, groups = _numbers(found, _with_four_decimals, f"value {level}", f" {level}")
    return Table(
        stubs=STUBS,
        columns=[*columns, *map(NumericColumn, names)],
        groups=[
            Group(
                heading,
                [(texts, [*cells, *details(row, bool(heading))]) for row, texts, cells in rows],
            )
            for heading, rows in groups
        ],
    )


def latex_of_estimates(found: Shown) -> str:
    """Returns the table of LaTeX, whose numbers are rounded to two digits of their errors."""
    columns, groups = _numbers(found, _rounded, "value", "")
    rows = found.all_rows
    table = Table(
        stubs=STUBS,
        columns=columns,
        groups=[
            Group(heading, [(texts, cells) for _, texts, cells in members])
            for heading, members in groups
        ],
    )
    return to_latex(table, [*_explain_in_latex(found, rows)])


def weights_grid(evaluated: Sequence[Evaluated]) -> Grid:
    """Returns what the weights of policies say, which are the same for all estimators."""
    headings = ["policy", "rows", "weights of 0", "largest", "mean", "± (standard error)"]
    headings += ["effective rows", "expected", "Pareto k"]
    grid = []
    for each in evaluated:
        histogram = each.sums.weights
        weights = next(iter(each.sums.estimates.values())).weights
        expected = weights.expected_sample_size()
        cells = [
            each.name,
            f"{histogram.size:,}",
            f"{histogram.zeros / max(histogram.size, 1):.1%}",
            f"{histogram.largest:.3g}",
            f"{float(weights.means.mean):.4f}",
            f"{float(weights.means.standard_error):.4f}",
            f"{weights.effective_sample_size():,.0f}",
            "" if expected is None else f"{expected:,.0f}",
            f"{weights.tail.shape():.2f}",
        ]
        grid.append(cells)
    places = [place for place, column in enumerate(zip(*grid)) if any(column)]
    return [[row[place] for place in places] for row in [headings, *grid]]


def items_grid(summary: LogSummary) -> Grid:
    """Returns what a log says of the items that were offered most; () without items."""
    rows = summary.item_rows()[:SHOWN_ITEMS]
    if not rows:
        return ()
    grid = [["item", "offered", "chosen", "chosen when offered", "mean propensity", "mean reward"]]
    for row in rows:
        means = ["" if math.isnan(each) else f"{each:.4f}" for each in (row.propensity, row.reward)]
        counts = [f"{row.offered:,}", f"{row.chosen:,}", f"{row.chosen / row.offered:.1%}"]
        grid.append([str(row.item), *counts, *means])
    return grid


def title_of_items(summary: LogSummary) -> str:
    """Returns a heading of `items_grid`, which says how many items there are."""
    number = len(summary.item_rows())
    return f"Items offered most ({min(number, SHOWN_ITEMS)} of {number:,})"


Numbers: TypeAlias = list[tuple[EstimateRow, list[str], list[Cell | None]]]
"""Rows with their texts and numbers."""


def _numbers(
    found: Shown, cell: MakeCell, value: str, level: str
) -> tuple[list[NumericColumn], list[tuple[str, Numbers]]]:
    """Returns the columns of estimates and gains, and the rows below each heading."""
    has_truth = any(not math.isnan(row.truth) for row in found.all_rows)
    has_gains = any(row.gain_rows for row in found.all_rows)
    columns = [NumericColumn("truth")] if has_truth else []
    columns.append(NumericColumn(value))
    if has_gains:
        columns.append(NumericColumn(f"gain over {found.baseline}{level}", has_p=True))

    def number(row: EstimateRow) -> list[Cell | None]:
        truth = None if math.isnan(row.truth) else Cell(f"{row.truth:.4f}")
        cells = [truth] if has_truth else []
        cells.append(cell((row.value, row.low, row.high), row.standard_error, ""))
        if has_gains and row.gain_rows:
            gain = cell((row.gain, row.gain_low, row.gain_high), row.gain_standard_error, "+")
            cells.append(gain._replace(p_value=row.p_value))
        elif has_gains:
            cells.append(None)
        return cells

    parts: Mapping[str, Sequence[EstimateRow]] = {
        "": found.rows,
        **{visible(f"{found.by}: {name}"): rows for name, rows in found.segments.items() if rows},
    }
    return columns, [
        (heading, [(row, [row.policy, row.estimator], number(row)) for row in rows])
        for heading, rows in parts.items()
    ]


def _with_four_decimals(numbers: Sequence[float], error: float, sign: str) -> Cell:
    center, low, high = (f"{number:{sign}.4f}" for number in numbers)
    return Cell(center, ends=(low, high))


def _rounded(numbers: Sequence[float], error: float, sign: str) -> Cell:
    texts = rounded(*numbers, error=error)
    center, low, high = texts or [f"{number:.4f}" for number in numbers]
    return Cell(center, ends=(low, high))


def _explain_in_latex(found: Shown, rows: Sequence[EstimateRow]) -> Iterator[str]:
    """Yields sentences that say what the numbers are."""
    level = rf"{100.0 * found.confidence:.4g}\%"
    yield f"Policies on {escape(found.log)}, with {level} intervals."
    yield f"{LOGGED}: the policy that made the log, with its mean reward."
    if any(row.gain_rows for row in rows):
        yield "A gain is estimated from the same rows."
        yield "$p$: of a gain of 0, corrected by Holm for the number of comparisons."
    number = sum(bool(row.warnings) for row in rows)
    if number:
        yield f"Estimates with reasons to distrust them: {number} of {len(rows)}."
