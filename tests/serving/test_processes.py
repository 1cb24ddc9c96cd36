"""Several processes share a file: one learns, others decide."""

import itertools
import multiprocessing
import os
import sqlite3
import time

import numpy as np
import pytest

from bandit_envs.base.saving import encode_state
from bandit_envs.serving import keepers
from tests.serving.services import CONTEXT, open_arms, open_shop


def test_a_second_learner_is_refused_by_name(tmp_path):
    with open_arms(tmp_path) as service:
        with pytest.raises(OSError, match="another service of this process learns") as error:
            open_arms(tmp_path)
        assert "learns=False" in str(error.value)
        service.decide()
    open_arms(tmp_path).close()


def test_others_decide_and_take_rewards(tmp_path, monkeypatch):
    monkeypatch.setattr(keepers, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(keepers, "SAVE_SHARE", 1.0)
    with open_shop(tmp_path) as learner, open_shop(tmp_path, learns=False) as other:
        decision = other.decide(CONTEXT)
        assert other.policy.is_untrained
        assert other.reward(decision.id, 1.0)
        assert not learner.reward(decision.id, 1.0)
        learner.decide(CONTEXT)
        assert learner.policy.get_state().content.learned.num_rewards == 1
        other.decide(CONTEXT)
        assert encode_state(other.policy.get_state()) == encode_state(learner.policy.get_state())
        learner.add_action("black")
        assert other.decide(CONTEXT, available=["black"]).action == "black"
        learner.retire_action("red")
        with pytest.raises(ValueError, match="'red' is retired"):
            other.decide(CONTEXT, available=["red"])
        for call in (other.learn, lambda: other.add_action("pink")):
            with pytest.raises(OSError, match="learns=False"):
                call()


@pytest.mark.posix
def test_a_link_to_a_file_has_no_learner_of_its_own(tmp_path):
    with open_arms(tmp_path):
        (tmp_path / "link").mkdir()
        (tmp_path / "link" / "shop.sqlite").symlink_to(tmp_path / "shop.sqlite")
        with pytest.raises(OSError, match="only one can at a time"):
            open_arms(tmp_path / "link")


def test_processes_agree_on_the_number_of_features(tmp_path):
    with open_arms(tmp_path) as learner, open_arms(tmp_path, learns=False) as other:
        learner.decide([1.0, 2.0])
        with pytest.raises(ValueError, match="3 features; expected 2"):
            other.decide([1.0, 2.0, 3.0])
        other.decide([1.0, 2.0])


def test_who_only_decides_needs_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_arms(tmp_path, learns=False)
    (tmp_path / "shop.sqlite").touch()  # as where a process was killed that creates it
    with pytest.raises(ValueError, match="is empty; DecisionService"):
        open_arms(tmp_path, learns=False)


def serve_users(folder, start, number):
    """Decides and rewards in another process."""
    assert start.wait(60.0)
    with open_arms(folder, learns=False) as service:
        for user in range(number):
            decision = service.decide(id=f"{os.getpid()}-{user}")
            service.reward(decision.id, float(decision.action == "red"))


def read_checkpoint(path):
    """What the file keeps of the policy."""
    connection = sqlite3.connect(path)
    (row,) = connection.execute("SELECT number, state FROM checkpoint")
    connection.close()
    return row


def write_checkpoint(path, row):
    """Puts the policy of the file back to an earlier state."""
    connection = sqlite3.connect(path)
    connection.execute("UPDATE checkpoint SET number = ?, state = ?", row)
    connection.commit()
    connection.close()


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_processes_write_at_the_same_time(tmp_path):
    context = multiprocessing.get_context("fork")
    start = context.Event()
    processes = [context.Process(target=serve_users, args=(tmp_path, start, 100)) for _ in range(2)]
    for process in processes:
        process.start()  # before there is a connection that they would inherit
    with open_arms(tmp_path, learn_every=3) as service:
        first = read_checkpoint(service.path)
        start.set()
        for user in range(100):
            service.reward(service.decide().id, 0.0)
            if user == 50:
                service.add_action("black")
        for process in processes:
            process.join()
            assert process.exitcode == 0
        service.learn()
        assert len(service.log()) == 300
        state = encode_state(service.policy.get_state())
    assert read_checkpoint(service.path) != first
    write_checkpoint(service.path, first)
    with open_arms(tmp_path) as service:  # which replays all rows
        assert encode_state(service.policy.get_state()) == state


def learn_for_ever(folder, ready):
    """Learns, decides, and changes actions, until the process is killed."""
    with open_arms(folder, learn_every=3, timeout=0.05) as service:
        ready.set()
        for user in itertools.count():
            service.reward(service.decide(id=f"learner-{os.getpid()}-{user}").id, 1.0)
            if "red" in service.open_actions:
                service.retire_action("red")
            else:
                service.add_action("red")


def names_of_others(path):
    """The ids of the decisions that processes made that do not learn."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id FROM decisions WHERE id NOT LIKE 'learner%'").fetchall()
    connection.close()
    assert len(rows) == 600
    return [name for (name,) in rows]


@pytest.mark.slow
@pytest.mark.posix
def test_a_learner_is_killed_while_others_decide(tmp_path):
    rng = np.random.default_rng(2)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.serving.test_processes"])
    with open_arms(tmp_path) as service:
        first = read_checkpoint(service.path)
    start = context.Event()
    start.set()
    others = [context.Process(target=serve_users, args=(tmp_path, start, 300)) for _ in range(2)]
    for process in others:
        process.start()
    for _ in range(6):
        ready = context.Event()
        learner = context.Process(target=learn_for_ever, args=(tmp_path, ready))
        learner.start()
        assert ready.wait(60)
        learner.join(rng.uniform(0.0, 0.4))
        assert learner.exitcode is None
        learner.kill()
        learner.join()
    for process in others:
        process.join()
        assert process.exitcode == 0
    with open_arms(tmp_path) as service:
        service.learn()
        assert not any(service.reward(name, 1.0) for name in names_of_others(service.path))
        state = encode_state(service.policy.get_state())
        actions = service.open_actions
    write_checkpoint(service.path, first)
    with open_arms(tmp_path) as service:  # which replays all rows
        assert encode_state(service.policy.get_state()) == state
        assert service.open_actions == actions


def learn_until_killed(folder, answers):
    """Learns in another process, and tells what it has decided."""
    service = open_arms(folder)
    answers.put(service.decide(id="last").action)
    time.sleep(60.0)


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_the_learner_of_a_dead_process_is_no_hindrance(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=learn_until_killed, args=(tmp_path, answers))
    process.start()
    action = answers.get()
    with pytest.raises(OSError, match=f"process {process.pid} "):
        open_arms(tmp_path)
    process.kill()
    process.join()
    with open_arms(tmp_path) as service:
        assert service.decide(id="last").action == action


@pytest.mark.posix
def test_a_process_that_was_forked_must_open_the_file_itself(tmp_path):
    with open_arms(tmp_path) as service:
        service._session._process -= 1
        with pytest.raises(OSError, match="open it anew in each process"):
            service.decide()
        service._session._process += 1
