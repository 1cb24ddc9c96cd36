"""What a test of variants reports: who won, when, and by how much."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandit_envs.base.saving import atomic_write
from bandit_envs.names.visible import visible
from bandit_envs.policies.best_arm.best_arm_report import BestArmReport
from bandit_envs.showing.page import Section, make_page
from bandit_envs.showing.tables import Grid, interval_text, to_text

FALSE_ALARM = 0.01
"""With at most this probability, a report says that users are not split as they should be."""


class DifferenceRow(NamedTuple):
    """The difference of two variants, as the mean over users who could see both.

    Fields:
        metric: the reward.
        first: a variant.
        second: another.
        difference: mean of the first less that of the second; NaN if no user could see both.
        low: the lower end of its interval.
        high: the upper end.
        users: of both, while both were open.
    """

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    users: int


class PeriodRow(NamedTuple):
    """How many users saw each variant in a day, or another period.

    Fields:
        period: names it.
        users: of each variant; -1 if it was not open.
    """

    period: str
    users: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class SplitReport(BestArmReport):
    """What a test of variants has found, with intervals of differences that hold at every look.

    Means are over all users of a variant. Variants that were open on other days had other users, so
    compare them by `differences`, which are within the periods that both share.
    """

    delta: float  #: the probability of a wrong answer
    tolerance: float  #: by how much the answer may be worse than the best
    threshold: str  #: "practical" or "proven"
    differences: tuple[DifferenceRow, ...]  #: of pairs of variants
    metrics: tuple[str, ...] = ("reward",)  #: the reward that decides, and others that do not
    other_means: tuple[tuple[float, ...], ...] = ()  #: of the other rewards, for each variant
    stopped_at: str | None = None  #: the period at whose end it stopped, if there are periods
    periods: tuple[PeriodRow, ...] = ()  #: the daily sizes
    open: tuple[bool, ...] = ()  #: whether each variant is open at the end
    log_split: float = 0.0  #: ln E that users are not split in the shares
    expected_users: tuple[float, ...] = ()  #: of each variant, if the split were exact; of tables
    notes: tuple[str, ...] = ()  #: what the numbers assume, and what speaks against them

    @property
    def winner(self) -> str | None:
        """The name of the best variant; None if the test has not stopped."""
        return self.names[self.recommended] if self.has_stopped else None

    @property
    def is_split_wrong(self) -> bool:
        """Whether the numbers of users contradict the shares; wrong in 1% of tests at most."""
        return self.log_split > -math.log(FALSE_ALARM)

    def __str__(self) -> str:
        parts = ["\n".join(self.summary()), to_text(self.variants_table())]
        parts += [f"{self.differences_title()}\n{to_text(self.differences_table(), texts=2)}"]
        parts += ["\n".join([*self.explain(), self.split_line(), *self.notes])]
        return "\n\n".join(parts)

    def headline(self) -> str:
        """Returns who won and when, in one line."""
        name = visible(self.names[self.recommended])
        users = f"{self.steps:,} user" if self.steps == 1 else f"{self.steps:,} users"
        if not self.has_stopped:
            return f"not stopped after {users}; best so far: {name}"
        when = f"after {users}" if self.stopped_at is None else f"at the end of {self.stopped_at}"
        near = f", or at most {self.tolerance:g} worse than the best" if self.tolerance else ""
        return f"stopped {when}; best: {name}{near}"

    def summary(self) -> list[str]:
        """Returns who won and when, and by how much if somebody has won."""
        winner = self.winner
        is_open = dict(zip(self.names, self.open or (True,) * len(self.names)))
        rows = [
            row
            for row in self.differences
            if row.metric == self.metrics[0] and row.first == winner and is_open[row.second]
        ]
        known = [row for row in rows if np.isfinite(row.low)]
        if not known:
            return [self.headline()]
        nearest = min(known, key=lambda row: row.difference)
        interval = interval_text(f"{nearest.low:+.4f}", f"{nearest.high:+.4f}")
        pair = f"{visible(nearest.first)} - {visible(nearest.second)}"
        which = "" if len(known) == 1 else ", the smallest difference"
        numbers = f"{nearest.difference:+.4f}, interval {interval}"
        return [self.headline(), f"{visible(nearest.metric)} of {pair}{which}: {numbers}"]

    def variants_table(self) -> Grid:
        """Returns the headings, and a row for each variant."""
        rows = [["variant", "users", *(f"mean {visible(metric)}" for metric in self.metrics)]]
        for place, name in enumerate(self.names):
            is_open = not self.open or self.open[place]
            label = visible(name) if is_open else f"{visible(name)} (closed)"
            means = [self.means[place], *(table[place] for table in self.other_means)]
            seen = self.counts[place] > 0
            texts = [f"{mean:.4f}" if seen and mean == mean else "" for mean in means]
            rows.append([label, f"{self.counts[place]:,.0f}", *texts])
        return rows

    def differences_title(self) -> str:
        """Returns what the table of differences has."""
        share = f"{100.0 * self.confidence:.6g}%"
        return (
            f"Differences, with {share} intervals for all pairs of a reward and all looks at once"
        )

    def differences_table(self) -> Grid:
        """Returns the headings, and a row for each pair and reward."""
        rows = [["reward", "variants", "difference", "interval", "users"]]
        for row in self.differences:
            pair = f"{visible(row.first)} - {visible(row.second)}"
            if np.isfinite(row.low):
                interval = interval_text(f"{row.low:+.4f}", f"{row.high:+.4f}")
                texts = [f"{row.difference:+.4f}", interval, f"{row.users:,}"]
            elif row.users:
                texts = [f"{row.difference:+.4f}", "", f"{row.users:,}"]
            else:
                texts = ["", "no period with users of both", "0"]
            rows.append([visible(row.metric), pair, *texts])
        return rows

    def periods_table(self) -> Grid:
        """Returns the headings, and a row for each day or other period."""
        rows = [["period", *map(visible, self.names)]]
        for row in self.periods:
            rows.append([row.period, *("" if each < 0 else f"{each:,}" for each in row.users)])
        return rows

    def split_line(self) -> str:
        """Returns what the check of the split has found."""
        if self.is_split_wrong:
            odds = np.exp(min(self.log_split, 700.0))
            problem = f"Users are NOT split in the shares: {odds:.3g} to 1 against them"
            return f"{problem}{self._furthest()}. Find out why before you believe the rest."
        return "Split: the numbers of users fit the shares."

    def _furthest(self) -> str:
        """Returns which variant's number of users fits its share worst, if it is known."""
        if not self.expected_users:
            return ""
        expected = np.array(self.expected_users)
        place = int((np.abs(self.counts - expected) / np.sqrt(expected)).argmax())
        numbers = f"{self.counts[place]:,.0f} in place of {expected[place]:,.0f}"
        return f", most of all {visible(self.names[place])} with {numbers}"

    def explain(self) -> Iterator[str]:
        """Yields what the numbers are."""
        kind = "in theory" if self.threshold == "proven" else "for many users"
        yield f"Numbers are of all {self.steps:,} users of the test."
        yield f"The winner is wrong in at most {100.0 * self.delta:.4g}% of tests, {kind}."
        yield "Differences compare users of the same periods; means do not."
        if self.has_stopped:
            yield "At a stop, differences of the winner are somewhat too large on average."
            yield "Their intervals hold. They cover both directions of all pairs."
            yield "A stop needs less, so one of them may contain 0."

    def sections(self) -> list[Section]:
        """Returns the parts of a page that shows the report."""
        sentences = [" ".join(self.explain()), self.split_line(), *self.notes]
        found = [
            Section("Variants", table=self.variants_table()),
            Section(
                self.differences_title(),
                table=self.differences_table(),
                texts=2,
                notes=sentences,
            ),
        ]
        if self.periods:
            found.append(Section("Users by period", table=self.periods_table()))
        return found

    def write_page(self, file: str | os.PathLike[str]) -> None:
        """Writes the report as a page of HTML."""
        page = make_page("Test of variants", self.summary(), self.sections())
        atomic_write(Path(file), [page.encode()])
