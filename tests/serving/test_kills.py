"""A process that is killed goes on as if it had not been."""

import itertools
import multiprocessing

import numpy as np
import pytest

from bandit_envs.serving import read_report
from tests.serving.killed_process import (
    BATCH,
    find_start,
    results,
    serve,
    serve_quietly,
    upgrade_for_ever,
)

WITHOUT_END = 10**9
"""More users than any process serves before it is killed."""

LAST_CHANGE = 1_600
"""The number of a user after whom no action and no policy changes."""


def serve_with_kills(folder, users, name, kills, seconds):
    """Serves users in processes that are killed at random moments; returns how many were killed.

    Args:
        folder: of the file.
        users: how many.
        name: of the policy.
        kills: how many processes are killed, unless all is done before.
        seconds: the mean time of a process after its start. One in eight is killed in its start.
    """
    rng = np.random.default_rng(1)
    context = multiprocessing.get_context("forkserver")  # whose processes need not import
    context.set_forkserver_preload(["tests.serving.killed_process"])
    for killed in range(kills):
        ready, when_ready = context.Pipe(duplex=False)
        process = context.Process(target=serve_quietly, args=(folder, users, name, when_ready))
        process.start()
        when_ready.close()
        wait = rng.uniform(0.0, 0.1)
        if rng.random() < 7 / 8:
            assert ready.recv() == "ready"
            wait = rng.uniform(0.0, 2.0 * seconds)
        process.join(wait)
        if process.exitcode is not None:
            assert process.exitcode == 0
            return killed
        process.kill()
        process.join()
    return kills


def check_kills(folder, users, name, kills, seconds):
    """Compares a run with kills to an undisturbed one of as many users; returns how many kills.

    If the users do not end, the run ends with those who were served among the kills, and some more.
    """
    undisturbed = folder / "undisturbed"
    disturbed = folder / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    killed = serve_with_kills(disturbed, users, name, kills, seconds)
    if users == WITHOUT_END:
        users = max(LAST_CHANGE, find_start(disturbed) + 10 * BATCH)
    serve(disturbed, users, name)
    serve(undisturbed, users, name)
    log, state, answers = results(disturbed, name)
    expected_log, expected_state, expected_answers = results(undisturbed, name)
    assert answers == expected_answers
    assert len(answers) == users
    assert log == expected_log
    assert state == expected_state
    return killed


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
@pytest.mark.parametrize("name", ["upgraded", "pending", "items", "sampled"])
def test_a_killed_process_goes_on_as_if_it_had_not_been(tmp_path, name):
    assert check_kills(tmp_path, users=1_600, name=name, kills=2, seconds=0.1) >= 1


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("upgraded", 3),
        pytest.param("upgraded", 30, marks=pytest.mark.slow),
        pytest.param("upgraded to count", 30, marks=pytest.mark.slow),
    ],
)
def test_a_killed_upgrade_has_happened_or_not(tmp_path, name, kills):
    serve(tmp_path, 200, name)
    log, first_state, _ = results(tmp_path, name)
    states = {read_report(tmp_path / "shop.sqlite").policies[0].policy: first_state}
    rng = np.random.default_rng(2)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.serving.killed_process"])
    upgrades = []
    for _ in range(kills):
        ready, when_ready = context.Pipe(duplex=False)
        process = context.Process(target=upgrade_for_ever, args=(tmp_path, name, when_ready))
        process.start()
        assert ready.recv() == "upgraded"
        process.join(rng.uniform(0.0, 0.3))
        process.kill()
        process.join()
        policies = [each.policy for each in read_report(tmp_path / "shop.sqlite").policies]
        assert all(before != after for before, after in itertools.pairwise(policies))
        upgrades.append(len(policies))
        found_log, state, _ = results(tmp_path, name)
        assert found_log == log
        assert states.setdefault(policies[-1], state) == state
    assert upgrades == sorted({*upgrades})  # each process has made one at least


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize(
    ("name", "kills"),
    [("contextual", 30), ("items", 30), ("upgraded", 20), ("upgraded to count", 20)],
)
def test_many_kills_change_nothing(tmp_path, name, kills):
    assert check_kills(tmp_path, WITHOUT_END, name, kills=kills, seconds=0.01) == kills
