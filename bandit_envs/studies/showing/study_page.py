"""A study as one page of HTML that needs no server and no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.page import Section, has_charts, make_page
from bandit_envs.showing.styles import MOST
from bandit_envs.showing.tables import Grid
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing.ranked_policies import rank_policies, ranking_table
from bandit_envs.studies.showing.shown_environments import (
    choose_most_different,
    describe_most_different,
)
from bandit_envs.studies.showing.study_cells import summary_cell
from bandit_envs.studies.showing.study_figures import study_figure

if TYPE_CHECKING:
    from bandit_envs.showing.charts import Chart
    from bandit_envs.studies.results.results import PairResult

USUAL_CURVES = ("reward", "percent_optimal", "cumulative_regret", "lost_reward")
"""What is drawn of a study whose figure shows no curves, as far as it is measured."""

RANKED = (
    "In each environment, the policy with the highest mean reward has rank 1. The table has the "
    "mean of the ranks, and the mean rewards."
)


def study_page(study: Study, pairs: Sequence[PairResult], notes: Sequence[str] = ()) -> str:
    """Returns a page with the tables, the curves and the text of a study.

    Args:
        study: the study.
        pairs: what has finished of it.
        notes: lines below the summary.
    """
    lines = [f"{study.runs} runs of {study.steps} steps, {study.spread}"]
    below = list(notes) if pairs else ["Nothing has finished."]
    ranked = rank_policies(study, pairs) if len(study.policy) > MOST else []
    sections = []
    if ranked:
        sections.append(Section("Ranking", [RANKED], table=ranking_table(study, pairs, ranked)))
    sections.append(Section("Results", table=_summary(study, pairs), texts=2, notes=below))
    comparison = compare_with_expected(study, pairs)
    if comparison:
        grid = [Comparison._fields, *(list(map(str, row)) for row in comparison)]
        sections.append(Section("Expected values", table=grid, texts=len(Comparison._fields)))
    if pairs:
        sections += _drawn(study, pairs, [each.policy for each in ranked if each.ranks])
    sections.append(Section("The study", code=study_text(study)))
    return make_page(study.title, lines, sections)


def _summary(study: Study, pairs: Sequence[PairResult]) -> Grid:
    """Returns the headings, and the last values of each policy in each environment."""
    headings = [each.heading for each in study.summary.values()]
    grid = [["environment", "policy", *headings]]
    for pair in pairs:
        label = study.policy_label(pair.policy)
        if pair.runs < study.runs:
            label += f" ({pair.runs} runs so far)"
        cells = [str(summary_cell(study, pair, name)) for name in study.summary]
        grid.append([study.environment_label(pair.environment), label, *cells])
    return grid


def _drawn(
    study: Study, pairs: Sequence[PairResult], best: Sequence[PolicyChoice]
) -> Iterator[Section]:
    """Yields the figure that is no chart, and the curves over steps.

    Args:
        study: the study.
        pairs: what has finished of it.
        best: policies that are drawn where not all can be, the best first; none to take the first.
    """
    panels = [name for name in study.panels if name != "arms"]
    has_figure = not study.panels or bool(study.over)
    if has_figure or not (panels and has_charts()):
        yield Section("Figure", picture=lambda: study_figure(study, pairs))
    panels = panels or [name for name in USUAL_CURVES if name in study.quantities]
    if not (panels and has_charts()):
        return
    environments = choose_most_different(study, pairs, panels[0])
    lines = [describe_most_different(study)]
    measured = {str(pair.policy) for pair in pairs}
    policies = best or [each for each in study.policy if str(each) in measured]
    if len(policies) > MOST:
        which = "best" if best else "first"
        lines.append(f"the {MOST} {which} of {len(study.policy)} policies")
        policies = policies[:MOST]
    shown = " and ".join(line for line in lines if line)

    def draw() -> Chart:
        from bandit_envs.studies.showing.study_charts import study_chart  # noqa: PLC0415 - needs Plotly

        return study_chart(study, pairs, panels, environments, policies)

    yield Section(
        "Curves", [f"Curves are of {shown}; the table has all."] if shown else [], chart=draw
    )
