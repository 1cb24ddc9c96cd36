"""Reads a report from a file of decisions."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_envs.base.checks import MAX_REWARD, check_confidence, check_number
from bandit_envs.logged.files.served.decision_file import DecisionFile, parse_json, parse_range
from bandit_envs.logged.files.served.decision_tables import PolicyRow, open_to_read, read_policies
from bandit_envs.logged.files.served.seen import SeenActions, SeenItems
from bandit_envs.logged.files.served.typed_queries import TypedQuery, damage
from bandit_envs.policies.split_tests import SplitReport
from bandit_envs.serving.reports.notes import FileFacts, find_notes
from bandit_envs.serving.reports.periods import Periods
from bandit_envs.serving.reports.report import ServiceReport, count
from bandit_envs.serving.reports.report_rows import ActionReport, MeasureReport, PeriodReport
from bandit_envs.serving.reports.scanning import scan_decisions, scan_items, scan_rewards
from bandit_envs.serving.reports.served_policies import ServedPolicies
from bandit_envs.serving.reports.served_test import make_test, replay_test, with_measure
from bandit_envs.serving.reports.shown_actions import FixedActions, MostChosenItems, ShownActions
from bandit_envs.serving.reports.summing import DecisionSums, RewardRows, RewardsByPeriod, divide
from bandit_envs.serving.schedule import Schedule

if TYPE_CHECKING:
    from bandit_envs.evaluations import Evaluation

FEWEST_REWARDS = 3
"""Other policies are estimated from so many rewards, one for each fold of a model of rewards."""

TOO_SHORT = f"Other policies are estimated from {FEWEST_REWARDS} rewards on."
"""A note of a report on fewer."""

NO_CONTEXT = np.ones(1, "<f8").tobytes()
"""The features of a decision without a context: the constant."""

META = TypedQuery.of("meta.name, meta.value", "FROM meta")
UPGRADES = TypedQuery.of(
    "events.time", "FROM events WHERE kind = 'upgrade' AND number <= ? ORDER BY number"
)
ENDS = [
    TypedQuery.of(
        f"{table}.time",
        f"FROM {table} WHERE number = (SELECT {end}(number) FROM {table} WHERE number <= ?)",
    )
    for table in ("decisions", "events")
    for end in ("min", "max")
]
"""The first and the last times."""


def read_report(
    path: str | os.PathLike[str],
    policies: Any = None,
    estimators: Any = None,
    *,
    reward_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> ServiceReport:
    """Returns what a file of decisions tells, while services may write to it.

    The file is read in batches, and not changed. It does not know the timeout of its service: a
    decision waits until the service notes in the file that its time is over. The `report` of a
    service does not depend on that.

    Args:
        path: of the file.
        policies: whose value on this log is estimated, as `evaluate` takes them; None for none.
        estimators: as `evaluate` takes them; None for those that it has by default.
        reward_range: the smallest and the largest possible reward, which intervals need; None for
            the `reward_range` of the policy, if it has one.
        confidence: of intervals, each of which holds at all times with this probability.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else, or a reward is out of the range.
    """
    return make_report(
        path,
        policies,
        estimators,
        schedule=Schedule(),
        reward_range=reward_range,
        confidence=confidence,
    )


def make_report(
    path: str | os.PathLike[str],
    policies: Any = None,
    estimators: Any = None,
    *,
    schedule: Schedule,
    reward_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> ServiceReport:
    """Returns the report of `read_report`; the schedule says how long decisions wait."""
    check_confidence(confidence)
    file = DecisionFile.open(Path(path))
    facts = _read_facts(file)
    known_range = facts.reward_range if reward_range is None else _check_range(reward_range)
    shown_range = known_range if max(map(abs, known_range)) < MAX_REWARD else None
    periods = Periods.between(facts.first_time, facts.last_time)
    shown = _find_shown(file, periods)
    now = max(time.time(), facts.last_time)
    decisions = DecisionSums(periods, shown.number, schedule.overdue_until(now))
    policy_sums = ServedPolicies(periods, facts.policies)
    for decision_rows in scan_decisions(file, shown):
        decisions.add(decision_rows, policy_sums.are_after_stop(decision_rows))
        policy_sums.add_decisions(decision_rows)
    rewards = RewardsByPeriod(
        periods,
        shown.number,
        usual_number=shown.usual_number,
        has_contexts=facts.has_contexts,
        reward_range=shown_range,
        confidence=confidence,
    )
    for reward_rows in scan_rewards(file, shown):
        rewards.add(reward_rows)
        policy_sums.add_rewards(reward_rows)
    rewards.finish()
    measures = [
        _report_measure(name, scan_rewards(file, shown, name), shown)
        for name in file.read_measure_names()
    ]
    actions = _report_actions(shown, decisions, rewards, None)
    notes = [*find_notes(shown, actions, decisions, facts), *filter(None, [shown.remark])]
    number = int(rewards.count.sum())
    if policies is not None and number < FEWEST_REWARDS:
        policies = None
        notes.append(TOO_SHORT)
    if decisions.overdue and schedule.timeout_reward is not None:
        notes.append(_note_overdue(decisions.overdue, schedule.timeout_reward))
    ages = now - np.concatenate([np.zeros(0), *decisions.pending_times])
    return ServiceReport(
        name=file.path.name,
        policies=policy_sums.report(facts.starts),
        time=now,
        decisions=int(decisions.chosen.sum()),
        rewards=number,
        timeouts=facts.timeouts + decisions.overdue,
        pending=len(ages),
        oldest=float(ages.max(initial=0.0)),
        median_age=float(np.median(ages)) if len(ages) else math.nan,
        mean_reward=divide(rewards.total.sum(), rewards.count.sum()),
        certain=decisions.certain,
        after_stop=decisions.after_stop,
        smallest_probability=decisions.smallest,
        has_contexts=facts.has_contexts,
        period=periods.name,
        actions=actions,
        periods=_report_periods(periods, shown, decisions, rewards),
        notes=notes,
        reward_range=shown_range,
        confidence=confidence,
        evaluation=_evaluate(file.path, policies, estimators, confidence),
        num_items=shown.num_items,
        test=_report_test(file, shown, facts.policies[-1], [each.name for each in measures]),
        measures=measures,
    )


def _note_overdue(number: int, reward: float) -> str:
    """Returns a note on the timeouts that no event of the file has counted yet."""
    whose = f"{count(number, 'decision')} whose timeout has passed"
    return f"The reward {reward:g} of {whose} counts once the service learns."


def _find_shown(file: DecisionFile, periods: Periods) -> ShownActions:
    """Returns which actions or items the report shows."""
    if isinstance(file.seen, SeenActions):
        return FixedActions(file, file.seen)
    assert isinstance(file.seen, SeenItems)
    return MostChosenItems(file, file.seen, periods, scan_items(file))


def _check_range(given: Any) -> tuple[float, float]:
    """Returns the range of rewards that a user gives."""
    try:
        low, high = given
    except (TypeError, ValueError):
        expected = "expected the smallest and the largest reward"
        raise ValueError(f"reward_range is {given!r}; {expected}") from None
    ends = check_number("low", low), check_number("high", high)
    if ends[0] >= ends[1]:
        raise ValueError(f"reward_range is {given!r}; expected low < high")
    return ends


def _read_facts(file: DecisionFile) -> FileFacts:
    """Returns what a file says in a few rows."""
    with open_to_read(file.path) as connection:
        policies = [
            each for each in read_policies(connection, file.path) if each.number <= file.until
        ]
        upgrades = UPGRADES.fetch(connection, file.path, (file.until,))
        meta = dict(META.fetch(connection, file.path))
        times = [
            each for query in ENDS for (each,) in query.fetch(connection, file.path, (file.until,))
        ]
        query = "SELECT count(*) FROM events WHERE kind = 'timeout' AND number <= ?"
        ((timeouts,),) = connection.execute(query, (file.until,))
        query = "SELECT EXISTS (SELECT 1 FROM decisions WHERE features <> ? AND number <= ?)"
        ((has_contexts,),) = connection.execute(query, (NO_CONTEXT, file.until))
    if len(upgrades) != len(policies) - 1:
        raise damage(file.path, f"it has {len(policies)} policies, and {len(upgrades)} upgrades")
    now = time.time()
    return FileFacts(
        policies=policies,
        starts=[math.nan, *(seconds for (seconds,) in upgrades)],
        reward_range=parse_range(meta.get("reward_range", ""), file.path),
        first_time=min(times, default=now),
        last_time=max(times, default=now),
        timeouts=timeouts,
        has_contexts=bool(has_contexts),
        can_learn=parse_json(meta.get("can_learn", "")) is not False,
    )


def _report_measure(name: str, batches: Iterable[RewardRows], shown: ShownActions) -> MeasureReport:
    """Returns what the rewards of a name tell.

    Args:
        name: of the rewards.
        batches: the rewards, whose `actions` are the columns of the report.
        shown: the actions of the report, and the columns behind them.
    """
    counts = np.zeros(shown.number)
    totals = np.zeros(shown.number)
    for rows in batches:
        counts += np.bincount(rows.actions, minlength=shown.number)
        totals += np.bincount(rows.actions, rows.rewards, shown.number)
    named = len(shown.names)
    return MeasureReport(
        name=name,
        decisions=counts[:named].astype(int).tolist(),
        means=[divide(total, count) for total, count in zip(totals[:named], counts)],
        number=int(counts.sum()),
        mean=divide(totals.sum(), counts.sum()),
    )


def _report_test(
    file: DecisionFile, shown: ShownActions, at_work: PolicyRow, measures: Sequence[str]
) -> SplitReport | None:
    """Returns what a test at work has found, also of further rewards; None without a test."""
    test = make_test(at_work.test, file)
    if test is None:
        return None
    names = file.encoding.actions
    since = at_work.learns_after
    found = replay_test(test, names, scan_rewards(file, shown, since=since))
    for measure in measures:
        rows = scan_rewards(file, shown, measure, since)
        found = with_measure(found, test, measure, rows)
    return found


def _report_actions(
    shown: ShownActions, decisions: DecisionSums, rewards: RewardsByPeriod, period: int | None
) -> list[ActionReport]:
    """Returns what is known of each action in a period, or in all periods if it is None."""
    part = slice(None) if period is None else slice(period, period + 1)
    end = -1 if period is None else period
    found = []
    for action, name in enumerate(shown.names):
        available = decisions.available[part, action].sum()
        chosen = decisions.chosen[part, action].sum()
        weighed = decisions.weighed[part, action].sum()
        spread = math.sqrt(decisions.variances[part, action].sum()) if chosen else math.nan
        row = ActionReport(
            action=name,
            is_open=shown.is_open[action],
            decisions=int(chosen),
            share=divide(chosen, available),
            rewards=float(rewards.by_action[action]) if period is None else math.nan,
            value=float(rewards.values[end, action]),
            low=float(rewards.lows[end, action]),
            high=float(rewards.highs[end, action]),
            weight=divide(decisions.weights[part, action].sum(), weighed),
            weight_error=divide(spread, weighed),
        )
        found.append(row)
    return found


def _report_periods(
    periods: Periods, shown: ShownActions, decisions: DecisionSums, rewards: RewardsByPeriod
) -> list[PeriodReport]:
    """Returns what happened in each period."""
    return [
        PeriodReport(
            start=periods.label(period),
            decisions=int(decisions.chosen[period].sum()),
            pending=int(decisions.pending[period]),
            rewards=int(rewards.count[period]),
            mean_reward=divide(rewards.total[period], rewards.count[period]),
            actions=_report_actions(shown, decisions, rewards, period),
            new_items=math.nan if shown.new_shares is None else float(shown.new_shares[period]),
        )
        for period in range(periods.number)
    ]


def _evaluate(path: Path, policies: Any, estimators: Any, confidence: float) -> Evaluation | None:
    """Returns what policies would have earned; None if there are none."""
    if policies is None:
        return None
    from bandit_envs.evaluations import evaluate  # noqa: PLC0415

    options = {} if estimators is None else {"estimators": estimators}
    return evaluate(path, policies, confidence=confidence, **options)
