"""Further rewards of decisions by name, such as costs: what a report tells of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from bandit_envs.serving.reports.summing import RewardRows, divide


class MeasureReport(NamedTuple):
    """A further reward by name. It decides nothing.

    Fields:
        name: of the reward.
        decisions: for each action, how many have one.
        means: for each action, the mean over these; NaN if there are none.
        number: how many decisions have one, of all actions.
        mean: over these.
    """

    name: str
    decisions: list[int]
    means: list[float]
    number: int
    mean: float


def report_measure(name: str, batches: Iterable[RewardRows], number: int) -> MeasureReport:
    """Returns what the rewards of a name tell.

    Args:
        name: of the rewards.
        batches: the rewards, whose `actions` are those of the report.
        number: of the actions of the report.
    """
    counts = np.zeros(number)
    totals = np.zeros(number)
    for rows in batches:
        counts += np.bincount(rows.actions, minlength=number)
        totals += np.bincount(rows.actions, rows.rewards, number)
    return MeasureReport(
        name=name,
        decisions=counts.astype(int).tolist(),
        means=[divide(total, count) for total, count in zip(totals, counts)],
        number=int(counts.sum()),
        mean=divide(totals.sum(), counts.sum()),
    )


def measures_table(
    noun: str, labels: Iterable[str], measures: list[MeasureReport], show: Callable[[str], str]
) -> Iterator[list[str]]:
    """Yields the headings, a row for each action, and one for all.

    Args:
        noun: what an action is called, such as item.
        labels: of the actions.
        measures: what the report tells of each further reward.
        show: makes a user's text safe for a table.
    """
    headings = [noun]
    for each in measures:
        headings += [f"mean {show(each.name)}", "decisions"]
    yield headings
    for place, label in enumerate(labels):
        yield _cells(label, [(each.means[place], each.decisions[place]) for each in measures])
    yield _cells("all", [(each.mean, each.number) for each in measures])


def _cells(label: str, known: Iterable[tuple[float, int]]) -> list[str]:
    """Returns a row of the table, from the mean and the number of each reward."""
    cells = [label]
    for mean, count in known:
        cells += [f"{mean:.4f}" if count else "", f"{count:,}"]
    return cells
