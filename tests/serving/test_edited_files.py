"""Whatever a file of decisions says, readers end, and refuse it in a line that names it."""

import shutil
import signal
import sqlite3

import pytest

from bandit_envs.logged import read_log
from bandit_envs.serving import read_report
from tests.serving.services import CONTEXT, NAMES, open_shop

pytestmark = [pytest.mark.posix]

SECONDS = 20
"""A reader that takes longer does not end."""

DEEP = "replace(hex(zeroblob(50000)), '00', '[')"

ENDLESS = """
    CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT i AS number, i AS id, 1.0 AS time, 0 AS learned, 0 AS action, 0.5 AS probability,
        NULL AS available, zeroblob(24) AS features, 'reward' AS kind, i AS decision, 0.0 AS value,
        NULL AS warm, 'a' AS name, 0 AS added, 1 AS is_open, 0 AS place, NULL AS state FROM n
"""

WRONG_BY_STRUCTURE = [
    *([f"DROP TABLE {table}", ENDLESS.format(table=table)] for table in ("decisions", "events")),
    *([f"DROP TABLE {table}", ENDLESS.format(table=table)] for table in ("actions", "meta")),
    ["CREATE VIEW mine AS SELECT 1"],
    ["CREATE TRIGGER mine AFTER INSERT ON decisions BEGIN DELETE FROM events; END"],
    ["CREATE TABLE mine (x)"],
    ["DROP INDEX masked"],
    ["ALTER TABLE events ADD COLUMN mine"],
]

WRONG_FOR_ALL = [
    "UPDATE actions SET name = x'00' WHERE action = 3",
    "UPDATE actions SET added = -1 WHERE action = 0",
    "UPDATE actions SET action = 9 WHERE action = 3",
    "UPDATE actions SET is_open = 'x'",
    "DELETE FROM actions",
    f"UPDATE meta SET value = {DEEP} WHERE name = 'encoding'",
    "UPDATE meta SET value = '{}' WHERE name = 'encoding'",
    "UPDATE meta SET value = x'00' WHERE name = 'encoding'",
    "UPDATE decisions SET number = 9223372036854775807 WHERE number = 1",
]
"""Edits that every reader refuses."""

WRONG_FOR_SOME = [
    "UPDATE decisions SET available = 1",
    "UPDATE decisions SET available = 'x'",
    "UPDATE decisions SET available = zeroblob(3000)",
    "UPDATE decisions SET features = 1",
    "UPDATE decisions SET features = x'00'",
    "UPDATE decisions SET features = x'000000000000f07f000000000000f07f000000000000f07f'",
    "UPDATE decisions SET time = 'x'",
    "UPDATE decisions SET time = 9223372036854775808.0",
    "UPDATE decisions SET time = -9e18",
    "UPDATE decisions SET time = 9e999",
    "UPDATE decisions SET action = 'x'",
    "UPDATE decisions SET action = -1",
    "UPDATE decisions SET action = 99",
    "UPDATE decisions SET probability = 'x'",
    "UPDATE decisions SET probability = 1e300",
    "UPDATE events SET time = x'00'",
    "UPDATE events SET time = 9223372036854775808.0",
    "UPDATE events SET value = 'x' WHERE kind = 'reward'",
    "UPDATE events SET value = 1e300 WHERE kind = 'reward'",
    "UPDATE events SET decision = NULL",
    "UPDATE checkpoint SET state = 1",
    "DELETE FROM policies",
    "UPDATE policies SET number = 5",
    "UPDATE policies SET policy = x'00'",
    "UPDATE policies SET learns_after = -1",
    "UPDATE policies SET test = x'00'",
    "UPDATE policies SET test = '[]'",
    """UPDATE policies SET test = '{"num_actions": 1000000000}'""",
    """UPDATE policies SET test = '{"num_actions": 2, "batch_size": 1000000000}'""",
    "UPDATE checkpoint SET number = 'x'",
    f"UPDATE meta SET value = {DEEP} WHERE name = 'reward_range'",
    "UPDATE meta SET value = '-1' WHERE name = 'seed'",
    "UPDATE meta SET value = 'x' WHERE name = 'seed'",
]
"""Edits that some readers refuse, and others need not read."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a file of decisions with masks, and an action that was added."""
    folder = tmp_path_factory.mktemp("shop")
    with open_shop(folder) as service:
        for user in range(30):
            available = NAMES[:2] if user % 5 == 0 else None
            service.decide(CONTEXT, available, id=f"user-{user}")
            if user % 3:
                service.reward(f"user-{user}", float(user % 2))
        service.add_action("black")
        service.retire_action("blue")
    return folder


def serve(file):
    """Uses what a service has besides its log and its report."""
    with open_shop(file.parent) as service:
        service.decide(CONTEXT, id="user-0")
        service.decide(CONTEXT, available=["green"])
        service.reward("user-0", 1.0)
        service.learn()
        service.add_action("white")


def report(file):
    """Reads a report, and shows it."""
    str(read_report(file, reward_range=(0.0, 1.0)))


READERS = (report, read_log, serve)
"""The last one writes to the file, too."""


def edit(folder, queries, shop):
    """Makes an edited copy of the file."""
    shutil.copytree(shop, folder, dirs_exist_ok=True)
    connection = sqlite3.connect(folder / "shop.sqlite")
    for query in queries:
        connection.execute(query)
    connection.commit()
    connection.close()


def read(folder, reader):
    """Lets a reader read the file, within a time."""

    def give_up(*_):
        raise AssertionError("the reader does not end")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        reader(folder / "shop.sqlite")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_line(error):
    """Fails unless an error is a line that names the file."""
    text = str(error.value)
    assert "shop.sqlite" in text
    assert text.isprintable()
    assert len(text) < 1000


@pytest.mark.parametrize("queries", WRONG_BY_STRUCTURE, ids=range(len(WRONG_BY_STRUCTURE)))
def test_a_file_has_the_tables_of_a_service_alone(tmp_path, shop, queries):
    edit(tmp_path, queries, shop)
    expected = "expected the tables of a DecisionService alone"
    for reader in READERS:
        with pytest.raises(ValueError, match=expected) as error:
            read(tmp_path, reader)
        check_line(error)


@pytest.mark.parametrize("query", WRONG_FOR_ALL)
def test_a_cell_of_another_kind_is_refused(tmp_path, shop, query):
    edit(tmp_path, [query], shop)
    for reader in READERS:
        with pytest.raises((OSError, ValueError)) as error:
            read(tmp_path, reader)
        check_line(error)


@pytest.mark.parametrize("query", WRONG_FOR_SOME)
def test_a_cell_is_refused_where_it_is_read(tmp_path, shop, query):
    edit(tmp_path, [query], shop)
    texts = []
    for reader in READERS:
        try:
            read(tmp_path, reader)
        except (OSError, ValueError) as error:
            texts.append(str(error))
    assert texts
    assert all(map(str.isprintable, texts))


def test_a_file_that_sqlite_has_tidied_up_is_read(tmp_path, shop):
    edit(tmp_path, ["ANALYZE"], shop)
    for reader in READERS:
        read(tmp_path, reader)
