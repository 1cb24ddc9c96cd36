"""The rows of a service's file that its store reads and writes, and the queries that read them."""

from __future__ import annotations

from typing import NamedTuple

from bandit_envs.logged.files.served.typed_queries import ACTION, FLAG, NUMBER, TIME, TypedQuery

LAST_ROWS = TypedQuery(
    """
    SELECT * FROM (SELECT 0, number, time FROM decisions ORDER BY number DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 1, number, time FROM events ORDER BY number DESC LIMIT 1)
    """,
    {"whether it is an event": FLAG, "the last number": NUMBER, "the last time": TIME},
)
DECISION = (
    "decisions.number, decisions.id, decisions.time, decisions.learned, decisions.action, "
    "decisions.probability, decisions.available, decisions.features"
)
ONE_DECISION = TypedQuery.of(DECISION, "FROM decisions WHERE id = ?")
DECISIONS = TypedQuery.of(DECISION, "FROM decisions WHERE number > ? ORDER BY number")
EVENTS = TypedQuery.of(
    "events.number, events.time, events.kind, events.decision, events.action, events.value, "
    "events.warm, decisions.action, decisions.probability, decisions.available, decisions.features",
    """FROM events LEFT JOIN decisions ON decisions.number = events.decision
    WHERE events.number > ? AND events.number <= ? ORDER BY events.number""",
    joined="decisions",
)
WAITS = TypedQuery(
    """
    SELECT number, time, EXISTS (SELECT 1 FROM events WHERE decision = decisions.number)
    FROM decisions WHERE number > ? ORDER BY number
    """,
    {
        "the number of a decision": NUMBER,
        "the time of a decision": TIME,
        "whether a decision has ended": FLAG,
    },
)
META = TypedQuery.of("meta.value", "FROM meta WHERE name = ?")
ITEM = TypedQuery.of("items.item", "FROM items WHERE name = ?")
ITEM_NAME = TypedQuery.of("items.name", "FROM items WHERE item = ?")
NEXT_ITEM = TypedQuery(
    "SELECT coalesce(max(item) + 1, 0) FROM items", {"the number of the next item": ACTION}
)
SAVED = TypedQuery.of("checkpoint.number", "FROM checkpoint")
STATE = TypedQuery.of("checkpoint.number, checkpoint.state", "FROM checkpoint")


class DecisionRow(NamedTuple):
    """A decision, as `decision_tables` describes it."""

    number: int
    id: str
    time: float
    learned: int
    action: int
    probability: float
    available: bytes | None
    features: bytes


class Event(NamedTuple):
    """An event, as `decision_tables` describes it."""

    kind: str
    decision: int | None = None
    action: int | None = None
    value: float | None = None
    warm: str | None = None


class SeenEvent(NamedTuple):
    """An event with its number, its time, and the decision that it is of."""

    number: int
    time: float
    event: Event
    action: int
    probability: float
    available: bytes | None
    features: bytes
