"""Decisions, their rewards, and what the policy learns from them."""

import contextlib
import datetime
import sqlite3
import threading
import time
import warnings

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, GaussianThompsonSamplingPolicy, UCBPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.logged import learn_from_log, read_log, scan_log
from bandit_envs.policies.models import BayesianRidge, Ridge
from bandit_envs.policies.rules import EpsilonGreedy, Mixed, Softmax, ThompsonSampling
from bandit_envs.serving import DecisionService
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.serving.services import CONTEXT, FEATURES, NAMES, arms, contextual, open_arms, open_shop


def state_of(service):
    """The state of a policy as bytes."""
    return encode_state(service.policy.get_state())


def test_a_decision_names_an_action_with_its_probability(tmp_path):
    with open_arms(tmp_path) as service:
        decisions = [service.decide() for _ in range(50)]
    assert {decision.action for decision in decisions} <= {*NAMES}
    assert len({decision.id for decision in decisions}) == 50
    assert all(0.0 < decision.probability <= 1.0 for decision in decisions)


def restart_of(context):
    """The time step of a context."""
    return restart(context, len(context))


def test_probabilities_are_those_of_the_policy_at_the_decision(tmp_path):
    with open_shop(tmp_path, contextual(Softmax())) as service:
        for step in range(30):
            before = service.policy
            decision = service.decide({"age": step / 30, "country": "DE"})
            context = np.array([[step / 30, 1.0, 0.0]])
            table = before.probabilities(restart_of(context))
            assert decision.probability == table[0, NAMES.index(decision.action)]
            service.reward(decision.id, float(decision.action == "blue"))


def test_the_policy_learns_what_it_would_learn_from_the_log(tmp_path):
    with open_shop(tmp_path) as service:
        decisions = [service.decide({"age": step / 40, "country": "DE"}) for step in range(40)]
        for step in np.random.default_rng(0).permutation(40):
            service.reward(decisions[step].id, step % 3 / 2)
        expected = learn_from_log(contextual(), service.log(), batch_rows=1)
        found = service.policy.get_state().content.learned
    for left, right in zip(found.model, expected.get_state().content.learned.model):
        np.testing.assert_array_equal(left, right)


def test_rewards_come_in_any_order_and_count_once(tmp_path):
    with open_arms(tmp_path) as service:
        decisions = service.decide_many([None] * 5)
        for decision in reversed(decisions):
            assert service.reward(decision.id, 1.0)
        learned = state_of(service)
        assert not service.reward(decisions[0].id, 0.0)
        assert state_of(service) == learned
        assert service.log().reward.tolist() == [1.0] * 5


def test_an_id_of_the_caller_gives_the_same_decision_again(tmp_path):
    with open_arms(tmp_path) as service:
        first = service.decide(id="user-1")
        others = [service.decide() for _ in range(10)]
        assert service.decide(id="user-1") == first
        assert service.decide_many([None] * 3, ids=["new", "user-1", "new"])[1] == first
        assert len(others) == 10
    with open_arms(tmp_path) as service:
        assert service.decide(id="user-1") == first


def test_batches_decide_what_single_calls_do(tmp_path):
    contexts = [{"age": step / 20, "country": "DE"} for step in range(20)]
    ids = [str(step) for step in range(20)]
    for folder in ("one", "many"):
        (tmp_path / folder).mkdir()
    with open_shop(tmp_path / "one") as service:
        single = [service.decide(context, id=id_) for context, id_ in zip(contexts, ids)]
    with open_shop(tmp_path / "many") as service:
        assert service.decide_many(contexts, ids=ids) == single


def test_only_available_actions_are_drawn(tmp_path):
    with open_arms(tmp_path) as service:
        found = {service.decide(available=["red", "blue"]).action for _ in range(60)}
        assert found == {"red", "blue"}
        assert service.decide(available=["green"])[1:] == ("green", 1.0)
        log_of(service)
        log = service.log()
    assert log.available.sum() == 60 * 2 + 1
    assert log.propensity.min() >= 0.1


def log_of(service):
    """Rewards all decisions with 1, and returns the log."""
    with sqlite3.connect(service.path) as connection:
        ids = [name for (name,) in connection.execute("SELECT id FROM decisions")]
    connection.close()
    service.reward_many([(name, 1.0) for name in ids])
    return service.log()


