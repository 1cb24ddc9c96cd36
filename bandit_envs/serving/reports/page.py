"""A page of HTML of tables, texts and figures that needs no server and no network."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from bandit_envs.studies.plots import to_image
from bandit_envs.studies.showing.page_parts import PAGE, STYLE, picture

NUMBERS = "td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }"


class Section(NamedTuple):
    """A part of a page: its table with the headings first, lines below it, and a figure."""

    title: str
    table: Sequence[Sequence[str]]
    lines: Iterable[str]
    figure: Figure | None = None


def make_page(title: str, lines: Iterable[str], sections: Iterable[Section]) -> str:
    """Returns a page with a title, lines below it, and sections."""
    parts = [f"<h1>{html.escape(title)}</h1>", *map(_paragraph, lines)]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        if section.figure is not None:
            parts.append(picture(section.title, to_image(section.figure)))
        parts.append(_table(section.table))
        parts += map(_paragraph, section.lines)
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{STYLE}{NUMBERS}</style>",
    ]
    return PAGE.format(head="\n".join(head), body="\n".join(parts))


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
