"""What a file of decisions tells."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.names.visible import visible, visible_lines
from bandit_envs.policies.split_tests import SplitReport
from bandit_envs.serving.reports.periods import to_utc
from bandit_envs.serving.reports.report_rows import (
    ActionReport,
    MeasureReport,
    OverTime,
    PeriodReport,
    PolicyReport,
)
from bandit_envs.showing.merged_texts import merge_texts
from bandit_envs.showing.page import Section, make_page
from bandit_envs.showing.tables import Grid, interval_text, to_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bandit_envs.evaluations import Evaluation
    from bandit_envs.showing.charts import Chart

MAX_SHOWN = 8
"""Over time, at most so many actions are shown; `ServiceReport.periods` has all."""


AGES = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
"""Units of durations, in seconds."""


@dataclasses.dataclass(frozen=True)
class ServiceReport:
    """What a file of decisions told at a time; `read_report` returns one.

    `print` shows it as a text, `write_page` writes it as a page, and `plot` draws it.

    Args:
        name: of the file.
        policies: that have been at work, the last of which is still: what each has earned.
        time: of the report, in seconds since 1970.
        decisions: all of them, the users.
        rewards: that came in time, or that a timeout counted.
        timeouts: decisions that wait no more.
        pending: decisions that wait for a reward.
        oldest: for how many seconds the oldest of them has waited.
        median_age: of those that wait; NaN if there are none.
        mean_reward: of all rewards.
        certain: decisions of probability 1, though there were other actions.
        smallest_probability: of a decision.
        has_contexts: whether a value is a mean of weighted rewards.
        period: how long a period is, as "day".
        actions: what is known of each in the end.
        periods: what happened in each.
        notes: sentences about what is wrong, or may be.
        reward_range: of all rewards, for intervals; None if it is not known.
        confidence: with which an interval holds at all times.
        evaluation: of other policies; None if there are none.
        num_items: how many items were offered, of which `actions` are those that were chosen most
            often; None for fixed actions.
        test: of variants, as the policy knows it; None if the policy is no `SplitTestPolicy`.
        measures: further rewards by name, such as costs.
        after_stop: of the certain decisions, those after the stop of a test, whose winner alone is
            served.
    """

    name: str
    policies: list[PolicyReport]
    time: float
    decisions: int
    rewards: int
    timeouts: int
    pending: int
    oldest: float
    median_age: float
    mean_reward: float
    certain: int
    smallest_probability: float
    has_contexts: bool
    period: str
    actions: list[ActionReport]
    periods: list[PeriodReport]
    notes: list[str]
    reward_range: tuple[float, float] | None = None
    confidence: float = 0.95
    evaluation: Evaluation | None = None
    num_items: int | None = None
    test: SplitReport | None = None
    measures: list[MeasureReport] = dataclasses.field(default_factory=list)
    after_stop: int = 0

    @property
    def noun(self) -> str:
        """What is chosen, in headings."""
        return "action" if self.num_items is None else "item"

    def __repr__(self) -> str:
        sizes = f"decisions={self.decisions}, rewards={self.rewards}, pending={self.pending}"
        return f"ServiceReport({self.name!r}, {sizes})"

    def __str__(self) -> str:
        parts = [
            "\n".join(self.summary()),
            "" if self.test is None else str(self.test),
            to_text(self.actions_table()),
            *(f"{title}\n{to_text(table)}" for title, table in self._further_tables()),
            f"{self.periods_title()}\n{to_text(self.periods_table())}",
            "\n".join([*self.explain(), *self.notes]),
        ]
        if self.evaluation is not None:
            parts.append(self.evaluation.headline())
            parts.append(to_text(_estimates(self.evaluation), texts=2))
            parts.append("\n".join(notes_of(self.evaluation)))
        return visible_lines("\n\n".join(part for part in parts if part))

    def summary(self) -> Iterator[str]:
        """Yields lines about the whole file."""
        yield f"{self.name} at {to_utc(self.time):%Y-%m-%d %H:%M:%S} UTC"
        for number, policy in enumerate(self.policies, 1):
            since = "at first" if number == 1 else f"since {to_utc(policy.start):%Y-%m-%d %H:%M:%S}"
            which = f"Policy {number}" if len(self.policies) > 1 else "Policy"
            yield f"{which} {since}: {policy.policy}"
        mean = f", mean {self.mean_reward:.4g}" if self.rewards else ""
        yield f"{count(self.decisions, 'decision')}, {count(self.rewards, 'reward')}{mean}"
        ages = f" for {format_age(self.oldest)}" if self.pending == 1 else ""
        if self.pending > 1:
            median = f"half of them for at least {format_age(self.median_age)}"
            ages = f": {median}, the oldest for {format_age(self.oldest)}"
        yield f"{count(self.pending, 'decision')} waiting for a reward{ages}"
        if self.timeouts:
            yield f"{count(self.timeouts, 'decision')} without a reward before the timeout"
        if self.decisions:
            certain = f"{self.certain / self.decisions:.1%} of the decisions were certain"
            if self.after_stop:
                certain += f" ({count(self.after_stop, 'decision')} after the stop of the test)"
            smallest = f"the smallest probability of a decision was {self.smallest_probability:.3g}"
            yield f"{certain}; {smallest}"

    def actions_table(self) -> list[list[str]]:
        """Returns the headings, and a row for each action."""
        headings = [self.noun, "decisions", "share", "rewards", "value", "interval", "weight", "±"]
        return [headings, *map(_action_cells, self.actions)]

    def _further_tables(self) -> Iterator[tuple[str, Grid]]:
        """Yields the tables that not every report has, with their titles."""
        if self.measures:
            title = "Further rewards: means of the decisions that have one, without weights"
            yield title, self.measures_table()
        if len(self.policies) > 1:
            yield "Policies", self.policies_table()
            title = f"By {self.period}: decisions and mean reward of each policy"
            yield title, self.policy_periods_table()

    def measures_table(self) -> Grid:
        """Returns the headings, a row for each action and one for all."""
        rows = [[self.noun], *([row.label] for row in self.actions), ["all"]]
        for each in self.measures:
            rows[0] += [f"mean {visible(each.name)}", "decisions"]
            means = [*each.means, each.mean]
            for row, mean, number in zip(rows[1:], means, [*each.decisions, each.number]):
                row += [_mean_text(mean, number), f"{number:,}"]
        return rows

    def policies_table(self) -> list[list[str]]:
        """Returns the headings, and a row for each policy."""
        headings = ["policy", "since (UTC)", "decisions", "rewards", "mean reward"]
        return [headings, *(_policy_cells(*each) for each in enumerate(self.policies, 1))]

    def policy_periods_table(self) -> list[list[str]]:
        """Returns the headings, and a row for each period, of the last policies."""
        shown = [*enumerate(self.policies, 1)][-MAX_SHOWN:]
        headings = ["start (UTC)"]
        for number, _ in shown:
            headings += [f"{number}: decisions", f"{number}: mean reward"]
        rows = [headings]
        for place, period in enumerate(self.periods):
            cells = [period.start]
            for _, policy in shown:
                rewards = policy.rewards_by_period[place]
                cells.append(f"{policy.decisions_by_period[place]:,}")
                cells.append(_mean_text(policy.means_by_period[place], rewards))
            rows.append(cells)
        return rows

    def periods_title(self) -> str:
        """Returns what the table of the periods has."""
        number = len(self.actions)
        often = f"the {MAX_SHOWN} most frequent {self.noun}s"
        whose = f"each {self.noun}" if number <= MAX_SHOWN else often
        return f"By {self.period}: decisions, rewards, and the share of {whose}"

    def periods_table(self) -> list[list[str]]:
        """Returns the headings, and a row for each period."""
        shown = self._find_shown()
        names = [self.actions[action].action for action in shown]
        new = [] if self.num_items is None else ["new items"]
        headings = ["start (UTC)", "decisions", "waiting", "rewards", "mean reward", *new, *names]
        return [headings, *(_period_cells(period, shown, bool(new)) for period in self.periods)]

    def _find_shown(self) -> list[int]:
        """Returns the numbers of the most frequent actions, in their order."""
        numbers = range(len(self.actions))
        often = sorted(numbers, key=lambda action: -self.actions[action].decisions)
        return sorted(often[:MAX_SHOWN])

    def _drawn(self) -> OverTime:
        """Returns what the figure shows."""
        return OverTime(self.periods, self.actions, self._find_shown(), self.period)

    def explain(self) -> Iterator[str]:
        """Yields what the numbers of the tables are."""
        yield from self._explain_periods()
        yield from self._explain_actions()

    def _explain_periods(self) -> Iterator[str]:
        """Yields what the numbers of a period are."""
        yield "waiting: decisions of the period that still wait for a reward."
        yield "rewards: those that came in the period, also for earlier decisions."
        if self.num_items is not None:
            yield "new items: the share of the decisions for items first offered in this period."

    def _explain_actions(self) -> Iterator[str]:
        """Yields what the numbers of an action are."""
        yield f"share: of the decisions in which the {self.noun} was available."
        if self.has_contexts:
            yield f"value: what always choosing the {self.noun}, where it is available, would earn:"
            yield "  the mean of its rewards, weighted by 1 / probability."
        else:
            yield f"value: the mean of the rewards of the {self.noun}."
        if self.reward_range is None:
            yield "interval: none, as the range of rewards is not known; reward_range= or --range"
            yield "  says it."
        else:
            low, high = self.reward_range
            level = f"{100 * self.confidence:.4g}%"
            what = f"for each {self.noun}"
            yield f"interval: holds at all times together with probability {level}, {what}"
            yield f"  by itself, so you may look every day. Rewards are from {low:g} to {high:g}."
            yield "  It assumes that the value stays the same, and that the delay of a reward does"
            yield "  not depend on the reward."
        what = f"0 where another {self.noun} was drawn"
        yield f"weight: the mean of 1 / probability, {what}. If all"
        yield "  probabilities are above 0 and were logged right, it differs from 1 by chance alone"
        yield "  (± its standard error, which is too small while only likely draws of it are in"
        yield "  the file)."

    def plot(self) -> Figure:
        """Returns a figure of shares, values and weights over time."""
        import_extra("matplotlib", "cli")
        from bandit_envs.serving.reports.service_figures import draw_report  # noqa: PLC0415

        return draw_report(self._drawn())

    def write_page(self, file: str | os.PathLike[str]) -> None:
        """Writes a page of HTML, which needs no server and no network.

        Its charts need Plotly, of the extra `show`; without it, there are pictures.
        """
        import_extra("matplotlib", "cli")
        title, *summary = self.summary()
        sentences = "\n".join(self._explain_actions()).replace("\n  ", " ").splitlines()
        notes = [*sentences, *self.notes]
        if self.test is not None:
            summary = [*self.test.summary(), *summary]
        sections = [
            *([] if self.test is None else self.test.sections()),
            Section(f"{self.noun.capitalize()}s", table=self.actions_table(), notes=notes),
            *(Section(title, table=table) for title, table in self._further_tables()),
            Section(
                self.periods_title(),
                chart=self._draw_chart,
                picture=self._draw_picture,
                table=self.periods_table(),
                notes=self._explain_periods(),
            ),
        ]
        if self.evaluation is not None:
            from bandit_envs.evaluations.showing.evaluation_page import estimates_section  # noqa: PLC0415

            sections.append(estimates_section(self.evaluation, "Other policies on this log"))
        atomic_write(Path(file), [make_page(title, summary, sections).encode()])

    def _draw_chart(self) -> Chart:
        """Returns what `plot` shows as a chart."""
        from bandit_envs.serving.reports.service_charts import report_chart  # noqa: PLC0415

        return report_chart(self._drawn())

    def _draw_picture(self) -> bytes:
        """Returns what `plot` shows as an image."""
        from bandit_envs.showing.plots import to_image  # noqa: PLC0415

        return to_image(self.plot())


def _estimates(evaluation: Evaluation) -> Grid:
    """Returns the headings, and a row for each policy and estimator."""
    from bandit_envs.evaluations.showing.estimate_tables import estimates_table  # noqa: PLC0415
    from bandit_envs.evaluations.showing.reasons import Reasons  # noqa: PLC0415

    table = estimates_table(evaluation, Reasons())
    return table.grid(table.groups[0])


def notes_of(evaluation: Evaluation) -> list[str]:
    """Returns what policies have learned from, and reasons to distrust estimates."""
    names = [f"{row.policy}, {row.estimator}" for row in evaluation.rows]
    notes = list(evaluation.notes)
    for reason in merge_texts([row.warnings for row in evaluation.rows]):
        distrusted = "; ".join(names[place] for place in reason.places)
        notes.append(f"{distrusted}: {reason.text}")
    return notes


def count(number: int, noun: str) -> str:
    """Returns a number with a noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_age(seconds: float) -> str:
    """Returns a duration in the largest unit of which it has at least one."""
    name, unit = next((each for each in AGES if seconds >= each[1]), AGES[-1])
    return f"{seconds / unit:.1f} {name}"