def test_a_retired_action_is_not_drawn_and_its_rewards_still_count(tmp_path):
    with open_arms(tmp_path) as service:
        red = service.decide(available=["red"])
        service.retire_action("red")
        assert service.open_actions == ("green", "blue")
        assert service.actions == ("red", "green", "blue")
        assert {service.decide().action for _ in range(40)} == {"green", "blue"}
        assert service.reward(red.id, 1.0)
        with pytest.raises(ValueError, match="'red' is retired"):
            service.decide(available=["red"])
        service.retire_action("blue")
        with pytest.raises(ValueError, match="the only one"):
            service.retire_action("green")
    with open_arms(tmp_path) as service:
        assert service.open_actions == ("green",)


def test_a_service_that_is_opened_again_goes_on(tmp_path):
    with open_shop(tmp_path) as service:
        for _ in range(30):
            service.reward(service.decide(CONTEXT).id, 1.0)
        late = service.decide(CONTEXT)
        known = state_of(service)
    with open_shop(tmp_path) as service:
        assert state_of(service) == known
        assert service.reward(late.id, 0.0)
        assert len(service.log()) == 31


def test_the_arguments_of_a_file_need_not_be_given_again(tmp_path):
    with open_shop(tmp_path) as service:
        first = service.decide(CONTEXT)
    with DecisionService(tmp_path / "shop.sqlite", contextual()) as service:
        assert service.actions == (*NAMES,)
        assert service.reward(first.id, 1.0)
        assert service.encoding.labels() == ["age", "country=DE", "country=FR"]


def test_every_decision_can_be_drawn_again_from_the_file(tmp_path):
    with open_shop(tmp_path) as service:
        for step in range(25):
            decision = service.decide({"age": step / 25, "country": "FR"})
            if step % 2:
                service.reward(decision.id, step / 25)
        again = sqlite3.connect(service.path)
        rows = again.execute(
            "SELECT number, learned, action, probability FROM decisions"
        ).fetchall()
        again.close()
        log = service.log()
    assert [learned for _, learned, _, _ in rows] == [number - 1 for number, *_ in rows]
    policy = contextual()
    rewards = iter(range(len(log)))
    for number, _, action, probability in rows:
        step = rows.index((number, number - 1, action, probability))
        table = policy.probabilities(restart_of(np.array([[step / 25, 0.0, 1.0]])))
        drawn = np.random.default_rng([1, number]).random()
        assert action == (table.cumsum() > drawn * table.sum()).argmax()
        assert probability == table[0, action]
        if step % 2:
            place = next(rewards)
            policy = learn_from_log(policy, log[place : place + 1], batch_rows=1)


def test_rewards_are_learned_in_batches(tmp_path):
    with open_shop(tmp_path, learn_every=10) as service:
        decisions = service.decide_many([CONTEXT] * 25)
        untrained = state_of(service)
        for decision in decisions[:9]:
            service.reward(decision.id, 1.0)
        assert state_of(service) == untrained
        service.reward(decisions[9].id, 1.0)
        assert service.policy.get_state().content.learned.num_rewards == 10
        service.reward_many([(decision.id, 1.0) for decision in decisions[10:15]])
        assert service.policy.get_state().content.learned.num_rewards == 10
    with open_shop(tmp_path, learn_every=10) as service:
        service.learn()
        assert service.policy.get_state().content.learned.num_rewards == 15


