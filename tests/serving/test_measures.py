"""Decisions may have further rewards by name, such as costs, which decide nothing."""

import contextlib
import sqlite3

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import read_log, scan_log
from bandit_envs.policies import SplitTestPolicy
from bandit_envs.policies.split_tests import compare_variants
from bandit_envs.serving import DecisionService, read_report
from tests.serving.services import NAMES, arms, open_arms, open_offers


def test_a_report_has_the_means_of_further_rewards_for_each_action(tmp_path):
    rng = np.random.default_rng(0)
    costs = {name: [] for name in NAMES}
    with open_arms(tmp_path) as service:
        for decision in service.decide_many([None] * 60):
            cost = float(rng.normal())
            costs[decision.action].append(cost)
            assert service.measure(decision.id, {"cost": cost, "back": True})
        report = service.report()
    back, cost = report.measures
    assert (back.name, cost.name) == ("back", "cost")
    assert back.means == [1.0] * len(NAMES)
    assert cost.decisions == [len(each) for each in costs.values()]
    np.testing.assert_allclose(cost.means, [np.mean(each) for each in costs.values()])
    np.testing.assert_allclose(cost.mean, np.mean(np.concatenate([*costs.values()])))
    assert f"{cost.mean:.4f}" in str(report)
    assert report.rewards == 0


def test_a_decision_has_one_further_reward_of_each_name(tmp_path):
    with open_arms(tmp_path) as service:
        service.decide(id="visit")
        assert service.measure("visit", {"cost": 2.0})
        assert not service.measure("visit", {"cost": 3.0})
        assert not service.measure("visit", {"cost": 3.0, "back": 1.0})
        assert [each.mean for each in service.report().measures] == [1.0, 2.0]
        assert service.reward("visit", 1.0)


def test_no_policy_learns_from_further_rewards(tmp_path):
    (tmp_path / "other").mkdir()
    with open_arms(tmp_path) as service, open_arms(tmp_path / "other") as other:
        for number in range(40):
            decisions = [each.decide(id=str(number)) for each in (service, other)]
            assert decisions[0] == decisions[1]
            for each in (service, other):
                each.reward(str(number), float(number % 3 == 0))
            service.measure(str(number), {"cost": 100.0 * number})


def test_processes_that_do_not_learn_write_further_rewards(tmp_path):
    with open_arms(tmp_path) as service, open_arms(tmp_path, learns=False) as other:
        service.decide(id="visit")
        assert other.measure("visit", {"cost": 2.0})
        assert not service.measure("visit", {"cost": 2.0})


@pytest.mark.parametrize(
    ("name", "values", "error", "message"),
    [
        ("nobody", {"cost": 1.0}, ValueError, "there is no such decision"),
        ("visit", 1.0, TypeError, "values is 1.0; expected a dict"),
        ("visit", {"": 1.0}, ValueError, "a name in values is ''"),
        ("visit", {"reward": 1.0}, ValueError, "neither empty nor 'reward'"),
        ("visit", {3: 1.0}, ValueError, "a name in values is 3"),
        ("visit", {"cost": np.nan}, ValueError, r"values\['cost'\] is nan"),
        ("visit", {"back": 1.0, "cost": "1"}, TypeError, r"values\['cost'\] is '1'"),
    ],
)
def test_a_refused_call_writes_nothing(tmp_path, name, values, error, message):
    with open_arms(tmp_path) as service:
        service.decide(id="visit")
        with pytest.raises(error, match=message):
            service.measure_many([("visit", {"other": 1.0}), (name, values)])
        assert service.report().measures == []
        assert service.measure("visit", {"other": 1.0})


def test_a_report_has_the_means_of_further_rewards_of_items(tmp_path):
    context = {"age": 0.5, "country": "DE"}
    prices = {"a": 1.0, "b": 2.0}
    items = {name: {"price": price, "kind": "news"} for name, price in prices.items()}
    with open_offers(tmp_path) as service:
        for _ in range(40):
            decision = service.decide(context, actions=items)
            service.measure(decision.id, {"cost": prices[decision.action]})
        report = service.report()
    found = dict(zip((row.action for row in report.actions), report.measures[0].means))
    assert found == prices
    costs = report.measures[0]
    assert (costs.number, len(costs.means)) == (40, 2)
    assert report.measures_table()[-1] == ["all", f"{costs.mean:.4f}", "40"]


