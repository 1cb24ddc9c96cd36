"""The curves of a study as a chart of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.colors import to_hex
from plotly.graph_objects import Figure

from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.showing.charts import Line, Panel, draw_panels
from bandit_envs.studies.definition.appearance import plain_text
from bandit_envs.studies.definition.shown import SHOWN
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.showing.shown_environments import choose_most_different

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

MOST = 32
"""So many lines can be told apart: a chart has those of at most so many policies."""

USUAL_CURVES = ("reward", "percent_optimal", "cumulative_regret")
"""What is drawn of a study whose figure shows no curves, as far as it is measured."""


def study_chart(study: Study, pairs: Sequence[PairResult]) -> Figure | None:
    """Returns a chart with a row for each environment; None if nothing varies over steps."""
    panels = [name for name in study.panels if name != "arms"]
    panels = panels or [name for name in USUAL_CURVES if name in study.quantities]
    if not panels:
        return None
    places = {str(policy): place for place, policy in enumerate(study.policy[:MOST])}
    rows = []
    titles = []
    for environment in choose_most_different(study, pairs, panels[0]):
        own = [pair for pair in pairs if str(pair.environment) == str(environment)]
        own = [pair for pair in own if str(pair.policy) in places]
        if own:
            titles.append(plain_text(study.environment_label(environment)))
            rows.append([_panel(study, environment, own, name, places) for name in panels])
    return draw_panels(rows, titles, "Steps", study.log_axes)


def _panel(
    study: Study,
    environment: EnvironmentChoice,
    pairs: Sequence[PairResult],
    name: str,
    places: dict[str, int],
) -> Panel:
    """Returns the curves of a quantity in an environment, with expected values."""
    lines = []
    for pair in pairs:
        policy = str(pair.policy)
        color = study.colors.get(policy, "")
        label = plain_text(study.policy_label(pair.policy))
        band = pair.band(name, study)
        lines.append(Line(label, band, places[policy], to_hex(color) if color else ""))
    marks = [
        (item.get("step", study.steps), item["value"], item["source"])
        for item in study.expected
        if item.get("environment", str(environment)) == str(environment)
        and item["metric"] == name
        and "value" in item
        and "since" not in item
    ]
    shown = SHOWN[name]
    return Panel(shown.axis, lines, shown.limits, marks)
