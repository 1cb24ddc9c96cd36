"""Whatever fails in a call, the file and the policy are as if there had been no such call."""

import gc
import itertools
import multiprocessing
import sqlite3
import time

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, KLUCBPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.logged import read_log
from bandit_envs.policies.models import Logistic
from bandit_envs.serving import DecisionService, keepers, store, upgrading
from tests.serving.services import CONTEXT, NAMES, arms, contextual, open_arms, open_shop

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

USERS = 30
FAULTS = (
    sqlite3.OperationalError("database or disk is full"),
    sqlite3.DatabaseError("database disk image is malformed"),
    KeyboardInterrupt(),
    MemoryError(),
    TypeError("a fault"),
)


class FaultyConnection:
    """A connection that fails once, after some statements."""

    def __init__(self, connection):
        self._connection = connection
        self.remaining = -1
        self.fault = None

    @property
    def in_transaction(self):
        return self._connection.in_transaction

    def execute(self, *arguments):
        self.remaining -= 1
        if self.remaining == -1:
            raise self.fault
        return self._connection.execute(*arguments)

    def close(self):
        self._connection.close()


class FailingPolicy(EpsilonGreedyPolicy):
    """Cannot learn now and then, where a test says so."""

    fails = False

    def _learn(self, learned, trajectory):
        if FailingPolicy.fails:
            FailingPolicy.fails = False
            raise ValueError("cannot learn")
        return super()._learn(learned, trajectory)


POLICIES = {
    "arms": arms,
    "pending": lambda: KLUCBPolicy(num_actions=3, seed=0),
    "failing": lambda: FailingPolicy(0.2, num_actions=3, seed=0),
}
SCHEDULES = {
    "at once": {},
    "counted": {"learn_every": 3, "timeout": 20.0, "timeout_reward": 0.0},
    "lost": {"learn_every": 7, "timeout": 4.0},
    "timed": {"learn_every": 1000, "learn_seconds": 10.0},
}


def disturb(service, rng, call):
    """Calls, and lets it fail most of the time."""
    connection = FaultyConnection(service._session.store._connection)
    connection.remaining = int(rng.integers(12))
    connection.fault = FAULTS[rng.integers(len(FAULTS))]
    service._session.store._connection = connection
    FailingPolicy.fails = rng.random() < 0.3
    try:
        call(service)
    except (KeyboardInterrupt, MemoryError, OSError, TypeError, ValueError):
        return 1
    finally:
        service._session.store._connection = connection._connection
        FailingPolicy.fails = False
    return 0


def calls_of(user):
    """What is asked for at a user; each call changes nothing where it is repeated."""
    calls = [lambda service: service.decide(id=f"user-{user}")]
    if user > 5 and user % 4:
        rewards = [(f"user-{user - lag}", float(user % 3 == 0)) for lag in (5, 3)]
        calls.append(lambda service: service.reward_many(rewards))
    if user == 10:
        calls.append(lambda service: "black" in service.actions or service.add_action("black"))
    if user == 17:
        calls.append(lambda service: "red" in service.open_actions and service.retire_action("red"))
    if user == 24:
        calls.append(lambda service: "red" in service.open_actions or service.add_action("red"))
    return calls


def serve(folder, policy, options, now, faults):
    """Serves all users; returns the rows and the policy, and how many calls have failed."""
    folder.mkdir()
    rng = np.random.default_rng(3)
    failed = 0
    with DecisionService(folder / "shop.sqlite", policy, NAMES, seed=4, **options) as service:
        for user in range(USERS):
            now[0] += 1.0
            for call in calls_of(user):
                if faults:
                    failed += disturb(service, rng, call)
                call(service)
        service.learn()
        state = encode_state(service.policy.get_state())
        with sqlite3.connect(service.path) as connection:
            decisions = connection.execute("SELECT * FROM decisions ORDER BY number").fetchall()
            events = connection.execute("SELECT * FROM events ORDER BY number").fetchall()
        connection.close()
    return (decisions, events, state), failed


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        *itertools.product(["arms"], SCHEDULES),
        pytest.param("pending", "counted", marks=pytest.mark.slow),
        pytest.param("pending", "lost", marks=pytest.mark.slow),
        ("failing", "counted"),
    ],
)
def test_calls_that_fail_leave_no_trace(tmp_path, monkeypatch, name, schedule):
    monkeypatch.setattr(keepers, "SAVE_SECONDS", 0.0)
    now = [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    options = SCHEDULES[schedule]
    now[0] = 1e9
    expected, _ = serve(tmp_path / "quiet", POLICIES[name](), options, now, faults=False)
    now[0] = 1e9
    found, failed = serve(tmp_path / "faulty", POLICIES[name](), options, now, faults=True)
    assert failed > USERS / 2
    assert [row[1:] for row in found[0]] == [row[1:] for row in expected[0]]
    assert found == expected


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    with open_arms(tmp_path) as service:
        for user in range(5):
            service.reward(service.decide().id, float(user % 2))
    log = read_log(service.path)

    class FaultyStore(store.Store):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._connection = FaultyConnection(self._connection)
            self._connection.remaining = 3 * len(failed)
            self._connection.fault = FAULTS[0]

    monkeypatch.setattr(upgrading, "Store", FaultyStore)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, seed=0)
    failed = []
    is_upgraded = False
    while not is_upgraded:
        try:
            is_upgraded = DecisionService.upgrade(service.path, policy)
        except OSError as error:
            failed.append(str(error))
            assert read_log(service.path) == log
            open_arms(tmp_path).close()  # with the policy that is still at work
    assert len(failed) > 7
    assert all("is full" in text for text in failed)
    with DecisionService(service.path, policy) as service:
        assert not service.policy.is_untrained


