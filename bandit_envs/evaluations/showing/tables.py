"""The tables of an evaluation, and its page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow, Evaluated
from bandit_envs.showing.latex import escape_signs, to_latex
from bandit_envs.showing.page import Section, make_page
from bandit_envs.showing.tables import Cell, Column, Grid, Group, Table, rounded

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

MakeCell: TypeAlias = Callable[[Sequence[float], float, str], Cell]
"""Makes a cell of a value with the ends of its interval, its error, and a sign of its format."""

STUBS = ("policy", "estimator")


class Shown(Protocol):
    """What tables and pages show of an `Evaluation`."""

    rows: Sequence[EstimateRow]
    segments: Mapping[str, Sequence[EstimateRow]]
    confidence: float
    baseline: str
    by: str | None
    log: str
    title: str

    @property
    def all_rows(self) -> list[EstimateRow]:
        """The rows of the table and of all segments."""

    @property
    def notes(self) -> list[str]:
        """Sentences that say what the estimates are of."""


WEIGHTS_EXPLAINED = (
    "A weight is the policy's probability of a logged action over that of the policy that made the "
    "log. Where policies overlap, weights are near 1; their mean should be near 1 in any case.",
    "Effective rows are how many rows of equal weight would tell as much. If the log has all "
    "probabilities, they are also shown as expected, whatever actions were drawn. A Pareto k above "
    "0.5 says that the tail of the weights is heavy. A few decide if the largest is large, too.",
)


def estimates_table(found: Shown, warnings: Sequence[str]) -> Table:
    """Returns the estimates and gains, those of segments in groups of their own.

    Args:
        found: the evaluation.
        warnings: reasons to distrust estimates, by whose places rows have them.
    """
    level = f"({100.0 * found.confidence:.4g}% interval)"
    names = ["rows", "effective rows", *(["warning"] if warnings else [])]

    def details(row: EstimateRow) -> list[Cell | None]:
        cells = [Cell(f"{row.rows:,}"), Cell(f"{row.effective_sample_size:,.0f}")]
        if not warnings:
            return [*cells]
        place = f"[{warnings.index(row.warnings) + 1}]" if row.warnings else ""
        return [*cells, Cell(place)]

    columns, groups = _numbers(found, _with_four_decimals, f"value {level}", f" {level}")
    return Table(
        stubs=STUBS,
        columns=[*columns, *map(Column, names)],
        groups=[
            Group(heading, [(texts, [*cells, *details(row)]) for row, texts, cells in rows])
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


def find_warnings(found: Shown) -> list[str]:
    """Returns the reasons to distrust estimates, each once."""
    return list(dict.fromkeys(row.warnings for row in found.all_rows if row.warnings))


def page_of(found: Shown, evaluated: Sequence[Evaluated], estimates: bytes, weights: bytes) -> str:
    """Returns a page with the tables, the figures, the warnings and the notes of an evaluation.

    Args:
        found: the evaluation.
        evaluated: its policies, with their weights.
        estimates: the image of the estimates.
        weights: that of the weights.
    """
    from bandit_envs.evaluations.showing.figures import draw_segments  # noqa: PLC0415

    charts: dict[str, Chart] = {}
    gains = [(name, row) for name, rows in found.segments.items() for row in rows if row.gain_rows]
    if find_spec("plotly") is not None:
        from bandit_envs.evaluations.showing import charts as drawn  # noqa: PLC0415

        charts["estimates"] = drawn.estimates_chart(found.rows, found.baseline)
        charts["weights"] = drawn.weights_chart(evaluated)
        if gains:
            charts["segments"] = drawn.segments_chart(gains, found.baseline)
    warnings = find_warnings(found)
    table = estimates_table(found, warnings)
    first, *others = table.groups
    every = Section(
        "Estimates and gains",
        [*_explain(found)],
        table.grid(first),
        len(STUBS),
        notes=[*found.notes, *number_texts(warnings)],
        figure=estimates,
        chart=charts.get("estimates"),
    )
    sections = [every]
    if others:
        chart = charts.get("segments")
        figure = draw_segments(found.segments, found.baseline) if gains and not chart else None
        sections.append(Section(f"By {found.by}", figure=figure, chart=chart))
        sections += [
            Section(group.heading, table=table.grid(group), texts=len(STUBS), level=3)
            for group in others
        ]
    overlap = "Weights and overlap"
    grid = weights_grid(evaluated)
    chart = charts.get("weights")
    sections.append(Section(overlap, WEIGHTS_EXPLAINED, grid, figure=weights, chart=chart))
    return make_page(f"Policies on {found.log}", found.title.splitlines(), sections)


def number_texts(warnings: Sequence[str]) -> Iterator[str]:
    """Yields reasons to distrust estimates with their numbers."""
    return (f"[{number}] {text}" for number, text in enumerate(warnings, start=1))


def weights_grid(evaluated: Sequence[Evaluated]) -> Grid:
    """Returns what the weights of policies say, which are the same for all estimators."""
    headings = ["policy", "rows", "weights of 0", "largest", "mean", "± (standard error)"]
    grid = [[*headings, "effective rows", "expected", "Pareto k"]]
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
    return grid


Numbers: TypeAlias = list[tuple[EstimateRow, list[str], list[Cell | None]]]
"""Rows with their texts and numbers."""


def _numbers(
    found: Shown, cell: MakeCell, value: str, level: str
) -> tuple[list[Column], list[tuple[str, Numbers]]]:
    """Returns the columns of estimates and gains, and the rows below each heading."""
    has_truth = any(not math.isnan(row.truth) for row in found.all_rows)
    has_gains = any(row.gain_rows for row in found.all_rows)
    columns = [Column("truth")] if has_truth else []
    columns.append(Column(value))
    if has_gains:
        columns.append(Column(f"gain over {found.baseline}{level}", has_p=True))

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
        **{f"{found.by}: {name}": rows for name, rows in found.segments.items() if rows},
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


def _explain(found: Shown) -> Iterator[str]:
    """Yields what the numbers of the page are."""
    level = f"{100.0 * found.confidence:.4g}%"
    first = f"The first row, {LOGGED}, is the policy that made the log"
    yield f"{first}, whose value is its mean reward. Intervals hold with probability {level} each."
    other = "the logged one" if found.baseline == LOGGED else found.baseline
    gain = f"A gain is how much more a policy would have earned than {other}"
    corrected = "P-values are of no gain, corrected by Holm for the number of comparisons"
    yield f"{gain}, from the same rows. {corrected}."


def _explain_in_latex(found: Shown, rows: Sequence[EstimateRow]) -> Iterator[str]:
    """Yields sentences that say what the numbers are."""
    level = rf"{100.0 * found.confidence:.4g}\%"
    yield f"Policies on {escape_signs(found.log)}, with {level} intervals."
    yield f"{LOGGED}: the policy that made the log, with its mean reward."
    if any(row.gain_rows for row in rows):
        yield "A gain is estimated from the same rows."
        yield "$p$: of no gain, corrected by Holm for the number of comparisons."
    number = sum(bool(row.warnings) for row in rows)
    if number:
        yield f"Estimates with reasons to distrust them: {number} of {len(rows)}."
