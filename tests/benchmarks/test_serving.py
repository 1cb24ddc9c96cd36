"""What decisions of a service cost: in milliseconds, and beside bare SQLite."""

import json
import sqlite3
import time
import uuid

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService, keepers
from tests.benchmarks.pairing import Ratio

ACTIONS = [f"action-{number}" for number in range(10)]
COLUMNS = [f"feature-{number}" for number in range(10)]
DECISIONS = 1_000_000
UNSAVED = 5000  # rewards since the policy was saved, when the process is killed

MANY_DECISIONS = """
    WITH RECURSIVE numbers (n) AS (
        SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count
    )
    INSERT INTO decisions
    SELECT n, hex(randomblob(16)), time, n - 1, n % 10, 0.1, NULL, features
    FROM numbers, decisions WHERE decisions.number = 1
"""
MANY_EVENTS = """
    INSERT INTO events (number, time, kind, decision, value)
    SELECT number + :count, time, 'reward', number, number % 2 FROM decisions
"""
LEARNED = "UPDATE checkpoint SET number = 2 * :count"


def open_service(folder):
    """A service with ten features and ten actions."""
    policy = ContextualPolicy(
        Ridge(),
        EpsilonGreedy(0.1),
        observation_spec=ArraySpec((10,), np.float64),
        num_actions=10,
        seed=0,
    )
    features = dict.fromkeys(COLUMNS, "number")
    return DecisionService(folder / "shop.sqlite", policy, ACTIONS, features=features, seed=0)


def draw_contexts(size):
    """Contexts as a web service gets them."""
    rows = np.random.default_rng(0).normal(size=(size, 10)).tolist()
    return [dict(zip(COLUMNS, row)) for row in rows]


def quantiles(seconds, *shares):
    """Quantiles of times in milliseconds."""
    return [float(found) for found in np.quantile(seconds, shares) * 1e3]


def test_a_decision_in_milliseconds(note, tmp_path):
    wall = []
    processor = []
    with open_service(tmp_path) as service:
        for context in draw_contexts(5000):
            start = time.perf_counter()
            start_of_processor = time.process_time()
            service.decide(context)
            processor.append(time.process_time() - start_of_processor)
            wall.append(time.perf_counter() - start)
    note("ms of a decision on disk, 10 actions", Ratio(*quantiles(wall, 0.5, 0.25, 0.75)), 0.3)
    for name, seconds in (("", wall), (" of processor time", processor)):
        title = f"ms{name} of the slowest decision of 100"
        note(title, Ratio(*quantiles(seconds, 0.99, 0.98, 0.995)), 3.0)


def test_a_decision_among_items_beside_one_among_actions(compare, tmp_path):
    """Of 20 items with ten features each."""
    contexts = draw_contexts(100)
    rng = np.random.default_rng(0)
    columns = dict.fromkeys(COLUMNS, "number")
    spec = {"global": ArraySpec((10,), np.float64), "per_arm": ArraySpec((1, 10), np.float64)}
    policy = ContextualPolicy(Ridge(), EpsilonGreedy(0.1), observation_spec=spec, seed=0)
    sets = [
        {f"item-{number}": cells for number, cells in zip(rng.permutation(3000), draw_contexts(20))}
        for _ in contexts
    ]
    with (
        open_service(tmp_path) as actions,
        DecisionService(
            tmp_path / "items.sqlite", policy, features=columns, item_features=columns, seed=0
        ) as items,
    ):

        def decide_among_items():
            for context, offered in zip(contexts, sets):
                items.decide(context, actions=offered)

        def decide_among_actions():
            for context in contexts:
                actions.decide(context)

        title = "a decision among 20 items / one among 10 actions"
        compare(title, decide_among_items, decide_among_actions, goal=1.5, rounds=10)


def test_a_batch_in_milliseconds(note, tmp_path):
    seconds = []
    contexts = draw_contexts(100)
    with open_service(tmp_path) as service:
        for _ in range(50):
            start = time.perf_counter()
            service.decide_many(contexts)
            seconds.append(time.perf_counter() - start)
    note("ms of 100 decisions at once", Ratio(*quantiles(seconds, 0.5, 0.25, 0.75)), 50.0)


@pytest.mark.parametrize("call", ["decide", "reward"])
def test_a_call_beside_a_bare_row_of_sqlite(compare, tmp_path, call):
    contexts = draw_contexts(200)
    bare = sqlite3.connect(tmp_path / "bare.sqlite", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = NORMAL")
    bare.execute("CREATE TABLE rows (id TEXT UNIQUE, action INTEGER, features TEXT)")

    def write_bare():
        for context in contexts:
            row = (uuid.uuid4().hex, 3, json.dumps(context))
            bare.execute("INSERT INTO rows VALUES (?, ?, ?)", row)

    with open_service(tmp_path) as service:
        decisions = iter([each.id for _ in range(60) for each in service.decide_many(contexts)])

        def decide():
            for context in contexts:
                service.decide(context)

        def reward():
            for _, name in zip(contexts, decisions):
                service.reward(name, 1.0)

        candidate = decide if call == "decide" else reward
        compare(f"{call} / a row in bare SQLite", candidate, write_bare, rounds=20)
    bare.close()


def test_the_start_from_a_million_decisions_in_seconds(note, one_round, tmp_path, monkeypatch):
    count = 10_000 if one_round else DECISIONS
    with open_service(tmp_path) as service:
        service.decide(draw_contexts(1)[0])
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    for statement in (MANY_DECISIONS, MANY_EVENTS, LEARNED):
        connection.execute(statement, {"count": count})
    connection.commit()
    connection.close()
    monkeypatch.setattr(keepers, "SAVE_SECONDS", 1e9)
    killed = open_service(tmp_path)
    for context in draw_contexts(UNSAVED):
        killed.reward(killed.decide(context).id, 1.0)
    killed._session._release()  # as the end of a process does
    start = time.perf_counter()
    with open_service(tmp_path) as service:
        service.decide(draw_contexts(1)[0])
        seconds = time.perf_counter() - start
    title = f"s to start from 10^6 decisions, {UNSAVED:,} rewards after the policy was saved"
    note(title, Ratio(seconds, seconds, seconds), 5.0)
    start = time.process_time()
    assert len(service.log()) == count + UNSAVED
    seconds = time.process_time() - start
    title = "s of processor time to read the log of 10^6 decisions"
    note(title, Ratio(seconds, seconds, seconds))
