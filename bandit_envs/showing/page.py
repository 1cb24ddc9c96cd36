"""Pages of HTML that need no server and no network: tables, texts, and charts or pictures.

Charts are drawn by Plotly. Without it, a page has pictures in their place.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from bandit_envs.showing.tables import Grid, html_text, to_html

if TYPE_CHECKING:
    from bandit_envs.showing.charts import Chart

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; }
body {
  font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto;
  max-width: 1100px;
  padding: 0 16px 48px;
}
h1 { margin-bottom: 0; }
h1, h2, h3, p { overflow-wrap: anywhere; }
h3 { font-weight: 600; margin: 24px 0 0; }
img { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; }
td, th { border-bottom: 1px solid #8886; padding: 3px 12px 3px 0; text-align: left; }
td:not(.number), th { max-width: 240px; overflow-wrap: break-word; }
th.number { max-width: 120px; }
.wide { margin: 12px 0; overflow-x: auto; }
.wide img { max-width: max(100%, 700px); }
.chart { margin: 0; min-width: 800px; }
@media (prefers-color-scheme: dark) { .chart, img { filter: invert(1) hue-rotate(180deg); } }
pre { background: #8881; overflow-x: auto; padding: 12px; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
@media (max-width: 600px) { td:not(.number), th { max-width: 120px; } }
@media print {
  .wide { overflow: visible; }
  .chart { zoom: 0.65; }
  pre { white-space: pre-wrap; }
  table, .wide img { max-width: 100%; }
}
"""

HOW = (
    "Charts: point at a line for its values. A click on a name hides or shows its lines in all "
    "panels; a double click hides the others beside it. Drag to zoom; a double click on a panel "
    "shows all."
)


class Section(NamedTuple):
    """A part of a page: lines, a chart and a table below a heading, as far as there are some."""

    title: str
    lines: Iterable[str] = ()

    chart: Callable[[], Chart] | None = None
    """Draws the chart."""

    picture: Callable[[], bytes] | None = None
    """Draws a PNG image, which stands where there is no chart."""

    table: Grid = ()

    texts: int = 1
    """How many columns of the table are of text."""

    notes: Iterable[str] = ()
    """Lines below the table."""

    code: str = ""
    level: int = 2


def has_charts() -> bool:
    """Whether pages have charts, which Plotly draws, of the extra `show`."""
    return find_spec("plotly") is not None


def make_page(title: str, lines: Iterable[str], sections: Iterable[Section]) -> str:
    """Returns a page with a title, lines below it, and sections."""
    parts = [_paragraphs(lines)]
    charts = 0
    for section in sections:
        heading = html_text(section.title)
        parts += [f"<h{section.level}>{heading}</h{section.level}>", _paragraphs(section.lines)]
        if section.chart is not None and has_charts():
            parts += [] if charts else [_paragraphs([HOW])]
            parts.append(_chart(section.title, section.chart(), charts))
            charts += 1
        elif section.picture is not None:
            parts.append(_picture(section.title, section.picture()))
        if section.table:
            parts.append(to_html(section.table, section.texts))
        parts.append(_paragraphs(section.notes))
        if section.code:
            parts.append(f"<pre>{html_text(section.code.expandtabs())}</pre>")
    body = "\n".join(part for part in parts if part)
    return PAGE.format(title=html_text(title), style=STYLE, body=body)


def _paragraphs(lines: Iterable[str]) -> str:
    """Returns a paragraph for each line that is not empty, as HTML."""
    return "\n".join(f"<p>{html_text(line)}</p>" for line in lines if line)


def _chart(text: str, chart: Chart, place: int) -> str:
    """Returns a chart as a part of a page."""
    from bandit_envs.showing.charts import to_html as to_part  # noqa: PLC0415 - needs Plotly

    label = html_text(text)
    shown = to_part(chart, place)
    return f'<div class="wide"><figure class="chart" aria-label="{label}">{shown}</figure></div>'


def _picture(text: str, image: bytes) -> str:
    """Returns a PNG image as a part of a page, with the text that stands for it."""
    encoded = base64.b64encode(image).decode()
    shown = f'<img alt="{html_text(text)}" src="data:image/png;base64,{encoded}">'
    return f'<div class="wide">{shown}</div>'
