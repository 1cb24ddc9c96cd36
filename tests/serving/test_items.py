"""A service whose calls offer items with features, other ones each time."""

import contextlib
import dataclasses
import shutil
import sqlite3
import warnings

import numpy as np
import pytest

from bandit_envs import ArraySpec, EpsilonGreedyPolicy, LinUCBPolicy, RandomPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import read_log, read_policy, scan_log, write_policy
from bandit_envs.logged.learners import ModelLearner
from bandit_envs.policies.models import BayesianRidge, HybridRidge, Ridge
from bandit_envs.policies.rules import EpsilonGreedy, ThompsonSampling
from bandit_envs.serving import DecisionService, keepers, read_report
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each
from tests.serving.killed_process import context_of, items_for, reward_of
from tests.serving.services import (
    CONTEXT,
    ITEMS,
    NAMES,
    of_items,
    open_arms,
    open_offers,
)


@pytest.fixture
def service(tmp_path):
    """A service of items."""
    with open_offers(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def offers(tmp_path_factory):
    """The folder of a service that has served some users."""
    folder = tmp_path_factory.mktemp("offers")
    with open_offers(folder) as found:
        serve_users(found, range(5))
    return folder


def serve_users(service, users, every=4):
    """Serves users, of whom some pay nothing and never say so."""
    for user in users:
        service.decide(context_of(user), actions=items_for(user), id=f"user-{user}")
        if user % every:
            service.reward(f"user-{user}", reward_of(user))


def test_an_item_of_the_call_is_drawn(tmp_path):
    with open_offers(tmp_path) as service:
        decision = service.decide(CONTEXT, actions=ITEMS)
        assert decision.action in ITEMS
        assert decision.probability == pytest.approx(1 / 3)
        assert service.decide(CONTEXT, actions={"a": ITEMS["offer-1"]}).action == "a"


def test_a_service_learns_which_items_pay(tmp_path):
    with open_offers(tmp_path) as service:
        for user in range(100):
            items = items_for(user)
            decision = service.decide(context_of(user), actions=items)
            service.reward(decision.id, items[decision.action]["kind"] == "news")
        found = service.decide(CONTEXT, actions=ITEMS | {"unseen": {"price": 0.2, "kind": "sport"}})
        news = [service.decide(CONTEXT, actions=ITEMS).action for _ in range(20)]
    assert found.action != "unseen"
    assert news.count("offer-2") <= 4


def test_the_log_has_all_that_was_offered(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(40))
        log = service.log()
    users = [user for user in range(40) if user % 4]
    assert len(log) == len(users)
    assert log.num_actions == max(len(items_for(user)) for user in range(40))
    names = log.encoding.items
    labels = log.encoding.of_items().labels()
    for row, user in enumerate(users):
        items = items_for(user)
        offered = [names[item] for item in log.item[row] if item >= 0]
        assert offered == [*items]
        assert log.observation["mask"][row].sum() == len(items)
        for place, cells in enumerate(items.values()):
            expected = [cells["price"], cells["kind"] == "news", cells["kind"] == "sport"]
            assert log.observation["per_arm"][row, place].tolist() == expected
        age = context_of(user)["age"]
        assert log.observation["global"][row, 0] == age
    assert labels == ["price", "kind=news", "kind=sport"]
    assert log.reward.tolist() == [reward_of(user) for user in users]


def test_a_scan_has_one_encoding_and_one_width(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(40))
    log = read_log(tmp_path / "shop.sqlite")
    batches = [*scan_log(tmp_path / "shop.sqlite", batch_rows=7)]
    assert {batch.num_actions for batch in batches} == {log.num_actions}
    assert all(batch.encoding == log.encoding for batch in batches)
    assert batches[1] == log[7:14]


def test_the_file_is_a_log_for_evaluate(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(60))
        *_, row = evaluate(service.path, {"uniform": "random"}, ["ips"]).rows
        log = service.log()
    weights = 1.0 / log.observation["mask"].sum(axis=1) / log.propensity
    assert row.value == pytest.approx((weights * log.reward).mean())


def test_logged_probabilities_are_those_of_a_replay(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(60), every=61)
        log = service.log()
    policy = of_items().with_actions(log.num_actions)
    for row in range(len(log)):
        one = log[row : row + 1]
        now = restart(one.seen(), 1)
        assert policy.probabilities(now)[0, one.action[0]] == pytest.approx(one.propensity[0])
        after = termination((), np.zeros(1))._replace(reward=one.reward)
        policy.learn(Trajectory.from_transition(now, one.action, after))


def test_a_restart_goes_on_where_it_was(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    with open_offers(tmp_path / "whole") as service:
        serve_users(service, range(40))
        state = encode_state(service.policy.get_state())
    for start in range(0, 40, 10):
        with open_offers(tmp_path / "parts") as service:
            serve_users(service, range(start, start + 10))
            assert service.policy.num_actions == 100
    with DecisionService(tmp_path / "parts" / "shop.sqlite", of_items()) as service:
        assert encode_state(service.policy.get_state()) == state
    logs = [read_log(tmp_path / name / "shop.sqlite") for name in ("whole", "parts")]
    assert logs[0] == logs[1]


def test_many_decisions_are_those_of_single_calls(tmp_path):
    (tmp_path / "many").mkdir()
    users = range(20)
    with open_offers(tmp_path) as service:
        single = [
            service.decide(context_of(user), actions=items_for(user), id=f"{user}")
            for user in users
        ]
    with open_offers(tmp_path / "many") as service:
        many = service.decide_many(
            [context_of(user) for user in users],
            ids=[f"{user}" for user in users],
            actions=[items_for(user) for user in users],
        )
    assert many == single


def test_a_repeated_id_has_its_first_decision_if_that_is_offered_now(tmp_path):
    with open_offers(tmp_path) as service:
        first = service.decide(CONTEXT, actions=ITEMS, id="visit")
        fewer = {first.action: {"price": 9.0, "kind": "news"}}
        assert service.decide(CONTEXT, actions=fewer, id="visit") == first
        with pytest.raises(ValueError, match=f"id 'visit' has chosen '{first.action}' before"):
            service.decide(CONTEXT, actions={"other": ITEMS["offer-1"]}, id="visit")
    assert first.action in read_report(service.path).actions[0].action


def test_a_repeated_id_is_not_answered_by_an_action_that_is_not_available(tmp_path):
    with open_arms(tmp_path) as service:
        first = service.decide(id="visit").action
        others = [name for name in NAMES if name != first]
        with pytest.raises(ValueError, match="which is not available now"):
            service.decide(available=others, id="visit")
        service.retire_action(first)
        with pytest.raises(ValueError, match="which is not available now"):
            service.decide(id="visit")
        service.add_action(first)
        assert service.decide(id="visit").action == first


def test_a_reward_counts_though_its_item_is_gone(tmp_path):
    with open_offers(tmp_path) as service:
        decision = service.decide(CONTEXT, actions={"last": {"price": 1.0, "kind": "news"}})
        service.decide(CONTEXT, actions=ITEMS)
        assert service.reward(decision.id, 1.0)
        assert not service.reward(decision.id, 0.0)
        assert service.policy.get_state().content.learned.num_rewards == 1


def test_followers_add_items(tmp_path, monkeypatch):
    monkeypatch.setattr(keepers, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(keepers, "SAVE_SHARE", 1.0)
    with open_offers(tmp_path) as learner, open_offers(tmp_path, learns=False) as other:
        learner.decide(CONTEXT, actions=ITEMS)
        new = {"new": {"price": 3.0, "kind": "news"}, "offer-2": ITEMS["offer-2"]}
        decision = other.decide(CONTEXT, actions=new)
        newer = {"newer": ITEMS["offer-1"], "new": new["new"]}
        learner.decide(CONTEXT, actions=newer)
        assert other.reward(decision.id, 1.0)
        learner.decide(CONTEXT, actions=newer)
        other.decide(CONTEXT, actions=newer)
        assert encode_state(other.policy.get_state()) == encode_state(learner.policy.get_state())
        assert other.encoding.items == ("offer-1", "offer-2", "offer-3", "new", "newer")


def test_a_call_that_fails_leaves_no_item_behind(tmp_path):
    """Neither in the file nor in memory, though it was numbered before the call failed."""
    with open_offers(tmp_path) as service:
        first = service.decide(CONTEXT, actions={"a": ITEMS["offer-1"]}, id="visit")
        with pytest.raises(ValueError, match="not available now"):
            service.decide_many(
                [CONTEXT, CONTEXT],
                ids=["new", "visit"],
                actions=[{"b": ITEMS["offer-1"]}, {"c": ITEMS["offer-1"]}],
            )
        assert service.encoding.items == ("a",)
        service.reward(service.decide(CONTEXT, actions={"c": ITEMS["offer-1"]}).id, 0.0)
        service.reward(service.decide(CONTEXT, actions={"b": ITEMS["offer-1"]}).id, 1.0)
        assert service.encoding.items == ("a", "c", "b")
        assert service.reward(first.id, 1.0)
        assert service.log().item.tolist() == [[1], [2], [0]]


@for_each(
    ("items", "error", "message"),
    [
        (None, TypeError, "actions is None; expected a dict"),
        ([], TypeError, "actions is \\[\\]; expected a dict"),
        ({}, ValueError, "actions has 0 items; expected 1 to 100"),
        ({"a": 1}, TypeError, r"actions\['a'\] is 1; expected a dict of price, kind"),
        ({"a": {"price": 1.0}}, ValueError, r"actions\['a'\] has no 'kind'"),
        ({"a": {**ITEMS["offer-1"], "x": 1}}, ValueError, r"actions\['a'\] has 'x'"),
        (
            {"a": {"price": "dear", "kind": "news"}},
            ValueError,
            r"actions\['a'\]\['price'\] is 'dear'",
        ),
        (
            {"a": {"price": 1e200, "kind": "news"}},
            ValueError,
            r"expected a finite number, at most 1e\+100 in size",
        ),
        ({"a": {"price": 1.0, "kind": None}}, ValueError, r"actions\['a'\]\['kind'\] is None"),
        ({"": ITEMS["offer-1"]}, ValueError, "action is ''; expected a name"),
        ({1: ITEMS["offer-1"]}, TypeError, "action is 1; expected a name"),
        (
            {f"{n}": ITEMS["offer-1"] for n in range(101)},
            ValueError,
            "actions has 101 items; expected 1 to 100, the max_actions of the service",
        ),
    ],
)
def test_items_that_do_not_fit_are_refused(service, items, error, message):
    with pytest.raises(error, match=message):
        service.decide(CONTEXT, actions=items)
    service.decide(CONTEXT, actions=ITEMS)


def test_an_unknown_text_of_an_item_has_features_of_zero(tmp_path):
    items = {"a": {"price": 1.0, "kind": "opera"}}
    with open_offers(tmp_path) as service:
        with pytest.warns(UserWarning, match=r"actions\['a'\]\['kind'\] is 'opera'"):
            decision = service.decide(CONTEXT, actions=items)
        service.reward(decision.id, 1.0)
        assert service.log().observation["per_arm"].tolist() == [[[1.0, 0.0, 0.0]]]


def test_times_of_items_are_features(tmp_path):
    policy = of_items(widths=(0, 5))
    path = tmp_path / "shop.sqlite"
    with DecisionService(path, policy, item_features={"ends": "time"}, seed=0) as service:
        decision = service.decide(actions={"a": {"ends": "2024-01-01 06:00"}})
        service.reward(decision.id, 1.0)
        log = service.log()
    assert log.observation["global"].shape == (1, 0)
    (ends,) = log.encoding.item_features
    expected = ends.encode(np.array(["2024-01-01T06:00"], "M8[us]"))
    assert log.observation["per_arm"][0].tolist() == expected.tolist()


def test_what_is_of_fixed_actions_is_refused(tmp_path):
    with open_offers(tmp_path) as service:
        with pytest.raises(ValueError, match="leave out of actions what may not be chosen"):
            service.decide(CONTEXT, ["offer-1"], actions=ITEMS)
        for change in (service.add_action, service.retire_action):
            with pytest.raises(ValueError, match="is for fixed actions"):
                change("offer-1")
        assert service.actions == ()
    with pytest.raises(ValueError, match="expected None, as each call of decide offers its own"):
        DecisionService(service.path, of_items(), NAMES)
    with pytest.raises(ValueError, match=r"max_actions is 5; .* was made for 100"):
        open_offers(tmp_path, max_actions=5)
    with pytest.raises(ValueError, match=r"item_features is .*; .* has {'price': 'number'"):
        open_offers(tmp_path, item_features={"price": "number"})


def test_what_is_of_items_is_refused_by_a_service_of_fixed_actions(tmp_path):
    with open_arms(tmp_path) as service, pytest.raises(ValueError, match="has fixed actions"):
        service.decide(actions=ITEMS)
    with pytest.raises(ValueError, match="max_actions is 5, and there is no item_features"):
        open_arms(tmp_path, max_actions=5)


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (EpsilonGreedyPolicy(0.1, num_actions=3), {}, "which tells actions by their numbers"),
        (of_items(model=HybridRidge()), {}, "which tells actions by their numbers"),
        (of_items(widths=(3, 2)), {}, "features makes 3 of a context, and item_features 3"),
        (of_items(), {"max_actions": 0}, "max_actions"),
        (of_items(), {"max_actions": 1001}, "max_actions"),
        (of_items().with_actions(9), {"max_actions": 5}, "policy has 9 actions"),
    ],
    ids=["arms", "hybrid", "width", "none", "many", "fewer"],
)
def test_policies_that_cannot_choose_items_are_refused(tmp_path, policy, options, message):
    with pytest.raises(ValueError, match=message):
        open_offers(tmp_path, policy, **options)


def test_a_policy_that_reads_no_features_draws_items_at_random(tmp_path):
    with open_offers(tmp_path, RandomPolicy(num_actions=2)) as service:
        found = service.decide_many([CONTEXT] * 50, actions=[ITEMS] * 50)
    assert {each.action for each in found} == {*ITEMS}
    assert [each.probability for each in found] == pytest.approx([1 / 3] * 50)
    with open_offers(tmp_path, RandomPolicy(num_actions=2)) as service:
        assert service.decide(CONTEXT, actions=ITEMS).action in ITEMS


def test_samples_estimate_probabilities_of_items(tmp_path):
    policy = of_items(ThompsonSampling(), BayesianRidge())
    with open_offers(tmp_path, policy, samples=50, epsilon=0.1) as service:
        serve_users(service, range(30))
        log = service.log()
    smallest = 0.1 / log.observation["mask"].sum(axis=1)
    assert (log.propensity >= smallest - 1e-12).all()


def test_a_policy_that_learned_from_other_columns_is_refused(tmp_path):
    policy = of_items()
    with open_offers(tmp_path) as service:
        serve_users(service, range(20))
        policy.encoding = service.encoding
    with DecisionService(tmp_path / "next.sqlite", policy, seed=0) as service:
        assert service.decide(CONTEXT, actions=ITEMS).action in ITEMS
    columns = dataclasses.replace(
        policy.encoding, item_features=policy.encoding.item_features[::-1]
    )
    with pytest.raises(ValueError, match=r"item_features is .*; expected .*, as the policy has"):
        DecisionService(tmp_path / "other.sqlite", policy, features=columns)


def test_a_linear_policy_without_a_constant_is_told(tmp_path):
    spec = {"global": ArraySpec((1,), "float64"), "per_arm": ArraySpec((1, 1), "float64")}
    columns = {"features": {"hour": "number"}, "item_features": {"price": "number"}}
    rng = np.random.default_rng(0)
    for intercept in (False, True):
        policy = LinUCBPolicy(intercept=intercept, observation_spec=spec, seed=0)
        path = tmp_path / f"{intercept}.sqlite"
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with DecisionService(path, policy, **columns, epsilon=0.1) as service:
                for _ in range(60):
                    items = {f"{n}": {"price": float(rng.normal())} for n in range(3)}
                    service.decide({"hour": float(rng.normal())}, actions=items)
        assert any("cannot learn the mean reward" in str(each.message) for each in found) == (
            not intercept
        )


def test_a_report_has_the_items_that_were_chosen_most(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(120))
        report = service.report(reward_range=(0.0, 1.0))
        log = service.log()
    assert report.decisions == 120
    assert report.rewards == len(log)
    assert len(report.actions) == 20 < report.num_items == len(log.encoding.items)
    counts = [row.decisions for row in report.actions]
    assert counts == sorted(counts, reverse=True)
    names = np.array(log.encoding.items)[log.item[np.arange(len(log)), log.action]]
    for row in report.actions:
        is_row = names == row.action
        assert row.rewards == is_row.sum()
        weights = np.where(is_row, 1.0 / log.propensity, 0.0)
        assert row.value == pytest.approx((weights * log.reward).sum() / weights.sum())
        assert row.low <= row.value <= row.high
    text = str(report)
    assert f"The 20 items of {report.num_items} that were chosen most often." in text
    assert "new items" in text


@pytest.mark.slow
def test_the_command_shows_a_report_of_items(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rich")
    pytest.importorskip("matplotlib")
    from bandit_envs.cli import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    with open_offers(tmp_path) as service:
        serve_users(service, range(60))
    main(["show", "shop.sqlite", "--range", "0", "1", "--policy", "random"])
    assert "new items" in capsys.readouterr().out
    page = (tmp_path / "shop.html").read_text("utf-8")
    assert "Items" in page


def test_a_report_tells_the_share_of_new_items(tmp_path, monkeypatch):
    clock = [1e9]
    monkeypatch.setattr("time.time", lambda: clock[0])
    with open_offers(tmp_path) as service:
        service.decide(CONTEXT, actions=ITEMS)
        clock[0] += 86_400.0 * 3
        service.decide(CONTEXT, actions={"new": ITEMS["offer-1"]})
        service.decide(CONTEXT, actions={"offer-1": ITEMS["offer-1"]})
        report = service.report()
    assert [each.new_items for each in report.periods if each.decisions] == [1.0, 0.5]


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE decisions SET available = x'00'",
        "UPDATE decisions SET available = NULL",
        "UPDATE decisions SET available = x'ffffffff'",
        "UPDATE decisions SET available = x'00000070'",
        "UPDATE decisions SET action = 50",
        "UPDATE decisions SET features = x'00'",
        "UPDATE decisions SET features = replace(hex(features), 'F', '0')",
        "UPDATE items SET item = 99 WHERE item = 0",
        "INSERT INTO actions VALUES (0, 'a', 0, 1)",
        "UPDATE meta SET value = '5000' WHERE name = 'max_actions'",
        "UPDATE meta SET value = 'x' WHERE name = 'max_actions'",
    ],
)
def test_an_edited_file_is_refused_or_read(tmp_path, offers, edit):
    path = tmp_path / "shop.sqlite"
    shutil.copy(offers / path.name, path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(edit)
    errors = []
    for read in (read_log, read_report, lambda path: DecisionService(path, of_items()).close()):
        try:
            read(path)
        except ValueError as error:
            errors.append(str(error))
    assert errors
    assert all("shop.sqlite" in error for error in errors)


@pytest.mark.slow
def test_items_that_are_rarely_drawn_are_no_sign_of_wrong_probabilities(tmp_path):
    with open_offers(tmp_path, of_items(EpsilonGreedy(0.05))) as service:
        for start in range(0, 1500, 50):
            users = range(start, start + 50)
            offered = [items_for(user % 200) for user in users]
            found = service.decide_many([context_of(user) for user in users], actions=offered)
            rewards = [items[each.action]["price"] for each, items in zip(found, offered)]
            service.reward_many([(each.id, reward) for each, reward in zip(found, rewards)])
        notes = service.report().notes
    assert not [note for note in notes if "probability" in note or "probabilities" in note]


def test_a_policy_that_was_learned_from_the_file_is_served_next(tmp_path):
    with open_offers(tmp_path) as service:
        serve_users(service, range(60))
        log = service.log()
    learned = ModelLearner(Ridge(intercept=True), EpsilonGreedy(0.1)).fit(log)
    write_policy(tmp_path / "policy.npz", learned)
    spec = {
        "global": ArraySpec((3,), np.float64),
        "per_arm": ArraySpec((len(ITEMS), 3), np.float64),
    }
    policy = read_policy(tmp_path / "policy.npz").make(spec)
    with DecisionService(tmp_path / "next.sqlite", policy, seed=0) as service:
        decision = service.decide(CONTEXT, actions=ITEMS)
        assert decision.action in ITEMS
        assert service.reward(decision.id, 1.0)
        assert service.encoding.item_features == log.encoding.item_features
        assert service.encoding.items == (*ITEMS,)
