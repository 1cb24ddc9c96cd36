"""Bad input is refused in one line, and nothing is lost."""

import os
import re
import sqlite3
import time

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy, EpsilonGreedyPolicy, UCBPolicy
from bandit_envs.logged import read_log, scan_log
from bandit_envs.policies import (
    BudgetedThompsonSamplingPolicy,
    LinUCBPolicy,
    TrackAndStopPolicy,
)
from bandit_envs.policies.models import Logistic, Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService, store
from bandit_envs.serving.contexts import make_encoding
from bandit_envs.tables import TableEncoding
from tests.cases import for_each
from tests.serving.services import CONTEXT, FEATURES, NAMES, arms, contextual, open_arms, open_shop


@pytest.fixture
def shop(tmp_path):
    """A service with contexts."""
    with open_shop(tmp_path) as service:
        yield service


def check_line(error):
    """A message is one line."""
    assert "\n" not in str(error.value)


def test_unknown_ids_and_wrong_rewards_change_nothing(tmp_path):
    with open_arms(tmp_path) as service:
        decision = service.decide()
        for call, kind in (
            (lambda: service.reward("nobody", 1.0), ValueError),
            (lambda: service.reward(7, 1.0), TypeError),
            (lambda: service.reward(decision.id, float("nan")), ValueError),
            (lambda: service.reward(decision.id, float("inf")), ValueError),
            (lambda: service.reward(decision.id, "much"), TypeError),
            (lambda: service.reward_many([(decision.id, 1.0), ("nobody", 1.0)]), ValueError),
        ):
            with pytest.raises(kind) as error:
                call()
            check_line(error)
        assert service.policy.is_untrained
        assert service.reward(decision.id, 1.0)


@pytest.mark.parametrize(
    ("rewards", "found"),
    [({"visit": 1.0}, "'visit'"), (("visit", 1.0), "'visit'"), ([("visit",)], r"\('visit',\)")],
    ids=["dict", "one-pair", "no-value"],
)
def test_rewards_that_are_no_pairs_are_refused(tmp_path, rewards, found):
    with open_arms(tmp_path) as service:
        service.decide(id="visit")
        expected = f"0\\] is {found}; expected a tuple of an id and a value"
        with pytest.raises(TypeError, match=rf"rewards\[{expected}"):
            service.reward_many(rewards)
        with pytest.raises(TypeError, match=rf"measures\[{expected}"):
            service.measure_many(rewards)
        assert service.reward_many([["visit", 1.0]]) == [True]


def test_a_reward_that_the_policy_does_not_take_is_refused_in_a_batch_too(tmp_path):
    with open_shop(tmp_path, contextual(model=Logistic()), learn_every=10) as service:
        decision = service.decide(CONTEXT)
        with pytest.raises(ValueError, match="reward"):
            service.reward(decision.id, 7.0)
        assert service.reward(decision.id, 1.0)


@for_each(
    ("context", "kind"),
    [
        ({"age": 1.0}, ValueError),
        ({"age": 1.0, "country": "DE", "size": 3}, ValueError),
        ({"age": float("nan"), "country": "DE"}, ValueError),
        ({"age": float("inf"), "country": "DE"}, ValueError),
        ({"age": None, "country": "DE"}, ValueError),
        ({"age": "old", "country": "DE"}, ValueError),
        ({"age": 1.0, "country": None}, ValueError),
        ([1.0, 0.0, 0.0], TypeError),
        (None, TypeError),
    ],
)
def test_a_wrong_context_is_refused(shop, context, kind):
    with pytest.raises(kind) as error:
        shop.decide(context)
    check_line(error)
    assert shop._session.store.is_empty() is False
    shop.decide(CONTEXT)


