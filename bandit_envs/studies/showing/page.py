"""A study as one page of HTML that needs no server and no network. It is drawn by Bokeh."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.document import Document
from bokeh.embed import components
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    DataTable,
    Model,
    NumberFormatter,
    StringFormatter,
    TableColumn,
)
from bokeh.resources import Resources

from bandit_envs.showing.page import heading, join_page, paragraphs, picture
from bandit_envs.showing.tables import to_html
from bandit_envs.studies.definition.appearance import plain_text
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing import page_script
from bandit_envs.studies.showing.figures import study_figure
from bandit_envs.studies.showing.page_curves import Curves
from bandit_envs.studies.showing.tracking import Track, track_nothing

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


def study_page(
    study: Study,
    pairs: Sequence[PairResult],
    note: str = "",
    track: Track = track_nothing,
) -> str:
    """Returns a page with the tables, the curves and the text of a study.

    Args:
        study: the study.
        pairs: what has finished of it.
        note: a line below the summary.
        track: shows how many of the pairs have been read.
    """
    curves = Curves(study, pairs, track)
    summary = _summary(study, pairs, track)
    models = {f"curves-{place}": each for place, each in enumerate(curves.figures)}
    if summary is not None:
        models["summary"] = summary
    script, places = _embed(models)
    resources = Resources(mode="inline", components=["bokeh", "bokeh-widgets", "bokeh-tables"])
    sizes = f"{study.runs} runs of {study.steps} steps, {study.spread}"
    parts = [
        paragraphs([sizes]),
        heading("Results"),
        "<p>A click on a heading sorts the table.</p>",
        f'<div class="wide">{places.get("summary", "<p>Nothing has finished.</p>")}</div>',
    ]
    if note:
        parts.append(paragraphs([note]))
    comparison = compare_with_expected(study, pairs)
    if comparison:
        grid = [Comparison._fields, *(list(map(str, row)) for row in comparison)]
        parts += [heading("Expected values"), to_html(grid, texts=len(Comparison._fields))]
    if not study.panels or study.over:
        parts += [heading("Figure"), picture(study.title, study_figure(study, pairs))]
    if curves.figures:
        parts += [heading("Curves"), curves.switches()]
        for place, text in enumerate(curves.headings):
            if text:
                parts.append(heading(text, 3))
            parts.append(f'<div class="curves">{places[f"curves-{place}"]}</div>')
    parts += [heading("The study"), f"<pre>{html.escape(study_text(study))}</pre>"]
    scripts = [f"<script>{curves.script()}\n{page_script.SCRIPT}</script>", script]
    return join_page(study.title, [*parts, *scripts], page_script.STYLE, resources.render())


def _embed(models: dict[str, Model]) -> tuple[str, dict[str, str]]:
    """Returns the script that shows models of Bokeh, and the places in the page where it does."""
    if not models:
        return "", {}
    document = Document()
    document.js_on_event("document_ready", CustomJS(code="drawCurves()"))
    with document.models.freeze():  # else each root looks at all models again
        for model in models.values():
            document.add_root(model)
    script, places = components(models)
    return script, dict(places)


def _summary(study: Study, pairs: Sequence[PairResult], track: Track) -> DataTable | None:
    """Returns the table of the last steps; None if nothing has finished."""
    if not pairs:
        return None
    last: dict[str, list[tuple[float, float, float]]] = {name: [] for name in study.summary}
    for pair in track("table", pairs):
        for name, found in last.items():
            found.append(pair.last(name, study))
    data: dict[str, Any] = {
        "environment": [plain_text(study.environment_label(pair.environment)) for pair in pairs],
        "policy": [plain_text(study.policy_label(pair.policy)) for pair in pairs],
        "runs": [pair.runs for pair in pairs],
    }
    columns = [
        TableColumn(field=name, title=name, formatter=StringFormatter(), width=400)
        for name in ("environment", "policy")
    ]
    if any(pair.runs < study.runs for pair in pairs):
        columns.append(TableColumn(field="runs", title="runs so far"))
    for name, shown in study.summary.items():
        value, low, high = np.transpose(last[name])
        heading = shown.heading
        decimals = _format_decimals(shown.decimals)
        data[name] = value
        columns.append(TableColumn(field=name, title=heading, formatter=decimals))
        if study.quantiles or shown.quantity.is_probability:
            for end, values in (("low", low), ("high", high)):
                field = f"{name}_{end}"
                title = f"{heading}, {end}"
                data[field] = values
                columns.append(TableColumn(field=field, title=title, formatter=decimals))
        else:
            field = f"{name}_error"
            finer = _format_decimals(shown.decimals + 1)
            data[field] = high - value
            columns.append(TableColumn(field=field, title="±", formatter=finer, width=100))
    if len(study.environment) == 1:
        del columns[0]
    return _table(data, columns)


def _format_decimals(decimals: int) -> NumberFormatter:
    """Returns the format of numbers with so many decimals."""
    return NumberFormatter(format=f"0.{'0' * decimals}", text_align="right")


def _table(data: dict[str, Any], columns: list[TableColumn]) -> DataTable:
    """Returns a table that can be sorted, with a row for each value of its columns."""
    number = len(next(iter(data.values())))
    return DataTable(
        source=ColumnDataSource(data),
        columns=columns,
        height=min(60 + 25 * number, 500),
        min_width=100 * len(columns),
        sizing_mode="stretch_width",
        index_position=None,
        selectable=True,
        sortable=True,
        reorderable=False,
    )
