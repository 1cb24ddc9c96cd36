"""A study as one page of HTML that needs no server and no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bandit_envs.showing.page import Section, make_page
from bandit_envs.showing.tables import Cell, Grid
from bandit_envs.studies.definition.appearance import plain_text
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing.charts import MOST, study_chart
from bandit_envs.studies.showing.figures import study_figure
from bandit_envs.studies.showing.shown_environments import describe_most_different

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


HOW = (
    "Point at a line for its values. A click on a name hides or shows its lines in all panels; a "
    "double click hides the others beside it. Drag to zoom; a double click on a panel shows all."
)


def study_page(study: Study, pairs: Sequence[PairResult], note: str = "") -> str:
    """Returns a page with the tables, the figure and the text of a study.

    Args:
        study: the study.
        pairs: what has finished of it.
        note: a line below the summary.
    """
    lines = [f"{study.runs} runs of {study.steps} steps, {study.spread}"]
    notes = [] if pairs else ["Nothing has finished."]
    results = Section("Results", table=_summary(study, pairs), texts=2, notes=[*notes, note])
    sections = [results]
    comparison = compare_with_expected(study, pairs)
    if comparison:
        grid = [Comparison._fields, *(list(map(str, row)) for row in comparison)]
        sections.append(Section("Expected values", table=grid, texts=len(Comparison._fields)))
    if pairs and (not study.panels or study.over):
        sections.append(Section("Figure", figure=study_figure(study, pairs)))
    chart = study_chart(study, pairs) if pairs else None
    if chart is not None:
        sections.append(Section("Curves", [HOW, *_chosen(study)], chart=chart))
    sections.append(Section("The study", code=study_text(study)))
    return make_page(study.title, lines, sections)


def _chosen(study: Study) -> Iterator[str]:
    """Yields which environments and policies have curves, if not all have."""
    environments = describe_most_different(study)
    if environments:
        yield f"Curves are of {environments}; the table has all."
    number = len(study.policy)
    if number > MOST:
        yield f"Curves are of the first {MOST} of {number} policies; the table has all."


def _summary(study: Study, pairs: Sequence[PairResult]) -> Grid:
    """Returns the headings, and the last values of each policy in each environment."""
    headings = [each.heading for each in study.summary.values()]
    grid = [["environment", "policy", *headings]]
    for pair in pairs:
        label = plain_text(study.policy_label(pair.policy))
        if pair.runs < study.runs:
            label += f" ({pair.runs} runs so far)"
        cells = [str(cell_of(study, pair, name)) for name in study.summary]
        grid.append([plain_text(study.environment_label(pair.environment)), label, *cells])
    return grid


def cell_of(study: Study, pair: PairResult, name: str) -> Cell:
    """Returns the last value of a quantity, with what it varies by over runs."""
    shown = study.quantities[name]
    value, low, high = pair.last(name, study)
    center, start, end, error = shown.texts(value, low, high, high - value, error=high - value)
    if pair.runs == 1:
        return Cell(center)
    if study.quantiles or shown.quantity.is_probability:
        return Cell(center, ends=(start, end))
    return Cell(center, error)
