"""Another policy is put to work in the file of a service."""

import concurrent.futures
import contextlib
import math
import shutil
import threading
import time

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, Exp3Policy, KLUCBPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import read_log
from bandit_envs.logged.learners import ModelLearner
from bandit_envs.policies import SplitTestPolicy
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import EpsilonGreedy, Softmax
from bandit_envs.serving import DecisionService, read_report
from tests.drawing import no_figures
from tests.serving.services import (
    CONTEXT,
    ITEMS,
    NAMES,
    arms,
    contextual,
    of_items,
    open_arms,
    open_offers,
    open_shop,
)

__all__ = ["no_figures"]

PAID = {"red": 0.25, "green": 0.5, "blue": 1.0, "black": 0.75, "white": 0.5}


def better(num_actions=3):
    """Another policy without contexts."""
    return EpsilonGreedyPolicy(0.5, num_actions=num_actions, seed=0)


def serve_users(service, users, first=0):
    """Decides for users, of whom each pays by the action."""
    for user in range(first, first + users):
        decision = service.decide(id=f"user-{user}")
        service.reward(decision.id, PAID[decision.action])


def open_better(folder, policy=None, **options):
    """The service after an upgrade."""
    return DecisionService(folder / "shop.sqlite", policy or better(), **options)


def state_of(service):
    """What the policy knows, without its random draws."""
    return encode_state(service.policy.get_state())


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The folder of a file of 40 users, and of four who have not paid yet."""
    folder = tmp_path_factory.mktemp("served")
    with open_arms(folder) as service:
        serve_users(service, 40)
        for user in range(4):
            service.decide(id=f"late-{user}")
    return folder


@pytest.fixture
def path(served, tmp_path):
    """A copy of that file."""
    return shutil.copy(served / "shop.sqlite", tmp_path)


def test_an_upgraded_policy_has_learned_as_if_it_had_always_been_at_work(path, tmp_path):
    log = read_log(path)
    other = tmp_path / "other"
    other.mkdir()
    with DecisionService(other / "shop.sqlite", better(), NAMES, epsilon=1.0) as always:
        for action, reward in zip(log.action, log.reward):
            decision = always.decide(available=[NAMES[action]])
            always.reward(decision.id, reward)
        expected = always.policy.get_state().content.learned
    assert DecisionService.upgrade(path, better())
    with open_better(tmp_path) as service:
        np.testing.assert_equal(service.policy.get_state().content.learned, expected)


def test_an_upgraded_policy_learns_nothing_from_the_log_if_it_should_not(path, tmp_path):
    DecisionService.upgrade(path, better(), learn=False)
    with open_better(tmp_path) as service:
        assert service.policy.is_untrained
        service.reward("late-0", 1.0)
        assert not service.policy.is_untrained
        known = state_of(service)
    with open_better(tmp_path) as service:
        assert state_of(service) == known


def test_late_rewards_of_old_decisions_are_learned_by_the_new_policy(path, tmp_path):
    DecisionService.upgrade(path, better())
    with open_better(tmp_path) as service:
        before = state_of(service)
        assert service.reward("late-0", 0.5)
        assert not service.reward("late-0", 0.5)
        assert not service.reward("user-0", 0.5)
        assert state_of(service) != before
        assert len(service.log()) == 41


def test_rewards_that_wait_to_be_learned_are_learned_by_the_new_policy(tmp_path):
    with open_arms(tmp_path, learn_every=100) as service:
        serve_users(service, 40)
    DecisionService.upgrade(service.path, better())
    with open_better(tmp_path) as service:
        assert not service.policy.is_untrained


def test_a_repeated_id_gets_its_old_decision(path, tmp_path):
    with open_arms(tmp_path) as service:
        before = [service.decide(id=f"user-{user}") for user in range(40)]
    DecisionService.upgrade(path, better())
    with open_better(tmp_path) as service:
        assert [service.decide(id=f"user-{user}") for user in range(40)] == before


def test_a_log_has_the_whole_history_with_the_probability_of_each_decision(path, tmp_path):
    before = read_log(path)
    DecisionService.upgrade(path, better(), learn=False)
    with open_better(tmp_path, epsilon=1.0) as service:
        serve_users(service, 20, first=100)
    log = read_log(path)
    np.testing.assert_array_equal(log.propensity[:40], before.propensity)
    np.testing.assert_array_equal(log.action[:40], before.action)
    np.testing.assert_allclose(log.propensity[40:], 1 / 3)
    rows = evaluate(path, "constant:number=2", estimators="snips").rows
    assert [row.value for row in rows if row.policy == "constant:number=2"] == [1.0]


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("learn", [False, True])
def test_retired_actions_stay_retired(path, tmp_path, number, learn):
    with open_arms(tmp_path) as service:
        service.add_action("black")
        service.retire_action("red")
        serve_users(service, 20, first=100)
    DecisionService.upgrade(path, better(number), learn)
    with open_better(tmp_path, better(number), actions=[*NAMES, "black"][:number]) as service:
        assert service.open_actions == ("green", "blue", "black")
        assert service.policy.num_actions == 4
        chosen = {each.action for each in service.decide_many([None] * 50)}
        assert chosen == {"green", "blue", "black"}
        service.add_action("red")
        service.add_action("white")
        serve_users(service, 3, first=200)
        known = state_of(service)
    with open_better(tmp_path, better(number)) as service:
        assert state_of(service) == known
        assert service.actions == (*NAMES, "black", "white")
    assert len(read_log(path)) == 63


def test_an_upgraded_policy_counts_the_choices_that_wait(path, tmp_path):
    policy = KLUCBPolicy(num_actions=3, seed=0)
    DecisionService.upgrade(path, policy, learn=False)
    with open_better(tmp_path, policy, epsilon=0.1) as service:
        assert service.policy.get_state().content.pending.sum() == 4
        service.reward("late-0", 1.0)
        assert service.policy.get_state().content.pending.sum() == 3


def test_a_service_of_contexts_is_upgraded_to_another_model_and_rule(tmp_path):
    with open_shop(tmp_path) as service:
        for user in range(20):
            service.reward(service.decide({**CONTEXT, "age": user / 20}).id, user / 20)
    policy = contextual(Softmax(0.5), Ridge(intercept=True))
    DecisionService.upgrade(service.path, policy)
    with DecisionService(service.path, policy) as service:
        service.reward(service.decide(CONTEXT).id, 1.0)
        assert len(service.log()) == 21


def test_a_policy_that_was_learned_from_the_log_is_put_to_work_as_it_is(tmp_path):
    with open_shop(tmp_path) as service:
        for user in range(60):
            service.reward(service.decide({**CONTEXT, "age": user / 60}).id, user / 60)
    learner = ModelLearner(Ridge(), EpsilonGreedy(0.1))
    learned = evaluate(service.path, {"learned": learner}, train=0.5).policies["learned"]
    policy = learned.replicate(1)
    known = encode_state(policy.get_state())
    DecisionService.upgrade(service.path, policy)
    with DecisionService(service.path, policy) as service:
        assert state_of(service) == known


def test_a_service_of_items_is_upgraded(tmp_path):
    with open_offers(tmp_path) as service:
        for _ in range(20):
            service.reward(service.decide(CONTEXT, actions=ITEMS).id, 1.0)
    policy = of_items(Softmax(0.5))
    DecisionService.upgrade(service.path, policy)
    with DecisionService(service.path, policy) as service:
        assert not service.policy.is_untrained
        service.reward(service.decide(CONTEXT, actions=ITEMS).id, 1.0)
        assert len(service.log()) == 21


def test_a_service_of_items_is_not_upgraded_to_a_policy_of_fixed_actions(tmp_path):
    with open_offers(tmp_path) as service:
        service.reward(service.decide(CONTEXT, actions=ITEMS).id, 1.0)
    with pytest.raises(ValueError, match=r"policy is Context.*, which reads no features of items"):
        DecisionService.upgrade(tmp_path / "shop.sqlite", contextual())


def test_an_upgrade_to_the_policy_at_work_changes_nothing(path, tmp_path):
    assert not DecisionService.upgrade(path, arms())
    assert DecisionService.upgrade(path, better())
    assert not DecisionService.upgrade(path, better())
    assert len(read_report(path).policies) == 2


def test_a_policy_at_work_is_upgraded_to_what_one_of_its_arguments_has_learned(path, tmp_path):
    with open_arms(tmp_path) as service:
        learned = service.policy
        before = state_of(service)
        service.reward("late-0", 0.0)
        assert state_of(service) != before
    assert DecisionService.upgrade(path, learned)
    with open_arms(tmp_path) as service:
        assert state_of(service) == before


def test_a_policy_of_contexts_for_later_actions_is_refused_without_an_upgrade(tmp_path):
    policy = contextual().with_actions(4)
    with open_shop(tmp_path) as service:
        service.add_action("black")
    with pytest.raises(ValueError, match=r"of 4; .* began with"):
        DecisionService(service.path, policy)
    assert DecisionService.upgrade(service.path, contextual(Softmax(0.5)).with_actions(4))
    with DecisionService(service.path, contextual(Softmax(0.5)).with_actions(4)) as service:
        assert service.decide(CONTEXT).action in service.actions


def test_a_file_is_upgraded_back_and_forth(path, tmp_path):
    with open_arms(tmp_path) as service:
        before = service.policy.get_state().content.learned
    DecisionService.upgrade(path, better())
    DecisionService.upgrade(path, arms())
    with open_arms(tmp_path) as service:
        np.testing.assert_equal(service.policy.get_state().content.learned, before)
    assert [each.policy for each in read_report(path).policies] == [
        repr(arms()),
        repr(better()),
        repr(arms()),
    ]


def test_the_old_policy_is_refused_after_an_upgrade(path, tmp_path):
    DecisionService.upgrade(path, better())
    with pytest.raises(ValueError, match=r"was upgraded to EpsilonGreedyPolicy\(epsilon=0.5"):
        open_arms(tmp_path)


def test_a_service_that_only_decides_is_told_of_an_upgrade(path, tmp_path):
    with open_arms(tmp_path, learns=False) as follower:
        follower.decide(id="before")
        DecisionService.upgrade(path, better())
        for _ in range(2):
            with pytest.raises(OSError, match=r"was upgraded to EpsilonGreedyPolicy.* anew"):
                follower.decide(id="after")
            with pytest.raises(OSError, match="was upgraded to"):
                follower.reward("before", 1.0)
    with open_better(tmp_path, learns=False) as follower:
        assert follower.reward("before", 1.0)


def test_a_file_is_not_upgraded_while_a_service_learns(path, tmp_path):
    with (
        open_arms(tmp_path),
        pytest.raises(OSError, match=r"another service of this process learns.*, and upgrade then"),
    ):
        DecisionService.upgrade(path, better())


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (better(2), "policy has 2 actions, and .* expected a policy of all 3"),
        (better(4), "policy has 4 actions"),
        (contextual(), "observation_spec has 3 features of a context; expected 1"),
        (of_items(), "policy of all 3|features of actions"),
        (EpsilonGreedyPolicy(0.1, num_actions=3, batch_size=2), "batch_size"),
    ],
)
def test_a_policy_that_does_not_fit_leaves_the_file_as_it_was(path, tmp_path, policy, error):
    before = read_log(path)
    with pytest.raises(ValueError, match=error):
        DecisionService.upgrade(path, policy)
    assert read_log(path) == before
    assert len(read_report(path).policies) == 1
    with open_arms(tmp_path) as service:
        service.decide()


def test_a_policy_that_does_not_take_the_rewards_of_a_file_learns_from_later_ones_alone(tmp_path):
    policy = Exp3Policy(gamma=0.1, num_actions=3)
    with open_arms(tmp_path) as service:
        service.reward(service.decide().id, 5.0)
        late = service.decide()
    with pytest.raises(ValueError, match="reward"):
        DecisionService.upgrade(service.path, policy)
    DecisionService.upgrade(service.path, policy, learn=False)
    with open_better(tmp_path, policy) as service:
        with pytest.raises(ValueError, match="reward is 5"):
            service.reward(late.id, 5.0)
        assert service.reward(late.id, 1.0)
        assert service.report().reward_range is None


def test_a_file_that_is_missing_is_not_upgraded(tmp_path):
    with pytest.raises(FileNotFoundError):
        DecisionService.upgrade(tmp_path / "shop.sqlite", better())


def test_a_report_shows_policies_side_by_side(path, tmp_path):
    pytest.importorskip("matplotlib")  # draws the page
    DecisionService.upgrade(path, better())
    with open_better(tmp_path) as service:
        service.reward("late-0", 0.125)
        serve_users(service, 20, first=100)
    report = read_report(path, reward_range=(0.0, 1.0))
    log = read_log(path)
    first, second = report.policies
    assert (first.decisions, first.rewards) == (44, 41)
    assert first.mean_reward == pytest.approx(log.reward[:41].mean())
    assert (second.decisions, second.rewards) == (20, 20)
    assert second.mean_reward == pytest.approx(log.reward[41:].mean())
    assert math.isnan(first.start)
    assert second.start > 0.0
    assert sum(first.decisions_by_period) == 44
    assert sum(second.rewards_by_period) == 20
    text = str(report)
    assert "Policy 2 since" in text
    assert "1: decisions  1: mean reward  2: decisions  2: mean reward" in text
    page = tmp_path / "page.html"
    report.write_page(page)
    assert "Policies" in page.read_text("utf-8")


def test_a_report_of_one_policy_has_no_table_of_policies(path):
    report = read_report(path)
    assert len(report.policies) == 1
    assert "1: decisions" not in str(report)


def test_a_report_of_a_test_begins_where_the_test_was_put_to_work(path, tmp_path):
    test = SplitTestPolicy(num_actions=3, seed=0)
    DecisionService.upgrade(path, test, learn=False)
    with open_better(tmp_path, test) as service:
        serve_users(service, 20, first=100)
        assert str(service.report().test) == str(service.policy.report(names=service.actions))


def test_policies_of_an_upgrade_are_not_changed(path):
    policy = better()
    DecisionService.upgrade(path, policy)
    assert policy.is_untrained


def open_any(folder):
    """A service that only decides, with the policy that is at work."""
    for policy in (arms(), better()) * 5:  # it may be upgraded between two attempts
        with contextlib.suppress(ValueError):
            return open_better(folder, policy, learns=False, epsilon=0.1)
    raise AssertionError("the file has one of the two policies")


def decide_meanwhile(folder, name, is_over, done):
    """Decides and rewards until it is over, and notes what was acknowledged."""
    service = open_any(folder)
    user = 0
    has_ended = False
    while not has_ended:
        try:
            decision = service.decide(id=f"{name}-{user}")
            service.reward(decision.id, PAID[decision.action])
        except OSError as error:
            if "was upgraded to" not in str(error):
                raise
            service.close()
            service = open_any(folder)
        else:
            done.append((decision.id, decision.action, decision.probability))
            user += 1
            has_ended = is_over.is_set()
    service.close()


@pytest.mark.slow
def test_two_upgrades_under_load_lose_nothing(path, tmp_path):
    done = []
    is_over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            workers = [
                pool.submit(decide_meanwhile, tmp_path, name, is_over, done) for name in ("a", "b")
            ]
            for policy in (better(), arms()):
                seen = len(done)
                while len(done) < seen + 20 and not any(each.done() for each in workers):
                    time.sleep(0.01)
                assert DecisionService.upgrade(path, policy)
            seen = len(done)
            while len(done) < seen + 20 and not any(each.done() for each in workers):
                time.sleep(0.01)
        finally:
            is_over.set()
        for worker in workers:
            worker.result()
    assert len(read_log(path)) == 40 + len(done)
    with open_arms(tmp_path) as service:
        assert [tuple(service.decide(id=each[0])) for each in done] == done
    report = read_report(path)
    assert sum(each.decisions for each in report.policies) == 44 + len(done)
    assert all(each.rewards >= 20 for each in report.policies)