def test_rewards_are_learned_after_some_seconds(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    with open_shop(tmp_path, learn_every=1000, learn_seconds=60.0) as service:
        service.reward(service.decide(CONTEXT).id, 1.0)
        assert service.policy.is_untrained
        now += 61.0
        service.decide(CONTEXT)
        assert not service.policy.is_untrained


@pytest.mark.parametrize(("counts_as", "rows"), [(None, 1), (0.25, 3)])
def test_a_decision_without_a_reward_counts_as_the_timeout_says(
    tmp_path, monkeypatch, counts_as, rows
):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    with open_arms(tmp_path, timeout=3600.0, timeout_reward=counts_as) as service:
        early = service.decide_many([None] * 3)
        service.reward(early[1].id, 1.0)
        now += 3601.0
        service.learn()
        assert not service.reward(early[0].id, 1.0)
        assert service.log().reward.tolist() == ([1.0, 0.25, 0.25][:rows])
        assert service.reward(service.decide().id, 1.0)


def test_times_do_not_go_back_with_a_clock(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    with open_arms(tmp_path, timeout=60.0, timeout_reward=0.0) as service:
        first = service.decide()
        now -= 10_000.0
        second = service.decide()
        assert service.reward(first.id, 1.0)
        assert service.reward(second.id, 1.0)
        earlier, later = scan_log(service.path, time="time").split("2100-01-01")
    assert (len(earlier), len(later)) == (2, 0)


@pytest.mark.parametrize("is_opened_anew", [True, False])
def test_a_clock_that_was_ahead_does_not_stop_timeouts(tmp_path, monkeypatch, is_opened_anew):
    now = 1e9
    monkeypatch.setattr(time, "time", lambda: now)
    options = {"timeout": 600.0, "timeout_reward": 0.0}
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(open_arms(tmp_path, **options))
        now += 3600.0
        service.decide(id="ahead")
        now -= 3590.0
        if is_opened_anew:
            service.close()
            service = stack.enter_context(open_arms(tmp_path, **options))
        service.decide(id="early")
        service.decide(id="late")
        now += 590.0
        assert service.reward("early", 1.0)
        now += 20.0
        assert not service.reward("late", 1.0)
        service.learn()
        assert service.log().reward.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("clock", [-1.0, float("inf"), float("nan"), 1e12])
def test_a_clock_that_tells_no_time_is_named(tmp_path, monkeypatch, clock):
    with open_arms(tmp_path) as service:
        service.decide(id="one")
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: clock)
            with pytest.raises(ValueError, match=f"the clock is at {clock}; expected 0 to"):
                service.decide()
        assert service.reward("one", 1.0)
        assert len(service.log()) == 1


def test_samples_stand_for_probabilities_that_are_not_known(tmp_path):
    policy = contextual(ThompsonSampling(), BayesianRidge())
    with pytest.raises(TypeError, match="samples=100"):
        open_shop(tmp_path, policy)
    with pytest.raises(ValueError, match=r"samples is 20, and .* knows its probabilities"):
        open_shop(tmp_path, contextual(Softmax(1.0), BayesianRidge()), samples=20)
    with open_shop(tmp_path, policy, samples=20) as service:
        decisions = service.decide_many([CONTEXT] * 50)
        for decision in decisions:
            service.reward(decision.id, float(decision.action == "red"))
        counts = [20 * decision.probability for decision in decisions]
    np.testing.assert_allclose(counts, np.round(counts))
    assert min(counts) >= 1.0


@pytest.mark.parametrize("way", ["mixed", "epsilon"])
def test_no_probability_is_below_its_share(tmp_path, way):
    rule = ThompsonSampling()
    if way == "mixed":
        policy = contextual(Mixed(rule, 0.3), BayesianRidge())
        service = open_shop(tmp_path, policy, samples=10)
    else:
        service = open_shop(tmp_path, contextual(rule, BayesianRidge()), samples=10, epsilon=0.3)
    with service:
        for _ in range(60):
            decision = service.decide(CONTEXT)
            service.reward(decision.id, 5.0 * (decision.action == "red"))
            assert decision.probability >= 0.1 - 1e-12
        log = service.log()
    assert (log.propensity < 0.2).any()
    assert (log.action != 0).any()


def test_the_frequencies_of_samples_are_unbiased_weights(tmp_path):
    rewards = np.array([0.2, 0.5, 0.9])
    policy = GaussianThompsonSamplingPolicy(num_actions=3, seed=0)
    with DecisionService(
        tmp_path / "shop.sqlite", policy, NAMES, seed=3, samples=10, epsilon=0.2, learn_every=10**6
    ) as service:
        decisions = service.decide_many([None] * 1000)
        values = [rewards[NAMES.index(each.action)] / each.probability / 3.0 for each in decisions]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - rewards.mean()) < 5.0 * error


def test_a_choice_that_was_certain_is_told_once(tmp_path):
    policy = UCBPolicy(1.0, num_actions=3)
    path = tmp_path / "shop.sqlite"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with DecisionService(path, policy, NAMES, seed=0) as service:
            for _ in range(9):
                service.reward(service.decide().id, 1.0)
    assert len(found) == 1
    assert "epsilon=0.05 gives each a chance" in str(found[0].message)


