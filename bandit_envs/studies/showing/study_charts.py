"""The curves of a study as a chart of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.colors import to_hex

from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import QUANTITIES
from bandit_envs.showing.charts import Chart, Curve, Facet, Panel, Scale, draw_panels
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.expected import expected_of

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


def study_chart(
    study: Study,
    pairs: Sequence[PairResult],
    panels: Sequence[str],
    environments: Sequence[EnvironmentChoice],
    policies: Sequence[str],
) -> Chart:
    """Returns a chart with panels for each environment.

    Args:
        study: the study.
        pairs: what has finished of it.
        panels: the quantities that are drawn over steps.
        environments: those that are drawn, if they have results.
        policies: the names of those that are drawn, each in the style of its place.
    """
    places = {policy: place for place, policy in enumerate(policies)}
    facets = []
    for environment in environments:
        own = [pair for pair in pairs if str(pair.environment) == str(environment)]
        own = [pair for pair in own if str(pair.policy) in places]
        own.sort(key=lambda pair: places[str(pair.policy)])
        if own:
            shown = [_panel(study, environment, own, name, places) for name in panels]
            facets.append(Facet(study.environment_label(environment), shown))
    return draw_panels(facets, Scale("Steps", study.log_axes))


def _panel(
    study: Study,
    environment: EnvironmentChoice,
    pairs: Sequence[PairResult],
    name: str,
    places: dict[str, int],
) -> Panel:
    """Returns the curves of a quantity in an environment, with expected values."""
    curves = []
    for pair in pairs:
        policy = str(pair.policy)
        color = study.colors.get(policy, "")
        label = study.policy_label(pair.policy)
        band = pair.band(name, study)
        curves.append(Curve(label, band, places[policy], to_hex(color) if color else ""))
    marks = [
        (item.get("step", study.steps), item["value"], item["source"])
        for item in expected_of(study)
        if item.get("environment", str(environment)) == str(environment)
        and item["metric"] == name
        and "value" in item
        and "since" not in item
    ]
    quantity = QUANTITIES[name]
    return Panel(quantity.axis, curves, quantity.limits, marks)