def test_an_action_that_could_not_be_added_is_not_there(tmp_path):
    with open_arms(tmp_path) as service:
        with pytest.raises(ValueError, match="does not support"):
            service.add_action("black", warm="empirical_bayes")
        assert service.actions == tuple(NAMES)
        assert service.policy.num_actions == 3
        service.add_action("black")
        assert service.open_actions == (*NAMES, "black")


def test_a_policy_that_cannot_learn_gets_its_rewards_again(tmp_path):
    policy = FailingPolicy(0.2, num_actions=3, seed=0)
    path = tmp_path / "shop.sqlite"
    with DecisionService(path, policy, NAMES, seed=1, learn_every=3) as service:
        decisions = [service.decide() for _ in range(3)]
        for decision in decisions[:2]:
            service.reward(decision.id, 1.0)
        FailingPolicy.fails = True
        with pytest.raises(ValueError, match="cannot learn"):
            service.reward(decisions[2].id, 1.0)
        assert service.reward(decisions[2].id, 1.0)
        assert service.policy.get_state().content.learned.counts.sum() == 3


def test_a_timeout_has_a_reward_that_the_policy_takes(tmp_path):
    with pytest.raises(ValueError, match="reward"):
        open_shop(tmp_path, contextual(model=Logistic()), timeout=1.0, timeout_reward=7.0)
    with pytest.raises(ValueError, match="reward"):
        open_arms(tmp_path, timeout=1.0, timeout_reward=1e200)


def test_a_reward_after_the_timeout_is_late_for_all_processes(tmp_path, monkeypatch):
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with open_arms(tmp_path, timeout=10.0) as learner:
        with open_arms(tmp_path, timeout=10.0, learns=False) as other:
            early = other.decide()
            late = other.decide()
            now[0] += 9.0
            assert other.reward(early.id, 1.0)
            now[0] += 1.0
            assert not other.reward(late.id, 1.0)
        learner.learn()
        assert not learner.reward(late.id, 1.0)
        assert len(learner.log()) == 1


def test_a_service_that_is_dropped_lets_others_learn(tmp_path):
    gc.collect()
    gc.disable()
    try:
        service = open_arms(tmp_path)
        action = service.decide(id="one").action
        del service
        with open_arms(tmp_path) as again:
            assert again.decide(id="one").action == action
    finally:
        gc.enable()


def use_inherited(service, answers):
    """Uses the service of another process, and closes it."""
    answers.put(type(service).__name__)
    for call in (service.decide, lambda: service.actions, lambda: service.reward("one", 1.0)):
        try:
            call()
        except OSError as error:
            answers.put(str(error))
    service.close()
    answers.put("closed")


@pytest.mark.posix
def test_a_process_that_was_forked_changes_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with open_arms(tmp_path) as service:
        service.decide(id="one")
        with service._session.lock:  # as another thread may hold it
            process = context.Process(target=use_inherited, args=(service, answers))
            process.start()
            process.join(60)
        assert process.exitcode == 0
        found = [answers.get() for _ in range(5)]
        assert all("open it anew in each process" in text for text in found[1:4])
        assert found[4] == "closed"
        with pytest.raises(OSError, match="another service of this process learns"):
            open_arms(tmp_path)
        assert service.reward("one", 1.0)


def learn_at(folder, at, answers):
    """Tries to be the learner, at a moment."""
    time.sleep(max(0.0, at - time.time() - 0.02))
    while time.time() < at:
        pass
    try:
        service = open_arms(folder)
    except OSError as error:
        answers.put(str(error))
    else:
        answers.put("learns")
        time.sleep(1.0)
        service.close()


@pytest.mark.slow
@pytest.mark.posix
def test_of_several_processes_that_start_at_once_one_learns(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(2):
        answers = context.SimpleQueue()
        folder = tmp_path / str(attempt)
        folder.mkdir()
        arguments = (folder, time.time() + 0.3, answers)
        processes = [context.Process(target=learn_at, args=arguments) for _ in range(4)]
        for process in processes:
            process.start()
        found = [answers.get() for _ in processes]
        for process in processes:
            process.join()
        assert found.count("learns") == 1
        assert sum("only one can at a time" in text for text in found) == 3, found


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM checkpoint",
        "UPDATE checkpoint SET state = NULL",
        "DELETE FROM meta",
        "UPDATE meta SET value = 'x'",
        "UPDATE decisions SET time = 'x'",
        "DROP TABLE events",
    ],
    ids=["checkpoint", "state", "meta", "values", "times", "tables"],
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path, change):
    with open_shop(tmp_path) as service:
        service.reward(service.decide(CONTEXT).id, 1.0)
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises((OSError, ValueError), match=r"shop\.sqlite") as error:
        open_shop(tmp_path)
    assert "\n" not in str(error.value)


def test_a_file_that_was_cut_is_refused_in_a_line(tmp_path):
    with open_shop(tmp_path) as service:
        decisions = service.decide_many([CONTEXT] * 300)
        service.reward_many([(decision.id, 1.0) for decision in decisions])
    file = tmp_path / "shop.sqlite"
    content = file.read_bytes()
    for size in range(1000, len(content), 9973):
        file.write_bytes(content[:size])
        for read in (lambda: open_shop(tmp_path), lambda: read_log(file)):
            with pytest.raises((OSError, ValueError), match=r"shop\.sqlite") as error:
                read()
            assert "\n" not in str(error.value)


def test_another_file_in_the_place_of_the_lock_is_named(tmp_path):
    (tmp_path / "shop.sqlite-learner").write_text("no database " * 200, "utf-8")
    with pytest.raises(ValueError, match=r"shop\.sqlite-learner"):
        open_arms(tmp_path)
