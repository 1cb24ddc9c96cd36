"""Actions that come and go, and choices whose rewards come later."""

import numpy as np
import pytest

from bandit_envs import KLUCBPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.policies import BetaThompsonSamplingPolicy
from bandit_envs.serving import DecisionService
from tests.serving.services import CONTEXT, NAMES, arms, open_arms, open_shop


def serve(service, size):
    """Decides and rewards; returns the actions."""
    found = []
    for _ in range(size):
        decision = service.decide(CONTEXT)
        service.reward(decision.id, float(decision.action == "black"))
        found.append(decision.action)
    return found


def means(service):
    """What the model of a policy predicts for the context."""
    policy = service.policy
    inputs = policy._reader.read(np.array([[0.5, 0.0, 1.0]]), 1)
    return policy.model.means(policy.get_state().content.learned.model, inputs)[0]


def test_a_new_action_is_drawn_and_what_was_learned_stays(tmp_path):
    with open_shop(tmp_path) as service:
        serve(service, 20)
        before = means(service)
        service.add_action("black")
        np.testing.assert_array_equal(means(service), [*before, 0.0])
        assert "black" in serve(service, 60)
        log = service.log()
        state = encode_state(service.policy.get_state())
    assert log.action_names == (*NAMES, "black")
    assert log.available[:20].tolist() == [[True, True, True, False]] * 20
    assert log.available[20:].all()
    with open_shop(tmp_path) as service:  # with the arguments that made the file
        assert encode_state(service.policy.get_state()) == state
        assert service.open_actions == (*NAMES, "black")


def test_an_action_that_was_retired_may_come_back(tmp_path):
    with open_shop(tmp_path) as service:
        service.retire_action("red")
        service.add_action("black")
        assert "red" not in serve(service, 40)
        service.add_action("red")
        assert service.actions == (*NAMES, "black")
        assert "red" in serve(service, 60)
        with pytest.raises(ValueError, match="'red' is there already"):
            service.add_action("red")
    with open_shop(tmp_path) as service:
        assert service.open_actions == (*NAMES, "black")


def test_a_new_action_may_start_warm(tmp_path):
    pytest.importorskip("scipy")  # for the beliefs that are compared
    policy = BetaThompsonSamplingPolicy(num_actions=3, seed=0)
    path = tmp_path / "shop.sqlite"
    with DecisionService(path, policy, NAMES, seed=0, samples=20) as service:
        for _ in range(30):
            service.reward(service.decide().id, 1.0)
        service.add_action("black", warm="mean")
        known = service.policy.describe()
    assert known.values[3] > 0.5


def test_rewards_that_wait_are_learned_before_an_action_comes(tmp_path):
    with open_shop(tmp_path, learn_every=100) as service:
        serve(service, 5)
        service.add_action("black")
        assert service.policy.get_state().content.learned.num_rewards == 5
        state = encode_state(service.policy.get_state())
    with open_shop(tmp_path) as service:
        assert encode_state(service.policy.get_state()) == state


def open_klucb(folder, **options):
    """A service whose policy counts pending choices."""
    policy = KLUCBPolicy(num_actions=3, seed=0)
    return DecisionService(folder / "shop.sqlite", policy, NAMES, seed=0, **options)


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
def test_choices_that_wait_for_rewards_are_counted(tmp_path):
    with open_klucb(tmp_path) as service:
        decisions = service.decide_many([None] * 30)
        assert service.policy.pending.sum() == 30
        counts = [[each.action for each in decisions].count(name) for name in NAMES]
        assert min(counts) >= 5  # without rewards, all actions look alike
        service.reward_many([(each.id, 1.0) for each in decisions[:10]])
        assert service.policy.pending.sum() == 20
        state = encode_state(service.policy.get_state())
    with open_klucb(tmp_path) as service:
        assert encode_state(service.policy.get_state()) == state


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
def test_a_choice_waits_no_more_after_the_timeout(tmp_path):
    with open_klucb(tmp_path, timeout=0.0) as service:
        service.decide_many([None] * 6)
        service.learn()
        assert service.policy.pending.sum() == 0
        assert service.policy.is_untrained


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
def test_a_service_that_was_not_closed_counts_the_same_choices(tmp_path):
    service = open_klucb(tmp_path)
    for step in range(20):
        decision = service.decide()
        if step % 2:
            service.reward(decision.id, 1.0)
    expected = encode_state(service.policy.get_state())
    service._session._release()  # as the end of a process does
    with open_klucb(tmp_path) as again:
        assert encode_state(again.policy.get_state()) == expected


def test_unknown_and_retired_actions_are_named(tmp_path):
    with open_arms(tmp_path) as service:
        with pytest.raises(ValueError, match="'pink'; expected one of"):
            service.decide(available=["pink"])
        with pytest.raises(ValueError, match="'pink'; expected one of"):
            service.retire_action("pink")
        with pytest.raises(ValueError, match="no actions; expected at least one"):
            service.decide(available=[])
        with pytest.raises(TypeError, match="expected a list of names"):
            service.decide(available="red")
        with pytest.raises(TypeError, match="expected a name"):
            service.add_action(3)


def test_names_that_differ_in_case_or_white_space_alone_are_told(tmp_path):
    names = ["red", "Red ", "blue"]
    with pytest.warns(UserWarning, match="'red' and 'Red ' differ in case or white space alone"):
        service = DecisionService(tmp_path / "shop.sqlite", arms(), names)
    service.close()
    (tmp_path / "other").mkdir()
    with open_arms(tmp_path / "other") as other:
        with pytest.warns(UserWarning, match="'blue' and 'BLUE' differ"):
            other.add_action("BLUE")
        assert other.actions == (*NAMES, "BLUE")
