"""A policy that was learned from a log, at work: whether it goes on learning, and who says so."""

import warnings

import numpy as np
import pytest

from bandit_envs import ArraySpec, RandomPolicy
from bandit_envs.logged import BanditLog, read_policy, write_policy
from bandit_envs.logged.learners import (
    DirectMethodLearner,
    DoublyRobustLearner,
    ModelLearner,
    PolicyGradientLearner,
)
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService, read_report

NAMES = ["old", "new"]
NOTE = "The policy does not learn from rewards: its choices stay as they are."


def make_log():
    """A log in which the new action pays more."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, 1000)
    rewards = (rng.random(1000) < 0.2 + 0.3 * actions).astype(float)
    return BanditLog(np.ones((1000, 1)), actions, rewards, np.full(1000, 0.5))


@pytest.mark.parametrize(
    "learner",
    [DoublyRobustLearner(), DirectMethodLearner(), PolicyGradientLearner()],
    ids=["doubly robust", "direct", "gradient"],
)
def test_a_service_says_that_its_policy_does_not_learn(tmp_path, learner):
    write_policy(tmp_path / "policy.npz", learner.fit(make_log()))
    policy = read_policy(tmp_path / "policy.npz").make(ArraySpec((1,), np.float64))
    with pytest.warns(UserWarning, match="which does not learn from rewards") as found:
        service = DecisionService(tmp_path / "a.sqlite", policy, NAMES, epsilon=0.1)
    assert found[0].filename == __file__
    service.reward(service.decide([1.0]).id, 1.0)
    assert NOTE in service.report().notes
    service.close()
    assert NOTE in str(read_report(tmp_path / "a.sqlite"))


def test_a_policy_of_a_model_learns_that_the_better_action_was_the_worse(tmp_path):
    policy = ModelLearner(Ridge(), EpsilonGreedy(0.1)).fit(make_log())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        service = DecisionService(tmp_path / "a.sqlite", policy, NAMES, seed=1)
    for _ in range(10):
        decisions = service.decide_many([[1.0]] * 100)
        service.reward_many([(each.id, float(each.action == "old")) for each in decisions])
    assert sum(each.action == "old" for each in decisions) > 75
    assert NOTE not in service.report().notes
    service.close()


def test_who_only_decides_is_not_warned(tmp_path):
    policy = DoublyRobustLearner().fit(make_log())
    with pytest.warns(UserWarning, match="does not learn"):
        DecisionService(tmp_path / "a.sqlite", policy, NAMES, epsilon=0.1).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DecisionService(tmp_path / "a.sqlite", policy, NAMES, epsilon=0.1, learns=False).close()


def test_a_class_that_never_learns_needs_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with DecisionService(tmp_path / "a.sqlite", RandomPolicy(num_actions=2), NAMES) as service:
            service.decide()
            assert NOTE in service.report().notes
