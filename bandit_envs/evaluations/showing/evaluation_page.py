"""The page of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import Evaluated
from bandit_envs.evaluations.showing.estimate_figures import (
    draw_estimates,
    draw_segments,
    draw_times,
    draw_weights,
    weights_of,
)
from bandit_envs.evaluations.showing.estimate_tables import (
    STUBS,
    Shown,
    estimates_table,
    items_grid,
    title_of_items,
    weights_grid,
)
from bandit_envs.evaluations.showing.headline import name_baseline
from bandit_envs.evaluations.showing.reasons import Reasons
from bandit_envs.showing import plots
from bandit_envs.showing.page import Section, make_page

WEIGHTS_EXPLAINED = (
    "A weight is the policy's probability of a logged action over that of the policy that made the "
    "log. The mean of the weights is near 1 if the propensities are right.",
    "Effective rows are how many rows of equal weight would tell as much. If the log has all "
    "probabilities, they are also shown as expected, whatever actions were drawn. A Pareto k above "
    "0.5 says that the tail of the weights is heavy: a few rows decide if the largest is large. It "
    "is -1 if the weights have no tail, and inf if too few of them are large to tell.",
)

ITEMS_EXPLAINED = (
    "All rows of the log count. The propensity and the reward are means of the rows where the item "
    "was chosen."
)


def page_of(found: Shown, evaluated: Sequence[Evaluated]) -> str:
    """Returns a page with the tables, the charts, the warnings and the notes of an evaluation.

    Args:
        found: the evaluation.
        evaluated: its policies, with their weights.
    """
    weights_section = Section(
        "Weights and overlap",
        WEIGHTS_EXPLAINED,
        chart=lambda: _charts().weights_chart(evaluated),
        picture=lambda: plots.to_image(draw_weights(weights_of(evaluated))),
        table=weights_grid(evaluated),
    )
    sections = [
        estimates_section(found, "Estimates and gains"),
        *_sections_of_segments(found),
        weights_section,
        Section("The log", found.title.splitlines()),
        *_sections_of_items(found),
    ]
    return make_page(f"Policies on {found.log}", [], sections)


def estimates_section(found: Shown, title: str) -> Section:
    """Returns a section of a page with the estimates of all rows, and reasons to distrust them.

    Args:
        found: the evaluation.
        title: of the section.
    """
    reasons = Reasons.of(found.rows, found.segments)
    table = estimates_table(found, reasons)
    return Section(
        title,
        [found.headline()],
        chart=lambda: _charts().estimates_chart(found.rows, found.baseline),
        picture=lambda: plots.to_image(draw_estimates(found.rows, found.baseline)),
        table=table.grid(table.groups[0]),
        texts=len(STUBS),
        notes=[*_explain(found), *found.notes, *reasons.lines()[: len(reasons.of_all)]],
    )


def _sections_of_segments(found: Shown) -> Iterator[Section]:
    """Yields a section with the gains in all segments, and one with the estimates in each."""
    reasons = Reasons.of(found.rows, found.segments)
    table = estimates_table(found, reasons)
    groups = table.groups[1:]
    gains = [(name, row) for name, rows in found.segments.items() for row in rows if row.gain_rows]
    if found.is_over_time and found.segments:
        yield Section(
            "Over time",
            chart=lambda: _charts().times_chart(found.segments, found.baseline),
            picture=lambda: plots.to_image(draw_times(found.segments, found.baseline)),
        )
    elif gains:
        yield Section(
            f"By {found.by}",
            chart=lambda: _charts().segments_chart(gains, found.baseline),
            picture=lambda: plots.to_image(draw_segments(found.segments, found.baseline)),
        )
    elif groups:
        yield Section(f"By {found.by}")
    for group in groups:
        yield Section(group.heading, table=table.grid(group), texts=len(STUBS), level=3)
    others = reasons.lines()[len(reasons.of_all) :]
    if others:
        yield Section("Warnings", others, level=3)


def _sections_of_items(found: Shown) -> Iterator[Section]:
    """Yields a section with the items of the log, if it has some."""
    table = items_grid(found.summary)
    if table:
        yield Section(title_of_items(found.summary), [ITEMS_EXPLAINED], table=table)


def _charts() -> ModuleType:
    """Returns the module that draws charts, which needs Plotly."""
    from bandit_envs.evaluations.showing import estimate_charts  # noqa: PLC0415

    return estimate_charts


def _explain(found: Shown) -> Iterator[str]:
    """Yields what the numbers of the page are."""
    level = f"{100.0 * found.confidence:.4g}%"
    first = f"The first row, {LOGGED}, is the policy that made the log"
    yield f"{first}, whose value is its mean reward. Intervals hold with probability {level} each."
    over = name_baseline(found.baseline)
    gain = f"A gain is how much more a policy would have earned than {over}"
    corrected = "P-values are of a gain of 0, corrected by Holm for the number of comparisons"
    yield f"{gain}, from the same rows. {corrected}."
