"""A study as one page of HTML that needs no server and no network. It is drawn by Bokeh."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.embed import components
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    DataTable,
    HoverTool,
    NumberFormatter,
    Range1d,
    StringFormatter,
    TableColumn,
)
from bokeh.plotting import figure
from bokeh.resources import Resources

from bandit_envs.studies.definition.appearance import plain_text
from bandit_envs.studies.definition.choice import EnvironmentChoice
from bandit_envs.studies.definition.shown import SHOWN, ShownQuantity
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.plots import COLORS, LINES
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing.figures import study_figure
from bandit_envs.studies.showing.page_parts import PAGE, SCRIPT, STYLE
from bandit_envs.studies.showing.shown_environments import choose_environments, describe_choice

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

POINTS = 400
"""A curve has at most about so many points."""

USUAL_CURVES = ("reward", "percent_optimal", "cumulative_regret")
"""What is drawn of a study whose figure shows no curves, as far as it is measured."""

DASHES = dict(zip(LINES, ("solid", "dashed", "dotted", "dashdot")))


def study_page(study: Study, pairs: Sequence[PairResult], note: str = "") -> str:
    """Returns a page with the tables, the curves and the text of a study.

    Args:
        study: the study.
        pairs: what has finished of it.
        note: a line below the summary.
    """
    curves = Curves(study, pairs)
    summary = _summary(study, pairs)
    models = {f"curves-{place}": each for place, each in enumerate(curves.figures)}
    if summary is not None:
        models["summary"] = summary
    script, places = components(models) if models else ("", {})
    resources = Resources(mode="inline", components=["bokeh", "bokeh-widgets", "bokeh-tables"])
    sizes = f"{study.runs} runs of {study.steps} steps, {study.spread}"
    parts = [
        f"<h1>{html.escape(study.title)}</h1>",
        f"<p>{html.escape(sizes)}</p>",
        "<h2>Results</h2>",
        "<p>A click on a heading sorts the table.</p>",
        f'<div class="wide">{places.get("summary", "<p>Nothing has finished.</p>")}</div>',
    ]
    if note:
        parts.append(f"<p>{html.escape(note)}</p>")
    comparison = compare_with_expected(study, pairs)
    if comparison:
        parts += ["<h2>Expected values</h2>", _comparison(comparison)]
    if not study.panels or study.over:
        parts += ["<h2>Figure</h2>", _picture(study, pairs)]
    if curves.figures:
        parts += ["<h2>Curves</h2>", curves.switches()]
        for place, heading in enumerate(curves.headings):
            if heading:
                parts.append(f"<h3>{html.escape(heading)}</h3>")
            parts.append(f'<div class="curves">{places[f"curves-{place}"]}</div>')
    parts += ["<h2>The study</h2>", f"<pre>{html.escape(study_text(study))}</pre>"]
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(study.title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{STYLE}</style>",
        resources.render(),
    ]
    ids = json.dumps(curves.renderers)
    body = "\n".join([*parts, script, f"<script>const renderers = {ids};\n{SCRIPT}</script>"])
    return PAGE.format(head="\n".join(head), body=body)


class Curves:
    """The figures of curves over steps, and what their lines are.

    Args:
        study: the study.
        pairs: what has finished of it.
    """

    def __init__(self, study: Study, pairs: Sequence[PairResult]) -> None:
        self._study = study
        self.figures: list[Any] = []
        self.headings: list[str] = []
        """Above each figure, or "" where the one above goes on."""

        self.renderers: dict[int, list[str]] = {}
        """The ids of the lines and bands of each policy, by its place in the study."""

        self._places = {str(policy): place for place, policy in enumerate(study.policy)}
        found: dict[str, list[PairResult]] = {}
        for pair in pairs:
            found.setdefault(str(pair.environment), []).append(pair)
        panels = [name for name in study.panels if name != "arms"]
        panels = panels or [name for name in USUAL_CURVES if name in study.quantities]
        x_range: Any = None
        for environment in choose_environments(study, pairs):
            own = found.get(str(environment), [])
            for panel in panels if own else []:
                is_first = panel == panels[0]
                self.headings.append(
                    plain_text(study.environment_label(environment)) if is_first else ""
                )
                drawn = self._draw(environment, own, panel, x_range)
                x_range = drawn.x_range
                self.figures.append(drawn)

    def switches(self) -> str:
        """Returns a box to tick for each policy that has curves."""
        boxes = []
        for place, policy in enumerate(self._study.policy):
            if place in self.renderers:
                color, dash = self._style(place)
                sample = f'<i style="border-top: 3px {dash} {color}"></i>'
                label = html.escape(plain_text(self._study.policy_label(policy)))
                box = f'<input type="checkbox" checked data-policy="{place}">'
                boxes.append(f"<label>{box}{sample}{label}</label>")
        note = describe_choice(self._study)
        text = "Point at a line for its values. Drag a box to zoom; the tool Reset shows all again."
        if note:
            text += f" Curves are of {note}; the table has all."
        buttons = '<button id="all">all</button> <button id="none">none</button>'
        return f'<p>{html.escape(text)}</p>\n<p class="switches">{"".join(boxes)}{buttons}</p>'

    def _draw(
        self, environment: EnvironmentChoice, pairs: Sequence[PairResult], panel: str, x_range: Any
    ) -> Any:
        """Returns a figure of the curves of a panel in an environment."""
        study = self._study
        shown = SHOWN[panel]
        drawn = _empty_figure(study, shown, x_range)
        lines = []
        for pair in pairs:
            place = self._places[str(pair.policy)]
            color, dash = self._style(place)
            source = _source(pair, panel, study)
            band = drawn.varea("step", "low", "high", source=source, color=color, alpha=0.2)
            name = plain_text(study.policy_label(pair.policy))
            line = drawn.line(
                "step", "value", source=source, color=color, line_dash=dash, width=1.5, name=name
            )
            lines.append(line)
            self.renderers.setdefault(place, []).extend([line.id, band.id])
        for x, y, source_text in _expected_points(study, environment, panel):
            drawn.scatter([x], [y], marker="x", size=9, color="black", name=source_text)
        values = "@value{0.[000]} (@low{0.[000]} to @high{0.[000]})"
        tips = [("policy", "$name"), ("step", "@step{0,0}"), (shown.axis, values)]
        drawn.add_tools(HoverTool(renderers=lines, tooltips=tips, line_policy="nearest"))
        return drawn

    def _style(self, place: int) -> tuple[str, str]:
        """Returns the colour and the dashes of a policy."""
        color = self._study.colors.get(str(self._study.policy[place]))
        dash = DASHES[LINES[place // len(COLORS) % len(LINES)]]
        return _to_hex(color or COLORS[place % len(COLORS)]), dash


def _empty_figure(study: Study, shown: ShownQuantity, x_range: Any) -> Any:
    """Returns a figure without curves, whose axes are those of a quantity over steps."""
    options: dict[str, Any] = {}
    if x_range is not None:
        options["x_range"] = x_range
    if shown.limits:
        options["y_range"] = Range1d(*shown.limits)
    drawn = figure(
        height=300,
        sizing_mode="stretch_width",
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_drag="box_zoom",
        active_scroll=None,  # the wheel moves the page
        min_border_left=80,
        x_axis_label="Steps",
        y_axis_label=shown.axis,
        x_axis_type="log" if "x" in study.log_axes else "linear",
        y_axis_type="log" if "y" in study.log_axes and not shown.limits else "linear",
        **options,
    )
    drawn.toolbar.autohide = True
    drawn.toolbar.logo = None
    if shown.limits:
        drawn.yaxis.formatter = CustomJSTickFormatter(code="return tick + '%'")
    return drawn


def _to_hex(color: str) -> str:
    """Returns a colour of matplotlib as browsers write it."""
    from matplotlib.colors import to_hex  # noqa: PLC0415

    return str(to_hex(color))


def _source(pair: PairResult, panel: str, study: Study) -> ColumnDataSource:
    """Returns the points of a curve, which are thinned if they are many."""
    band = pair.band(panel, study)
    number = band.shape[1]
    places = np.unique(
        np.r_[: min(number, POINTS // 8), np.linspace(0, number - 1, POINTS)].astype(int)
    )
    step, value, low, high = band[:, places].astype(np.float32)
    return ColumnDataSource({"step": step, "value": value, "low": low, "high": high})


def _expected_points(
    study: Study, environment: EnvironmentChoice, panel: str
) -> list[tuple[float, float, str]]:
    """Returns the expected values of a panel: their steps, values and sources."""
    points = []
    for item in study.expected:
        is_here = item.get("environment", str(environment)) == str(environment)
        if is_here and item["metric"] == panel and "value" in item and "since" not in item:
            points.append((item.get("step", study.steps), item["value"], item["source"]))
    return points


def _summary(study: Study, pairs: Sequence[PairResult]) -> DataTable | None:
    """Returns the table of the last steps; None if nothing has finished."""
    if not pairs:
        return None
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
        value, low, high = np.transpose([pair.last(name, study) for pair in pairs])
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


def _comparison(rows: Sequence[Comparison]) -> str:
    """Returns the table of expected values."""
    headings = "".join(f"<th>{name}</th>" for name in Comparison._fields)
    lines = []
    for row in rows:
        cells = "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    body = "\n".join(lines)
    return f'<div class="wide"><table><tr>{headings}</tr>\n{body}</table></div>'


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


def _picture(study: Study, pairs: Sequence[PairResult]) -> str:
    """Returns the study's figure as an image in the page."""
    image = base64.b64encode(study_figure(study, pairs)).decode()
    return f'<img alt="{html.escape(study.title)}" src="data:image/png;base64,{image}">'