def test_a_batch_with_a_wrong_part_decides_nothing(tmp_path):
    with open_shop(tmp_path) as service:
        with pytest.raises(ValueError, match="'pink'"):
            service.decide_many([CONTEXT] * 2, available=[["red"], ["pink"]])
        with pytest.raises(ValueError, match="expected as many"):
            service.decide_many([CONTEXT] * 2, ids=["one"])
        assert count_rows(service) == 0
        first = service.decide(CONTEXT)
        assert service.reward(first.id, 1.0)


def count_rows(service):
    """How many decisions are in the file."""
    connection = sqlite3.connect(service.path)
    ((count,),) = connection.execute("SELECT count(*) FROM decisions")
    connection.close()
    return count


@pytest.mark.parametrize(
    "policy",
    [
        EpsilonGreedyPolicy(0.1, num_actions=3, batch_size=2),
        LinUCBPolicy(
            num_slots=2,
            observation_spec={
                "global": ArraySpec((1,), np.float64),
                "per_arm": ArraySpec((3, 2), np.float64),
            },
        ),
        ContextualPolicy(
            Ridge(),
            EpsilonGreedy(0.1),
            observation_spec={
                "global": ArraySpec((1,), np.float64),
                "per_arm": ArraySpec((3, 2), np.float64),
            },
        ),
        BudgetedThompsonSamplingPolicy(num_actions=3),
    ],
    ids=["batch", "slates", "per-arm", "costs"],
)
def test_policies_that_cannot_be_served_are_refused(tmp_path, policy):
    with pytest.raises(ValueError, match="expected") as error:
        DecisionService(tmp_path / "shop.sqlite", policy, NAMES)
    check_line(error)
    assert not any(tmp_path.iterdir())


@for_each(
    ("options", "kind"),
    [
        ({"actions": ["red", "green"]}, ValueError),
        ({"actions": ["red", "red", "blue"]}, ValueError),
        ({"actions": "red"}, TypeError),
        ({"actions": iter(NAMES)}, TypeError),
        ({"actions": None}, ValueError),
        ({"actions": [1, 2, 3]}, TypeError),
        ({"features": {"age": "numbers"}}, ValueError),
        ({"features": ["age"]}, TypeError),
        ({"max_actions": 5}, ValueError),
        ({"epsilon": 2.0}, ValueError),
        ({"samples": 0}, ValueError),
        ({"samples": 2.5}, TypeError),
        ({"learn_every": 0}, ValueError),
        ({"timeout_reward": 0.0}, ValueError),
        ({"synchronous": "extra"}, ValueError),
        ({"seed": -1}, ValueError),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, options, kind):
    arguments = {"actions": NAMES, **options}
    with pytest.raises(kind) as error:
        DecisionService(tmp_path / "shop.sqlite", arms(), **arguments)
    check_line(error)
    assert not any(tmp_path.iterdir())


def test_features_that_the_policy_does_not_take_are_refused_at_once(tmp_path):
    with pytest.raises(ValueError, match=r"makes 1 .*age.* has 3; expected") as error:
        open_shop(tmp_path, features={"age": "number"})
    check_line(error)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [{"delta": 0.1}, {"threshold": "chernoff"}, {"reward_std": 1.0}, {"count_pending": False}],
    ids=["delta", "threshold", "law", "pending"],
)
def test_a_test_does_not_go_on_with_other_arguments(tmp_path, options):
    def open_test(**changes):
        policy = TrackAndStopPolicy(**{"delta": 0.05, "num_actions": 3, **changes})
        return DecisionService(tmp_path / "test.sqlite", policy, NAMES, epsilon=0.1)

    with open_test() as service:
        service.decide()
    with pytest.raises(ValueError, match=r"delta=0\.05, .*: take the same arguments") as error:
        open_test(**options)
    check_line(error)
    open_test().close()


def test_a_reward_out_of_the_range_is_refused_with_the_range(tmp_path):
    policy = TrackAndStopPolicy(0.05, num_actions=3)
    with DecisionService(tmp_path / "test.sqlite", policy, NAMES, epsilon=0.1) as service:
        decision = service.decide()
        message = "reward is 49.99; expected a number from 0 to 1, which the policy takes"
        with pytest.raises(ValueError, match=message):
            service.reward(decision.id, 49.99)
        assert service.reward(decision.id, 1.0)