def _mean_text(mean: float, number: int) -> str:
    """Returns a mean of some rewards as a text, "" if there are none."""
    return f"{mean:.4f}" if number else ""


def _action_cells(row: ActionReport) -> list[str]:
    has_weight = row.weight == row.weight  # not NaN
    return [
        row.label,
        f"{row.decisions:,}",
        f"{row.share:.1%}" if row.share == row.share else "",
        f"{row.rewards:,.0f}",
        f"{row.value:.4f}" if row.value == row.value else "",
        interval_text(f"{row.low:.4f}", f"{row.high:.4f}") if row.low == row.low else "",
        f"{row.weight:.3f}" if has_weight else "",
        f"{row.weight_error:.3f}" if row.weight_error == row.weight_error else "",
    ]


def _policy_cells(number: int, row: PolicyReport) -> list[str]:
    start = "" if number == 1 else f"{to_utc(row.start):%Y-%m-%d %H:%M:%S}"
    mean = _mean_text(row.mean_reward, row.rewards)
    return [str(number), start, f"{row.decisions:,}", f"{row.rewards:,}", mean]


def _period_cells(row: PeriodReport, shown: Sequence[int], has_items: bool) -> list[str]:
    shares = [row.actions[action].share for action in shown]
    texts = [f"{share:.1%}" if share == share else "" for share in shares]
    mean = _mean_text(row.mean_reward, row.rewards)
    counts = [f"{row.decisions:,}", f"{row.pending:,}", f"{row.rewards:,}"]
    new = [f"{row.new_items:.1%}" if row.decisions else ""] if has_items else []
    return [row.start, *counts, mean, *new, *texts]
