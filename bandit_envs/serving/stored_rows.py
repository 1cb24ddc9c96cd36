"""The rows of a service's file that its store reads and writes, and the queries that read them."""

from __future__ import annotations

from typing import NamedTuple

from bandit_envs.logged.files.served.typed_queries import (
    ACTION,
    BYTES,
    COUNT,
    FLAG,
    NUMBER,
    PROBABILITY,
    TEXT,
    TIME,
    VALUE,
    TypedQuery,
)

LAST_ROWS = TypedQuery(
    """
    SELECT * FROM (SELECT 0, number, time FROM decisions ORDER BY number DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 1, number, time FROM events ORDER BY number DESC LIMIT 1)
    """,
    {"whether it is an event": FLAG, "the last number": NUMBER, "the last time": TIME},
)
DECISION = {
    "the number of a decision": NUMBER,
    "an id": TEXT,
    "the time of a decision": TIME,
    "the last number that the policy had seen": COUNT,
    "the action of a decision": ACTION,
    "a probability": PROBABILITY,
    "a mask": BYTES.or_none(),
    "a context": BYTES,
}
ONE_DECISION = TypedQuery("SELECT * FROM decisions WHERE id = ?", DECISION)
DECISIONS = TypedQuery("SELECT * FROM decisions WHERE number > ? ORDER BY number", DECISION)
EVENTS = TypedQuery(
    """
    SELECT events.number, events.time, kind, decision, events.action, value, warm,
        decisions.action, probability, available, features
    FROM events LEFT JOIN decisions ON decisions.number = events.decision
    WHERE events.number > ? AND events.number <= ? ORDER BY events.number
    """,
    {
        "the number of an event": NUMBER,
        "the time of an event": TIME,
        "the kind of an event": TEXT,
        "the decision of an event": NUMBER.or_none(),
        "the action of an event": ACTION.or_none(),
        "a reward": VALUE.or_none(),
        "the warm start of an action": TEXT.or_none(),
        "the action of a decision": ACTION.or_none(),
        "a probability": PROBABILITY.or_none(),
        "a mask": BYTES.or_none(),
        "a context": BYTES.or_none(),
    },
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
META = TypedQuery("SELECT value FROM meta WHERE name = ?", {"a value in meta": TEXT})
ITEM = TypedQuery("SELECT item FROM items WHERE name = ?", {"the number of an item": ACTION})
ITEM_NAME = TypedQuery("SELECT name FROM items WHERE item = ?", {"the name of an item": TEXT})
NEXT_ITEM = TypedQuery(
    "SELECT coalesce(max(item) + 1, 0) FROM items", {"the number of the next item": ACTION}
)
SAVED = TypedQuery("SELECT number FROM checkpoint", {"the number of the state": COUNT})
STATE = TypedQuery(
    "SELECT number, state FROM checkpoint", {"the number of the state": COUNT, "the state": BYTES}
)


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


class Wait(NamedTuple):
    """The number and the time of a decision, and whether it has its reward, or waits no more."""

    number: int
    time: float
    has_ended: bool
