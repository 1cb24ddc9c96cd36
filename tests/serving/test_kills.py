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

LAST_CHANGE = 400
"""The number of a user after whom no action and no policy changes."""


def serve_with_kills(folder, name, kills):
    """Serves users in processes that are killed at random moments, one in eight as it starts.

    Args:
        folder: of the file.
        name: of the policy.
        kills: how many processes are killed.
    """
    rng = np.random.default_rng(1)
    context = multiprocessing.get_context("forkserver")  # whose processes need not import
    context.set_forkserver_preload(["tests.serving.killed_process"])
    for _ in range(kills):
        ready, when_ready = context.Pipe(duplex=False)
        arguments = (folder, WITHOUT_END, name, when_ready)
        process = context.Process(target=serve_quietly, args=arguments)
        process.start()
        when_ready.close()
        wait = rng.uniform(0.0, 0.1)
        if rng.random() < 7 / 8:
            assert ready.recv() == "ready"
            wait = rng.uniform(0.0, 0.02)
        process.join(wait)
        assert process.exitcode is None
        process.kill()
        process.join()


def check_kills(folder, name, kills):
    """Compares a run with kills to an undisturbed one of as many users.

    It ends with the users who were served among the kills, and some more.
    """
    undisturbed = folder / "undisturbed"
    disturbed = folder / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    serve_with_kills(disturbed, name, kills)
    users = max(LAST_CHANGE, find_start(disturbed) + 10 * BATCH)
    serve(disturbed, users, name)
    serve(undisturbed, users, name)
    log, state, answers = results(disturbed, name)
    expected_log, expected_state, expected_answers = results(undisturbed, name)
    assert answers == expected_answers
    assert len(answers) == users
    assert log == expected_log
    assert state == expected_state


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
@pytest.mark.parametrize("name", ["upgraded", "upgraded to count"])
def test_a_killed_upgrade_has_happened_or_not(tmp_path, name):
    serve(tmp_path, 200, name)
    log, first_state, _ = results(tmp_path, name)
    states = {read_report(tmp_path / "shop.sqlite").policies[0].policy: first_state}
    rng = np.random.default_rng(2)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.serving.killed_process"])
    upgrades = []
    for _ in range(30):
        ready, when_ready = context.Pipe(duplex=False)
        process = context.Process(target=upgrade_for_ever, args=(tmp_path, name, when_ready))
        process.start()
        assert ready.recv() == "upgraded"
        process.join(rng.uniform(0.0, 0.1))
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
@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
@pytest.mark.parametrize(
    ("name", "kills"),
    [("upgraded", 40), ("upgraded to count", 20), ("items", 30), ("pending", 10), ("sampled", 10)],
)
def test_many_kills_change_nothing(tmp_path, name, kills):
    check_kills(tmp_path, name, kills)
