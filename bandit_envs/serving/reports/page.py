"""A report as one page of HTML that needs no server and no network."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from bandit_envs.serving.reports.report import ServiceReport, estimates_table
from bandit_envs.studies.plots import to_image
from bandit_envs.studies.showing.page_parts import PAGE, STYLE

NUMBERS = "td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }"


def report_page(report: ServiceReport) -> str:
    """Returns a page with the tables, the figure and the notes of a report."""
    first, *summary = report.summary()
    parts = [
        f"<h1>{html.escape(first)}</h1>",
        *map(_paragraph, summary),
        "<h2>Actions</h2>",
        _table(report.actions_table()),
        *map(_paragraph, _join_lines(report.explain())),
        *map(_paragraph, report.notes),
        f"<h2>By {report.period}</h2>",
        _picture(f"Shares, values and weights by {report.period}", report.plot()),
        _table(report.periods_table()),
    ]
    if report.evaluation is not None:
        parts += ["<h2>Other policies on this log</h2>", _table(estimates_table(report.evaluation))]
        parts += map(_paragraph, report.evaluation.notes)
        parts.append(_picture("Estimates and gains", report.evaluation.plot()))
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(report.name)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{STYLE}{NUMBERS}</style>",
    ]
    return PAGE.format(head="\n".join(head), body="\n".join(parts))


def _join_lines(lines: Iterable[str]) -> list[str]:
    """Returns sentences, whose further lines begin with blanks, as a line each."""
    return "\n".join(lines).replace("\n  ", " ").splitlines()


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _table(table: Sequence[Sequence[str]]) -> str:
    """Returns a table, whose first column is of text, and the others of numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        found = (f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
        return f"<tr>{''.join(found)}</tr>"

    headings, *rows = table
    body = "\n".join([line("th", headings), *(line("td", row) for row in rows)])
    return f'<div class="wide"><table>{body}</table></div>'


def _picture(text: str, figure: Figure) -> str:
    """Returns a figure as an image in the page."""
    image = base64.b64encode(to_image(figure)).decode()
    return f'<p><img alt="{html.escape(text)}" src="data:image/png;base64,{image}"></p>'
