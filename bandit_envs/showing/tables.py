"""Tables of numbers with what is known of them, and grids of texts, which pages and terminals show.

A grid is a list of rows of texts, the first of which has the headings.
"""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from bandit_envs.names.visible import visible, visible_lines

Grid: TypeAlias = Sequence[Sequence[str]]
"""Rows of texts, first the headings."""

SMALLEST = 1e-4
"""Smaller p-values are written as below it."""

FORMULA = ("=", "+", "-", "@")
"""What formulas of spreadsheets begin with."""


class Cell(NamedTuple):
    """A number of a table, as text, and what is known of it."""

    value: str

    error: str = ""
    """The standard error; "" for none."""

    ends: tuple[str, str] | None = None
    """The ends of an interval, in place of a standard error."""

    p_value: float | None = None
    """Of no difference; None where nothing was tested."""

    def __str__(self) -> str:
        if self.ends:
            return f"{self.value} ({interval_text(*self.ends)})"
        return f"{self.value} ±{self.error}" if self.error else self.value


class NumericColumn(NamedTuple):
    """A column of numbers."""

    heading: str

    has_stars: bool = False
    """Whether stars say which p-values are small, in LaTeX."""

    has_p: bool = False
    """Whether a column of p-values follows."""


class Group(NamedTuple):
    """Rows of a table below a heading of their own, or without one."""

    heading: str

    rows: Sequence[tuple[Sequence[str], Sequence[Cell | None]]]
    """Of each row, the texts at its left, and its numbers; None for an empty cell."""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of numbers.

    Args:
        stubs: the headings of the columns of texts, at the left.
        columns: those of numbers.
        groups: the rows.
    """

    stubs: Sequence[str]
    columns: Sequence[NumericColumn]
    groups: Sequence[Group]

    def grid(self, group: Group) -> list[list[str]]:
        """Returns the rows of a group, below the headings, without columns that are empty there."""
        rows = [cells for _, cells in group.rows]
        places = [place for place, cells in enumerate(zip(*rows)) if any(cells)]
        headings = [*self.stubs]
        for place in places:
            column = self.columns[place]
            headings += [column.heading, "p"] if column.has_p else [column.heading]
        lines = [[*texts, *self._texts(cells, places)] for texts, cells in group.rows]
        return [headings, *lines]

    def _texts(self, cells: Sequence[Cell | None], places: Sequence[int]) -> list[str]:
        """Returns the numbers of a row in some columns as texts."""
        found = []
        for place in places:
            column = self.columns[place]
            cell = cells[place]
            found.append(str(cell or ""))
            if column.has_p:
                p_value = None if cell is None else cell.p_value
                found.append("" if p_value is None else p_text(p_value))
        return found


def interval_text(low: str, high: str) -> str:
    """Returns the ends of an interval as text."""
    return f"{low} to {high}"


def p_text(p_value: float) -> str:
    """Returns a p-value with two digits.

    >>> p_text(0.0314), p_text(3e-7)
    ('0.031', '<1e-4')
    """
    return "<1e-4" if p_value < SMALLEST else f"{p_value:.2g}"


def rounded(*numbers: float, error: float) -> list[str] | None:
    """Returns numbers with two digits of their error; None if the error is 0 or not known.

    >>> rounded(12.3456, 0.0871, error=0.0871)
    ['12.346', '0.087']
    >>> rounded(1234.5, 123.4, error=123.4)
    ['1230', '120']
    """
    if not 1e-9 < error < math.inf:
        return None
    decimals = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    shown = [round(number, decimals) + 0.0 for number in numbers]  # 0, where it would be -0
    return [f"{number:.{max(decimals, 0)}f}" for number in shown]


def with_decimals(*numbers: float, fewest: int, error: float) -> list[str]:
    """Returns numbers with two digits of their error, and so many decimals at least.

    >>> with_decimals(66.812, 0.0416, fewest=1, error=0.0416)
    ['66.812', '0.042']
    >>> with_decimals(66.812, fewest=1, error=17.23)
    ['66.8']
    """
    decimals = fewest
    if 1e-9 < error < 1.0:
        decimals = max(decimals, 1 - math.floor(math.log10(error)))
    return [f"{round(number, decimals) + 0.0:.{decimals}f}" for number in numbers]


def to_text(grid: Grid, texts: int = 1) -> str:
    """Returns a grid as lines. The first columns are of text, and the others of numbers."""
    shown = [[visible(cell) for cell in row] for row in grid]
    widths = [max(map(len, column)) for column in zip(*shown)]
    lines = []
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row[:texts], widths)]
        cells += [cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def to_html(grid: Grid, texts: int = 1) -> str:
    """Returns a grid as HTML. The first columns are of text, and the others of numbers."""

    def line(tag: str, row: Sequence[str]) -> str:
        kinds = ["" if place < texts else ' class="number"' for place in range(len(row))]
        cells = (f"<{tag}{kind}>{html_text(cell)}</{tag}>" for kind, cell in zip(kinds, row))
        return f"<tr>{''.join(cells)}</tr>"

    headings, *rows = grid
    body = "\n".join([line("th", headings), *(line("td", row) for row in rows)])
    return f'<div class="wide"><table>{body}</table></div>'


def html_text(text: str) -> str:
    """Returns a text as HTML, where it makes no tag, and shows what is not printable."""
    return html.escape(visible_lines(text))


def text_cell(text: str) -> str:
    """Returns a text as a cell that a spreadsheet does not run as a formula.

    >>> text_cell("=1+2")
    "'=1+2"
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Returns a table as CSV, in which no text is a formula, and NaN is an empty cell.

    >>> csv_table(["=name", "gain"], [("a", 0.5), ("-b", math.nan)]).decode().split()
    ["'=name,gain", 'a,0.5', "'-b,"]
    """
    return csv_rows(map(_csv_cell, row) for row in [headings, *rows])


def _csv_cell(cell: object) -> object:
    if isinstance(cell, str):
        return text_cell(cell)
    return "" if cell != cell else cell  # NaN


def csv_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Returns rows of a table as CSV. Texts of users are those of `text_cell`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