def test_a_served_test_shows_further_rewards_as_a_table_of_its_users_does(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = []
    file = tmp_path / "test.sqlite"
    with DecisionService(file, SplitTestPolicy(num_actions=3, seed=0), [*"ABC"], seed=0) as service:
        for decision in service.decide_many([None] * 300):
            is_b = decision.action == "B"
            row = (decision.action, float(rng.random() < 0.1 + 0.1 * is_b), rng.normal(is_b))
            service.reward(decision.id, row[1])
            service.measure(decision.id, {"cost": row[2]})
            rows.append(row)
    users = pd.DataFrame(rows, columns=["variant", "reward", "cost"])
    expected = compare_variants(users, reward=["reward", "cost"])
    found = read_report(file).test
    assert not found.has_stopped
    assert found.metrics == expected.metrics
    assert found.variants_table() == expected.variants_table()
    assert found.differences_table() == expected.differences_table()


def test_a_further_reward_stops_no_test(tmp_path):
    with DecisionService(
        tmp_path / "test.sqlite", SplitTestPolicy(num_actions=2, seed=0), ["A", "B"], seed=0
    ) as service:
        decisions = service.decide_many([None] * 100)
        service.reward_many((each.id, 0.0) for each in decisions)
        service.measure_many((each.id, {"cost": float(each.action == "B")}) for each in decisions)
        service.measure_many((each.id, {"only": 1.0}) for each in decisions if each.action == "B")
        test = service.report().test
    assert not test.has_stopped
    assert test.differences_table()[-1][2:] == ["", "no period with users of both", "0"]
    assert sum(row.users for row in test.differences if row.metric == "cost") == 100


@pytest.mark.parametrize("column", ["name = x'00'", "value = 'x'"])
def test_a_report_refuses_damaged_further_rewards(tmp_path, column):
    with open_arms(tmp_path) as service:
        service.decide(id="visit")
        service.measure("visit", {"cost": 1.0})
    with contextlib.closing(sqlite3.connect(service.path)) as connection, connection:
        connection.execute(f"UPDATE measures SET {column}")
    with pytest.raises(ValueError, match="is damaged"):
        read_report(service.path)


def test_an_upgrade_keeps_further_rewards(tmp_path):
    with open_arms(tmp_path) as service:
        service.decide(id="visit")
        service.measure("visit", {"cost": 1.0})
    policy = arms().replicate(1)
    DecisionService.upgrade(service.path, policy)
    with DecisionService(service.path, policy) as service:
        assert not service.measure("visit", {"cost": 2.0})
        assert service.report().measures[0].mean == 1.0


def test_a_further_reward_is_evaluated_as_the_reward_is(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "costs").mkdir()
    with open_arms(tmp_path, epsilon=0.3) as service, open_arms(tmp_path / "costs") as other:
        for number in range(30):
            decision = service.decide(id=str(number))
            cost = float(rng.normal())
            service.measure(decision.id, {"cost": cost})
            if number < 20:
                service.reward(decision.id, 1.0)
        service.decide()
        log = read_log(service.path, reward="cost", time="time")
        assert [*log.step] == sorted(log.step)
        means = {each.name: each for each in service.report().measures}
        assert (len(log), log.reward.mean()) == (30, pytest.approx(means["cost"].mean))
        scan = scan_log(service.path, reward="cost")
        assert scan.remarks()[-2:] == [
            "more cost counts as better: if it is a cost, a gain below 0 is good",
            "1 of 31 decisions have no cost, and are left out",
        ]
        rows = evaluate(scan, "constant:number=green", "ips").rows
        is_green = log.action == 1
        expected = np.where(is_green, log.reward / log.propensity, 0.0).mean()
        assert rows[-1].value == pytest.approx(expected)
        service.measure("29", {"back": 1.0})
        service.measure(service.decide().id, {"cost": 100.0})
        assert sum(map(len, scan)) == 30  # as it was when it was opened
        with pytest.raises(
            ValueError, match=r"no decision has; expected one of \['reward', 'back'"
        ):
            scan_log(service.path, reward="price")
        assert other.decide()
        assert len(read_log(tmp_path, reward="cost")) == 31
