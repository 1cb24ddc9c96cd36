"""Reads the decisions and the rewards of a file for a report, in batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.files.served.decision_file import OF_MEASURES, OF_REWARDS, DecisionFile
from bandit_envs.logged.files.served.typed_queries import TypedQuery, damage
from bandit_envs.serving.reports.shown_actions import ItemRows, ShownActions
from bandit_envs.serving.reports.summing import DecisionRows, RewardRows

BATCH_ROWS = 50_000

DECISIONS = TypedQuery.of(
    "decisions.number, decisions.time, decisions.action, decisions.probability, "
    "decisions.available, events.number",
    """FROM decisions LEFT JOIN events
        ON events.decision = decisions.number AND events.number <= :until
    WHERE decisions.number > :after AND decisions.number <= :until
    ORDER BY decisions.number LIMIT :rows""",
    joined="events",
)
CHOICE = "decisions.action, decisions.probability, decisions.available, {}.value, decisions.number"
REWARDS = TypedQuery.of(f"events.number, events.time, {CHOICE.format('events')}", OF_REWARDS)
MEASURES = TypedQuery.of(
    f"measures.number, decisions.time, {CHOICE.format('measures')}", OF_MEASURES
)


def scan_decisions(file: DecisionFile, shown: ShownActions) -> Iterator[DecisionRows]:
    """Yields all decisions, in their order."""
    for rows in file.scan_rows(DECISIONS, BATCH_ROWS):
        numbers, times, actions, probabilities, available, events = zip(*rows)
        places = shown.find(np.array(actions), available)
        _check_probabilities(file, np.array(probabilities))
        yield DecisionRows(
            numbers=np.array(numbers),
            times=np.array(times),
            actions=places.chosen,
            probabilities=np.array(probabilities),
            available=places.available,
            has_others=places.offered > 1,
            is_pending=np.array([event is None for event in events]),
        )


def _check_probabilities(file: DecisionFile, probabilities: Floats) -> None:
    """Raises ValueError if an action cannot have been drawn."""
    if probabilities.min() <= 0.0:
        raise damage(file.path, f"an action was drawn with probability {probabilities.min()}")


def scan_rewards(
    file: DecisionFile, shown: ShownActions, reward: str = "reward", since: int = 0
) -> Iterator[RewardRows]:
    """Yields rewards in the order in which they came.

    Args:
        file: that has them.
        shown: the actions of the report.
        reward: the name of a further reward, or "reward".
        since: rewards with larger numbers are read; of further ones, those whose decisions have
            larger numbers.
    """
    if reward == "reward":
        batches = file.scan_rows(REWARDS, BATCH_ROWS, after=since)
    else:
        batches = file.scan_rows(MEASURES, BATCH_ROWS, name=reward, since=since)
    for rows in batches:
        _, times, actions, probabilities, available, rewards, numbers = zip(*rows)
        places = shown.find(np.array(actions), available)
        yield RewardRows(
            numbers=np.array(numbers),
            times=np.array(times),
            actions=places.chosen,
            probabilities=np.array(probabilities),
            available=places.available,
            rewards=np.array(rewards, np.float64),
        )


def scan_items(file: DecisionFile) -> Iterator[ItemRows]:
    """Yields all decisions among items, in their order."""
    for rows in file.scan_rows(DECISIONS, BATCH_ROWS):
        _, times, actions, _, available, _ = zip(*rows)
        yield ItemRows(np.array(times), np.array(actions), available)