def test_texts_that_are_not_known_are_told_once(tmp_path):
    with open_shop(tmp_path) as service:
        with pytest.warns(UserWarning, match="'country'.*'IT'") as found:
            service.decide_many([{"age": 0.0, "country": "IT"}] * 3)
        assert len(found) == 1


def test_numbers_in_texts_and_times_are_features(tmp_path):
    features = {"when": "time", "price": "number"}
    policy = contextual(width=6)
    with open_shop(tmp_path, policy, features=features) as service:
        texts = service.decide({"when": "2024-12-31 23:59", "price": "2.5"})
        times = service.decide({"when": datetime.datetime(2024, 12, 31, 23, 59), "price": 2.5})
        service.reward_many([(texts.id, 1.0), (times.id, 1.0)])
        observation = service.log().observation
    assert observation[0].tolist() == observation[1].tolist()
    assert observation[0, -1] == 2.5


def test_contexts_without_names_are_arrays(tmp_path):
    with open_shop(tmp_path, features=None) as service:
        decision = service.decide([1.0, 2.0, 3.0])
        service.reward(decision.id, 1.0)
        with pytest.raises(ValueError, match="2 features; expected 3"):
            service.decide([1.0, 2.0])
        with pytest.raises(TypeError, match="no features with names"):
            service.decide(CONTEXT)
        assert service.log().observation.tolist() == [[1.0, 2.0, 3.0]]


def test_names_are_those_of_the_table_that_a_policy_has_learned_from(tmp_path):
    with open_shop(tmp_path) as service:
        for _ in range(10):
            service.reward(service.decide(CONTEXT).id, 1.0)
        learned = learn_from_log(contextual(), service.log())
    with DecisionService(tmp_path / "next.sqlite", learned, seed=0) as service:
        assert service.actions == (*NAMES,)
        decision = service.decide(CONTEXT)
        assert service.reward(decision.id, 1.0)
        assert service.policy.get_state().content.learned.num_rewards == 11
    assert isinstance(learned, ContextualPolicy)


def test_the_log_is_what_scans_read(tmp_path):
    with open_shop(tmp_path) as service:
        decisions = service.decide_many([CONTEXT] * 7)
        service.reward_many([(each.id, 0.5) for each in reversed(decisions[1:])])
        log = service.log()
        scan = scan_log(service.path, batch_rows=4)
        assert [len(batch) for batch in scan] == [4, 2]
        service.reward(decisions[0].id, 0.5)
        assert sum(map(len, scan)) == 6  # as it was when the scan was made
        longer = read_log(service.path)
    assert longer[:6] == log
    assert longer.step.tolist()[6:] == [1]
    assert log.action_names == (*NAMES,)
    assert log.propensity.tolist() == [each.probability for each in decisions[:0:-1]]
    assert log.encoding.labels() == ["age", "country=DE", "country=FR"]
    assert log.step.tolist() == [7, 6, 5, 4, 3, 2]


def test_threads_share_a_service(tmp_path):
    with open_arms(tmp_path) as service:

        def serve():
            for _ in range(25):
                service.reward(service.decide().id, 1.0)

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(service.log()) == 100


def test_a_closed_service_says_so(tmp_path):
    service = open_arms(tmp_path)
    service.close()
    service.close()
    with pytest.raises(ValueError, match="is closed"):
        service.decide()


def test_arms_and_features_are_kept_for_policies_that_come_later(tmp_path):
    with open_shop(tmp_path, arms()) as service:
        service.reward(service.decide(CONTEXT).id, 1.0)
        log = service.log()
    assert log.observation.tolist() == [[0.5, 0.0, 1.0]]
    assert FEATURES.keys() == {*log.encoding.names}


@pytest.mark.slow
def test_a_service_of_one_number_learns_a_threshold_and_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    right = []
    for _ in range(2):
        policy = ContextualPolicy(
            Ridge(intercept=True),
            EpsilonGreedy(0.1),
            observation_spec=ArraySpec((1,), "float64"),
            num_actions=2,
        )
        file = tmp_path / "ages.sqlite"
        names = ["young", "old"]
        with DecisionService(file, policy, names, features={"age": "number"}, seed=0) as service:
            for _ in range(600):
                age = rng.uniform(0.18, 0.8)
                made = service.decide({"age": age})
                right.append((made.action == "old") == (age > 0.5))
                service.reward(made.id, float(rng.random() < (0.5 if right[-1] else 0.1)))
    assert np.mean(right[-300:]) > 0.85
