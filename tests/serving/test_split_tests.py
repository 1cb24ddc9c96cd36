"""A service runs a test of variants: its report and its page say who won, as its policy does."""

import contextlib
import itertools
import sqlite3

import numpy as np
import pytest

from bandit_envs.policies import SplitTestPolicy
from bandit_envs.serving import DecisionService, read_report
from tests.drawing import no_figures
from tests.serving.services import open_arms

__all__ = ["no_figures"]

RATES = {"A": 0.1, "B": 0.4, "C": 0.1, "D": 0.1}


def run_test(path, policy, users):
    """Serves users, retires C and adds D half-way, and returns the policy's report."""
    rng = np.random.default_rng(0)
    with DecisionService(path, policy, ["A", "B", "C"], seed=1) as service:
        for part in range(2):
            decisions = service.decide_many([None] * (users // 2))
            paid = [float(rng.random() < RATES[each.action]) for each in decisions]
            service.reward_many((each.id, reward) for each, reward in zip(decisions, paid))
            if part == 0:
                service.retire_action("C")
                service.add_action("D")
        return service.policy.report(names=service.actions)


def test_a_page_of_a_service_says_who_won_with_the_numbers_of_its_policy(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "test.sqlite"
    expected = run_test(file, SplitTestPolicy(delta=0.1, num_actions=3, seed=0), users=600)
    report = read_report(file)
    assert expected.winner == "B"
    assert str(report.test) == str(expected)
    assert str(expected) in str(report)
    report.write_page(tmp_path / "test.html")
    page = (tmp_path / "test.html").read_text("utf-8")
    assert expected.headline() in page
    for row in expected.differences_table()[1:]:
        assert all(f">{cell}<" in page for cell in row)


def test_a_report_has_a_test_whose_description_is_too_long_to_be_shown(tmp_path):
    shares = (np.arange(1.0, 8.0) / 28.0).tolist()
    policy = SplitTestPolicy(shares=shares, tolerance=np.float64(0.1), num_actions=7, seed=0)
    assert "..." in repr(policy)
    with DecisionService(tmp_path / "test.sqlite", policy, list("abcdefg"), seed=1) as service:
        service.reward_many((each.id, 1.0) for each in service.decide_many([None] * 30))
        expected = str(service.policy.report(names=service.actions))
        assert str(service.report().test) == expected
    others = SplitTestPolicy(shares=[*shares[:6], 0.5], tolerance=0.1, num_actions=7, seed=0)
    assert repr(others) == repr(policy)
    assert DecisionService.upgrade(service.path, others)
    assert not DecisionService.upgrade(service.path, others)
    with pytest.raises(ValueError, match="was upgraded to"):
        DecisionService(service.path, policy)


def test_a_service_of_another_policy_has_no_test(tmp_path):
    with open_arms(tmp_path) as service:
        assert service.report().test is None
        file = service.path
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE policies SET policy = 'SplitTestPolicy(num_actions=3)'")
    assert read_report(file).test is None


def test_a_test_goes_on_where_the_process_ended(tmp_path):
    whole = tmp_path / "whole.sqlite"
    parts = tmp_path / "parts.sqlite"

    def make():
        return SplitTestPolicy(num_actions=2, seed=0)

    rng = np.random.default_rng(0)
    rewards = (rng.random(90) < 0.3).astype(float).tolist()
    for path, cuts in ((whole, (0, 90)), (parts, (0, 30, 65, 90))):
        for start, stop in itertools.pairwise(cuts):
            with DecisionService(path, make(), ["a", "b"], seed=1) as service:
                for reward in rewards[start:stop]:
                    service.reward(service.decide().id, reward)
                last = service.policy.report()
        if path == whole:
            expected = str(last)
    assert str(last) == expected


def test_a_report_tells_decisions_after_the_stop_from_those_before(tmp_path):
    policy = SplitTestPolicy(num_actions=2, seed=0)
    with DecisionService(tmp_path / "test.sqlite", policy, ["A", "B"], seed=0) as service:
        first = service.decide_many([None] * 220)
        before = service.report()
        service.reward_many((each.id, float(each.action == "A")) for each in first)
        assert service.policy.has_stopped
        served = service.decide_many([None] * 20)  # without a warning
        report = service.report()
    assert {each.action for each in served} == {"A"}
    assert (before.certain, before.after_stop) == (0, 0)
    assert (report.certain, report.after_stop) == (20, 20)
    assert "certain (20 decisions after the stop of the test)" in str(report)
    assert [each.weight for each in report.actions] == [each.weight for each in before.actions]
    (note,) = report.notes
    assert note.startswith("After the stop of the test, its winner alone is served")
    assert "the value of the winner counts their rewards, and the test does not" in note


def test_a_report_counts_the_users_that_the_policy_counts(tmp_path):
    policy = SplitTestPolicy(num_actions=2, seed=0)
    with DecisionService(tmp_path / "test.sqlite", policy, ["A", "B"], seed=0) as service:
        first = service.decide_many([None] * 220)
        service.reward_many((each.id, float(each.action == "A")) for each in first)
        assert service.policy.has_stopped
        after = service.decide_many([None] * 30)
        service.add_action("C")
        service.reward_many((each.id, 1.0) for each in service.decide_many([None] * 10))
        service.reward_many((each.id, 0.0) for each in after)
        assert str(service.report().test) == str(service.policy.report(names=service.actions))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_late_rewards_of_users_who_saw_the_winner_alone_are_no_split(tmp_path, epsilon):
    rng = np.random.default_rng(0)
    rates = {"A": 0.3, "B": 0.2, "C": 0.1, "D": 0.1}

    def pay(service, decisions, factor=1.0):
        paid = [(each.id, float(rng.random() < factor * rates[each.action])) for each in decisions]
        service.reward_many(paid)

    policy = SplitTestPolicy(num_actions=3, seed=0)
    file = tmp_path / "test.sqlite"
    names = ["A", "B", "C"]
    with DecisionService(file, policy, names, seed=0, epsilon=epsilon) as service:
        while not service.policy.has_stopped:
            pay(service, service.decide_many([None] * 200))
        bad_days = service.decide_many([None] * 2000)
        service.add_action("D")
        pay(service, service.decide_many([None] * 20))
        known = service.policy.report(names=service.actions)
        pay(service, bad_days, factor=0.2)
        report = service.policy.report(names=service.actions)
        assert str(report) == str(known)
        pay(service, service.decide_many([None] * 2000))
        report = service.policy.report(names=service.actions)
    assert report.winner == "A"
    assert report.counts[3] > 0
    assert not report.is_split_wrong
