"""The curves of a page: figures of Bokeh, and the numbers that the page's script draws."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    HoverTool,
    Range1d,
)
from bokeh.plotting import figure
from numpy.typing import NDArray

from bandit_envs.showing.plots import COLORS, LINES
from bandit_envs.studies.definition.appearance import plain_text
from bandit_envs.studies.definition.choice import EnvironmentChoice
from bandit_envs.studies.definition.shown import SHOWN, ShownQuantity
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.showing.shown_environments import (
    choose_most_different,
    describe_most_different,
)
from bandit_envs.studies.showing.shown_policies import (
    ALL_AT_FIRST,
    AT_FIRST,
    MOST,
    describe_policies,
    rank_policies,
)
from bandit_envs.studies.showing.tracking import Track

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

POINTS = 400
"""A curve has at most about so many points."""

FEWEST_POINTS = 40
"""A curve has at least so many points, however many there are."""

ALL_POINTS = 120_000
"""All curves of a page together have at most about so many points, of 16 bytes each."""

USUAL_CURVES = ("reward", "percent_optimal", "cumulative_regret")
"""What is drawn of a study whose figure shows no curves, as far as it is measured."""

DASHES = dict(zip(LINES, ("solid", "dashed", "dotted", "dashdot")))

STEP = "return value[special_vars.segment_index].toLocaleString('en-US')"
VALUE = "return String(Math.round(1000 * value[special_vars.segment_index]) / 1000)"
"""What the hover tool writes of a point of a line."""


class Style(NamedTuple):
    """How the lines of a policy look, and what they are called."""

    name: str
    color: str
    dash: str


class Curves:
    """The figures of curves over steps, and what their lines are.

    Args:
        study: the study.
        pairs: what has finished of it.
        track: shows how many of the pairs have been read.
    """

    def __init__(self, study: Study, pairs: Sequence[PairResult], track: Track) -> None:
        self._study = study
        self.figures: list[Any] = []
        self.headings: list[str] = []
        """Above each figure, or "" where the one above goes on."""

        self._lines: list[dict[str, Any]] = []
        """The lines of each figure, as JSON can hold them."""

        panels = [name for name in study.panels if name != "arms"]
        panels = panels or [name for name in USUAL_CURVES if name in study.quantities]
        self._styles: dict[str, Style] = {}
        self._at_first: set[str] = set()
        if panels:
            self._draw_all(panels, pairs, track)

    def _draw_all(self, panels: Sequence[str], pairs: Sequence[PairResult], track: Track) -> None:
        """Draws the figures of some panels in the chosen environments."""
        study = self._study
        environments = choose_most_different(study, track("environments", pairs), panels[0])
        rows: dict[str, list[PairResult]] = {str(environment): [] for environment in environments}
        for pair in pairs:
            rows.get(str(pair.environment), []).append(pair)
        self._choose_policies([pair for row in rows.values() for pair in row])
        own = [[pair for pair in row if str(pair.policy) in self._styles] for row in rows.values()]
        number = len(panels) * sum(map(len, own))
        self._points = min(POINTS, max(FEWEST_POINTS, ALL_POINTS // max(number, 1)))
        x_range: Any = None
        for environment, row in zip(environments, own):
            if row:
                label = plain_text(study.environment_label(environment))
                self.headings += [label, *[""] * (len(panels) - 1)]
                bands = self._bands(panels, track(label, row))
                for panel in panels:
                    drawn = self._draw(environment, row, panel, bands[panel], x_range)
                    x_range = drawn.x_range
                    self.figures.append(drawn)

    def _choose_policies(self, pairs: Sequence[PairResult]) -> None:
        """Chooses the policies that have curves, and those that are drawn at first."""
        study = self._study
        if len(study.policy) <= ALL_AT_FIRST:
            ranked = list(study.policy)
            self._at_first = set(map(str, ranked))
        else:
            ranked = rank_policies(study, pairs)
            self._at_first = set(map(str, ranked[:AT_FIRST]))
        chosen = set(map(str, ranked[:MOST]))
        policies = [policy for policy in study.policy if str(policy) in chosen]
        for place, policy in enumerate(policies):
            color = study.colors.get(str(policy)) or COLORS[place % len(COLORS)]
            dash = DASHES[LINES[place // len(COLORS) % len(LINES)]]
            name = plain_text(study.policy_label(policy))
            self._styles[str(policy)] = Style(name, _to_hex(color), dash)

    def _bands(
        self, panels: Sequence[str], pairs: Iterable[PairResult]
    ) -> dict[str, list[NDArray[np.float32]]]:
        """Returns the points of the curves of each panel."""
        found: dict[str, list[NDArray[np.float32]]] = {panel: [] for panel in panels}
        for pair in pairs:
            for panel in panels:
                band = pair.band(panel, self._study)
                found[panel].append(band[:, self._places(band.shape[1])].astype(np.float32))
        return found

    def _places(self, number: int) -> NDArray[np.int64]:
        """Returns which of a number of points are drawn, closer at first."""
        first = np.arange(min(number, self._points // 8))
        spread = np.linspace(0, number - 1, self._points).astype(np.int64)
        return np.union1d(first, spread)

    def script(self) -> str:
        """Returns the line of a script that declares all lines, and the styles of policies."""
        styles = [style._asdict() for style in self._styles.values()]
        text = json.dumps({"figures": self._lines, "styles": styles})
        return f"const curves = {text.replace('<', chr(92) + 'u003c')};"

    def switches(self) -> str:
        """Returns a box to tick for each policy that has curves."""
        boxes = []
        drawn = {place for lines in self._lines for place in lines["policies"]}
        for place, (policy, style) in enumerate(self._styles.items()):
            if place in drawn:
                sample = f'<i style="border-top: 3px {_css(style.dash)} {style.color}"></i>'
                ticked = "checked " if policy in self._at_first else ""
                box = f'<input type="checkbox" autocomplete="off" {ticked}data-policy="{place}">'
                boxes.append(f"<label>{box}{sample}{html.escape(style.name)}</label>")
        notes = ["Point at a line for its values.", "Drag a box to zoom; the tool Reset shows all."]
        environments = describe_most_different(self._study)
        if environments:
            notes.append(f"Curves are of {environments}; the table has all.")
        policies = describe_policies(self._study)
        if policies:
            notes.append(policies)
        buttons = '<button id="all">all</button> <button id="none">none</button>'
        text = html.escape(" ".join(notes))
        return f'<p>{text}</p>\n<p class="switches">{"".join(boxes)}{buttons}</p>'

    def _draw(
        self,
        environment: EnvironmentChoice,
        pairs: Sequence[PairResult],
        panel: str,
        bands: Sequence[NDArray[np.float32]],
        x_range: Any,
    ) -> Any:
        """Returns a figure of the curves of a panel in an environment."""
        study = self._study
        shown = SHOWN[panel]
        values = np.stack([band[1:] for band in bands])
        if "y" in study.log_axes and not shown.limits:
            values[:, 1] = _above_zero(values[:, 1])
        source = _first_source(bands[0][0], values)
        drawn = _empty_figure(study, shown, x_range)
        drawn.patches(
            "band_x", "band_y", source=source, fill_color="color", fill_alpha=0.2, line_width=0
        )
        lines = drawn.multi_line(
            "xs", "ys", source=source, color="color", line_dash="dash", line_width=1.5
        )
        for x, y, source_text in _expected_points(study, environment, panel):
            drawn.scatter([x], [y], marker="x", size=9, color="black", name=source_text)
        places = {policy: place for place, policy in enumerate(self._styles)}
        self._lines.append(
            {
                "source": source.id,
                "policies": [places[str(pair.policy)] for pair in pairs],
                "steps": _encode(bands[0][0]),
                "values": _encode(values),
            }
        )
        drawn.add_tools(_hover(lines, shown.axis))
        return drawn


def _hover(lines: Any, axis: str) -> HoverTool:
    """Returns the tool that shows the policy and the values of the nearest point of a line."""
    tips = [
        ("policy", "@name"),
        ("step", "@xs{custom}"),
        (axis, "@ys{custom} (@low{custom} to @high{custom})"),
    ]
    formatters = {"@xs": CustomJSHover(code=STEP)}
    for name in ("@ys", "@low", "@high"):
        formatters[name] = CustomJSHover(code=VALUE)
    return HoverTool(renderers=[lines], tooltips=tips, formatters=formatters, line_policy="nearest")


def _css(dash: str) -> str:
    """Returns the border of CSS that is nearest to a dash of Bokeh."""
    return "dashed" if dash == "dashdot" else dash


def _encode(values: NDArray[np.float32]) -> str:
    """Returns numbers as text that the page's script decodes."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _above_zero(low: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the lower ends of bands, which a logarithmic axis shows if they are above 0."""
    positive = low[low > 0.0]
    smallest = positive.min() if positive.size else np.float32(1.0)
    return np.where(low > 0.0, low, smallest)


def _first_source(steps: NDArray[np.float32], values: NDArray[np.float32]) -> ColumnDataSource:
    """Returns a source with a row for each line, before the page's script has drawn the lines.

    It has one row, from which Bokeh takes the ranges of the axes.
    """
    x = [float(steps[0]), float(steps[-1])]
    known = values[np.isfinite(values)]
    y = [float(known.min()), float(known.max())] if known.size else [0.0, 1.0]
    columns = {"xs": x, "ys": y, "low": y, "high": y, "band_x": x, "band_y": y}
    texts = {"name": "", "color": "white", "dash": "solid"}
    return ColumnDataSource({name: [each] for name, each in {**columns, **texts}.items()})


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