def test_other_features_are_refused_with_those_of_the_file_as_one_writes_them(tmp_path):
    with open_shop(tmp_path) as service:
        service.decide(CONTEXT)
    known = re.escape("has {'age': 'number', 'country': ['DE', 'FR']}")
    with pytest.raises(ValueError, match=known):
        open_shop(tmp_path, features={"age": "number", "country": ["DE", "IT"]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": UCBPolicy(1.0, num_actions=3)}, "was made for EpsilonGreedyPolicy"),
        ({"policy": EpsilonGreedyPolicy(0.3, num_actions=3)}, "was made for"),
        ({"actions": ["red", "blue", "green"]}, "began with"),
        ({"seed": 2}, "was made with the seed 1"),
        ({"features": {"age": "number"}}, "features"),
    ],
    ids=["policy", "parameter", "actions", "seed", "features"],
)
def test_a_file_of_another_service_is_refused(tmp_path, changes, message):
    with open_arms(tmp_path) as service:
        decision = service.decide()
    arguments = {"policy": arms(), "actions": NAMES, "seed": 1, **changes}
    with pytest.raises(ValueError, match=message) as error:
        DecisionService(tmp_path / "shop.sqlite", **arguments)
    check_line(error)
    with open_arms(tmp_path) as service:
        assert service.reward(decision.id, 1.0)


def test_other_files_are_refused_and_stay_as_they_are(tmp_path):
    text = tmp_path / "text.sqlite"
    text.write_text("no database, but a text that is longer than a header of SQLite " * 20, "utf-8")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (number INTEGER)")
    connection.commit()
    connection.close()
    for file in (text, other):
        before = file.read_bytes()
        for read in (lambda path: DecisionService(path, arms(), NAMES), scan_log):
            with pytest.raises(ValueError, match="is not a file of decisions") as error:
                read(file)
            check_line(error)
        assert file.read_bytes() == before
    with pytest.raises(ValueError, match=r"a name that ends in \.sqlite"):
        DecisionService(tmp_path / "shop.csv", arms(), NAMES)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        scan_log(tmp_path / "none.sqlite")


def test_another_version_of_the_tables_is_refused(tmp_path):
    open_arms(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match="a newer version"):
        open_arms(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path):
    with open_arms(tmp_path) as service:
        decision = service.decide()
        connection = service._session.store._connection
        ((pages,),) = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {pages}")
        known = []
        with pytest.raises(OSError, match=r"shop\.sqlite: database or disk is full") as error:
            known.extend(service.decide() for _ in range(10_000))
        check_line(error)
        assert count_rows(service) == len(known) + 1
        connection.execute("PRAGMA max_page_count = 1000000")
        assert service.reward(decision.id, 1.0)
        service.reward_many([(each.id, 1.0) for each in known])
        state = service.policy.get_state().content.learned
    with open_arms(tmp_path) as service:
        again = service.policy.get_state().content.learned
    np.testing.assert_array_equal(state.values, again.values)


def test_rewards_that_cannot_be_written_are_not_learned(tmp_path):
    with open_arms(tmp_path) as service:
        decisions = service.decide_many([None] * 1000)
        service._session.store._connection.execute("PRAGMA query_only = 1")
        with pytest.raises(OSError, match="readonly"):
            service.reward(decisions[0].id, 1.0)
        assert service.policy.is_untrained
        service._session.store._connection.execute("PRAGMA query_only = 0")
        assert service.reward(decisions[0].id, 1.0)


