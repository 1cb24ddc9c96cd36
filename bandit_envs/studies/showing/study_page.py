"""A study as one page of HTML that needs no server and no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.page import Section, has_charts, make_page
from bandit_envs.showing.styles import MOST
from bandit_envs.showing.tables import Grid, p_text
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.results.differences import (
    PairDifference,
    compare_to,
    corrected_p_values,
)
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing.ranked_policies import (
    choose_lines,
    rank_policies,
    ranking_table,
)
from bandit_envs.studies.showing.shown_environments import (
    choose_most_different,
    describe_most_different,
)
from bandit_envs.studies.showing.study_cells import difference_cell, summary_cell
from bandit_envs.studies.showing.study_headline import say_who_leads

if TYPE_CHECKING:
    from bandit_envs.showing.charts import Chart
    from bandit_envs.studies.results.results import PairResult

USUAL_CURVES = ("reward", "percent_optimal", "cumulative_regret", "lost_reward")
"""What is drawn of a study whose figure shows no curves, as far as it is measured."""

RANKED = (
    "In each environment, the policy with the highest mean reward has rank 1. The table has the "
    "mean of the ranks, and the mean rewards."
)

TESTED = (
    "Mean differences ± one standard error over runs. P-values are by the paired t-test, corrected "
    "by Holm for the number of policies in an environment."
)


def study_page(study: Study, pairs: Sequence[PairResult], notes: Sequence[str] = ()) -> str:
    """Returns a page with the tables, the curves and the text of a study.

    Args:
        study: the study.
        pairs: what has finished of it.
        notes: lines below the summary.
    """
    baseline = study.policy[0]
    differences = compare_to(baseline, study, pairs)
    lines = [
        *say_who_leads(study, baseline, differences),
        f"{study.runs} runs of {study.steps} steps, {study.spread}",
    ]
    below = list(notes) if pairs else ["Nothing has finished."]
    ranked = rank_policies(study, pairs) if len(study.policy) > MOST else []
    sections = []
    if ranked:
        sections.append(Section("Ranking", [RANKED], table=ranking_table(study, pairs, ranked)))
    sections.append(Section("Results", table=_summary(study, pairs), texts=2, notes=below))
    sections += _differences(study, baseline, differences)
    comparison = compare_with_expected(study, pairs)
    if comparison:
        grid = [Comparison._fields, *(list(map(str, row)) for row in comparison)]
        sections.append(Section("Expected values", table=grid, texts=len(Comparison._fields)))
    if pairs:
        sections += _drawn(study, pairs)
    sections.append(Section("The study", code=study_text(study)))
    return make_page(study.title, lines, sections)


def _summary(study: Study, pairs: Sequence[PairResult]) -> Grid:
    """Returns the headings, the last values of each policy in each environment, and what failed."""
    headings = [each.heading for each in study.summary.values()]
    grid = [["environment", "policy", *headings]]
    for pair in pairs:
        label = study.policy_label(pair.policy)
        if pair.runs < study.runs:
            label += f" ({pair.runs} runs so far)"
        cells = [str(summary_cell(study, pair, name)) for name in study.summary]
        grid.append([study.environment_label(pair.environment), label, *cells])
    names = RowNames.of(study).policies
    grid += [["", f"{names[text]} (failed)", *("" for _ in headings)] for text in study.failed]
    return grid


def _differences(
    study: Study, baseline: PolicyChoice, found: Sequence[PairDifference]
) -> Iterator[Section]:
    """Yields how the runs of each policy differ from those of the first, with p-values."""
    if not found or not found[0].runs:
        return
    names = list(found[0].runs)
    headings = [text for name in names for text in (study.summary[name].heading, "p")]
    grid = [["environment", "policy", *headings]]
    for difference, p_values in zip(found, corrected_p_values(found)):
        pair = difference.pair
        row = [study.environment_label(pair.environment), study.policy_label(pair.policy)]
        for name in names:
            p_value = p_values[name].t
            statistics = difference.statistics(name)
            cell = difference_cell(statistics, p_value, study.summary[name])
            row += [str(cell), p_text(p_value)]
        grid.append(row)
    title = f"Differences to {study.policy_label(baseline)} on the same problems"
    yield Section(title, table=grid, texts=2, notes=[TESTED])


def _drawn(study: Study, pairs: Sequence[PairResult]) -> Iterator[Section]:
    """Yields the figure that is no chart, and the curves over steps."""
    panels = [name for name in study.panels if name != "arms"]
    has_figure = not study.panels or bool(study.over)
    if has_figure or not (panels and has_charts()):
        from bandit_envs.studies.showing.study_figures import study_figure  # noqa: PLC0415 - imports matplotlib

        yield Section("Figure", picture=lambda: study_figure(study, pairs))
    panels = panels or [name for name in USUAL_CURVES if name in study.quantities]
    if not (panels and has_charts()):
        return
    environments = choose_most_different(study, pairs, panels[0])
    policies, which = choose_lines(study, pairs, {str(each): [each] for each in study.policy}, MOST)
    lines = [describe_most_different(study), f"{which} policies" if which else ""]
    shown = " and ".join(line for line in lines if line)

    def draw() -> Chart:
        from bandit_envs.studies.showing.study_charts import study_chart  # noqa: PLC0415 - needs Plotly

        return study_chart(study, pairs, panels, environments, policies)

    yield Section(
        "Curves", [f"Curves are of {shown}; the table has all."] if shown else [], chart=draw
    )
