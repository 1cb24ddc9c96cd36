"""Reads the decisions and the rewards of a file for a report, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.files.served.decision_file import OF_REWARDS, DecisionFile
from bandit_envs.logged.files.served.typed_queries import (
    ACTION,
    BYTES,
    FLAG,
    NUMBER,
    PROBABILITY,
    TIME,
    VALUE,
    TypedQuery,
    damage,
)
from bandit_envs.serving.reports.shown_actions import ItemRows, ShownActions
from bandit_envs.serving.reports.summing import DecisionRows, RewardRows

BATCH_ROWS = 50_000

DECISION = {
    "a number": NUMBER,
    "a time": TIME,
    "an action": ACTION,
    "a probability": PROBABILITY,
    "a mask": BYTES.or_none(),
}
DECISIONS = TypedQuery(
    """
    SELECT decisions.number, decisions.time, decisions.action, probability, available,
        events.number IS NULL
    FROM decisions LEFT JOIN events
        ON events.decision = decisions.number AND events.number <= :until
    WHERE decisions.number > :after AND decisions.number <= :until
    ORDER BY decisions.number LIMIT :rows
    """,
    {**DECISION, "whether a decision waits": FLAG},
)
REWARDS = TypedQuery(
    f"""SELECT events.number, events.time, decisions.action, probability, available, value,
        decisions.number {OF_REWARDS}""",
    {**DECISION, "a reward": VALUE, "the number of a decision": NUMBER},
)
MEASURES = TypedQuery(
    """SELECT measures.number, decisions.time, decisions.action, probability, available, value,
        decisions.number
    FROM measures CROSS JOIN decisions ON decisions.number = measures.decision
    WHERE measures.number > :after AND decisions.number <= :until AND measures.name = :name
        AND decisions.number > :since
    ORDER BY measures.number LIMIT :rows""",
    {**DECISION, "a measure": VALUE, "the number of the decision": NUMBER},
)


def scan_decisions(file: DecisionFile, shown: ShownActions) -> Iterator[DecisionRows]:
    """Yields all decisions, in their order."""
    for rows in file.scan_rows(DECISIONS, BATCH_ROWS):
        numbers, times, actions, probabilities, available, is_pending = zip(*rows)
        places = shown.find(np.array(actions), available)
        _check_probabilities(file, np.array(probabilities))
        yield DecisionRows(
            numbers=np.array(numbers),
            times=np.array(times),
            actions=places.chosen,
            probabilities=np.array(probabilities),
            available=places.available,
            has_others=places.offered > 1,
            is_pending=np.array(is_pending, np.bool_),
        )


def _check_probabilities(file: DecisionFile, probabilities: Floats) -> None:
    """Raises ValueError if an action cannot have been drawn."""
    if probabilities.min() <= 0.0:
        raise damage(file.path, f"an action was drawn with probability {probabilities.min()}")


def scan_rewards(
    file: DecisionFile,
    shown: ShownActions,
    query: TypedQuery = REWARDS,
    after: int = 0,
    **others: Any,
) -> Iterator[RewardRows]:
    """Yields rewards in the order in which they came.

    Args:
        file: that has them.
        shown: the actions of the report.
        query: of rewards, or of further ones.
        after: rewards behind this number are read.
        **others: other parameters of the query.
    """
    for rows in file.scan_rows(query, BATCH_ROWS, after, **others):
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