def test_waits_that_could_not_be_ended_end_later(tmp_path, monkeypatch):
    with open_arms(tmp_path, timeout=60.0, timeout_reward=1.0) as service:
        service.decide_many([None] * 50)
        monkeypatch.setattr(time, "time", lambda: 4e9)
        add_event = service._session.store.add_event
        written = []

        def fail(event):
            written.append(event)
            if len(written) > 20:
                raise sqlite3.OperationalError("database or disk is full")
            add_event(event)

        service._session.store.add_event = fail
        with pytest.raises(OSError, match="is full"):
            service.learn()
        service._session.store.add_event = add_event
        service.learn()
        assert len(service.log()) == 50


def test_a_locked_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "WAIT", 0.05)
    with open_arms(tmp_path) as service:
        other = sqlite3.connect(service.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match=r"shop\.sqlite: database is locked") as error:
            service.decide()
        check_line(error)
        other.execute("ROLLBACK")
        other.close()
        service.decide()


@pytest.mark.posix
def test_a_read_only_file_is_read_and_not_served(tmp_path):
    with open_arms(tmp_path) as service:
        service.reward(service.decide().id, 1.0)
    file = tmp_path / "shop.sqlite"
    file.chmod(0o444)
    try:
        assert len(read_log(file)) == 1
        if not is_root():
            with pytest.raises(OSError, match="readonly"):
                open_arms(tmp_path)
    finally:
        file.chmod(0o644)


def is_root():
    """Whether the permissions of files mean nothing."""
    return os.geteuid() == 0


def test_a_log_without_rewards_says_so(tmp_path):
    with open_arms(tmp_path) as service:
        service.decide()
        with pytest.raises(ValueError, match="no decision"):
            service.log()


def test_features_are_not_chosen_when_a_file_of_decisions_is_read(tmp_path):
    open_arms(tmp_path).close()
    with pytest.raises(ValueError, match="features is for a table of your own"):
        scan_log(tmp_path / "shop.sqlite", features=["age"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": [*NAMES[::-1]]}, "expected .* as the policy has learned them"),
        ({"features": dict([*FEATURES.items()][::-1])}, "features is .* as the policy has learned"),
    ],
)
def test_names_are_in_the_order_in_which_a_policy_has_learned_them(arguments, message, tmp_path):
    policy = contextual()
    policy.encoding = TableEncoding(tuple(NAMES), make_encoding(FEATURES).features)
    with pytest.raises(ValueError, match=message):
        DecisionService(
            tmp_path / "shop.sqlite", policy, epsilon=0.1, **{"actions": NAMES, **arguments}
        )
    with DecisionService(tmp_path / "shop.sqlite", policy, NAMES, features=FEATURES) as service:
        assert service.decide(CONTEXT).action in NAMES


def test_features_that_a_policy_has_not_read_do_not_matter(tmp_path):
    policy = arms()
    policy.encoding = TableEncoding(tuple(NAMES), make_encoding({"size": "number"}).features)
    with DecisionService(tmp_path / "shop.sqlite", policy, NAMES, features=FEATURES) as service:
        assert service.decide(CONTEXT).action in NAMES


@pytest.mark.parametrize(
    "spec",
    [
        ArraySpec((), np.float64),
        ArraySpec((2, 3), np.float64),
        (ArraySpec((2,), np.float64), ArraySpec((1,), np.float64)),
    ],
    ids=["scalar", "matrix", "tuple"],
)
def test_observations_that_no_context_can_be_are_refused_at_the_opening(tmp_path, spec):
    policy = ContextualPolicy(Ridge(), EpsilonGreedy(0.1), observation_spec=spec, num_actions=3)
    with pytest.raises(ValueError, match="expected an observation_spec such as ArraySpec"):
        DecisionService(tmp_path / "shop.sqlite", policy, NAMES)


def test_a_message_about_an_unknown_id_has_no_path(tmp_path):
    with open_arms(tmp_path) as service, pytest.raises(ValueError, match="'nobody'") as error:
        service.reward("nobody", 1.0)
    assert str(tmp_path) not in str(error.value)
