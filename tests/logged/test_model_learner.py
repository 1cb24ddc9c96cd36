"""Learners of any model with any rule."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.adapters.torch import Network
from bandit_envs.evaluations import learn
from bandit_envs.logged import BanditLog, DirectMethodLearner, probabilities_of, read_policy
from bandit_envs.logged.learners import ModelLearner
from bandit_envs.policies.models import FourierFeatures, LinearScores, Logistic, Ridge
from bandit_envs.policies.rules import EpsilonGreedy, Softmax, UpperBound
from bandit_envs.policies.scikit_learn import Estimators
from bandit_envs.trajectories import restart
from tests.logged.test_learners import bad_logger_log, means

pytestmark = pytest.mark.filterwarnings(
    "ignore:the policy has learned from rows of this log", "ignore:what .* learns is linear"
)

CONTEXT = np.random.default_rng(99).normal(size=(5_000, 3))


def value_of(policy):
    shown = policy.replicate(len(CONTEXT))
    table = shown.probabilities(restart(CONTEXT, len(CONTEXT)))
    return (table * means(CONTEXT)).sum(axis=1).mean()


@pytest.mark.parametrize(
    ("learner", "at_least"),
    [  # the logger earns 0.305, the best single action 0.534, the best policy 0.849
        (ModelLearner(Logistic()), 0.83),
        (ModelLearner(Ridge(initial_value=0.5), UpperBound(0.1)), 0.8),
        (ModelLearner(FourierFeatures(Ridge()), Softmax(0.05, cooling=1.0)), 0.68),
        (ModelLearner(Logistic(), EpsilonGreedy(0.1)), 0.78),
    ],
    ids=["logistic", "ridge, upper bound", "Fourier, softmax", "logistic, epsilon-greedy"],
)
def test_any_model_and_rule_learn_from_a_log(learner, at_least):
    assert value_of(learner.fit(bad_logger_log(2000, seed=0), seed=1)) > at_least


def test_scikit_learn_models_learn_from_a_log():
    pytest.importorskip("sklearn")
    model = Estimators("LogisticRegression(C=100)", memory_size=2000)
    assert value_of(ModelLearner(model).fit(bad_logger_log(2000, seed=0), seed=1)) > 0.83


def test_networks_learn_from_a_log():
    pytest.importorskip("torch")
    model = Network(width=32, learning_rate=0.01, minibatch_size=64)
    policy = ModelLearner(model, Softmax(0.05, cooling=1.0)).fit(bad_logger_log(2000, 0), seed=1)
    assert value_of(policy) > 0.68


def test_batches_are_learned_as_the_whole_log():
    log = bad_logger_log(3000, seed=1)
    whole = ModelLearner(Ridge()).fit(log, seed=0)
    parts = ModelLearner(Ridge()).fit_batches([log[:700], log[700:1800], log[1800:]], seed=0)
    learned = [each.get_state().content.learned for each in (whole, parts)]
    np.testing.assert_allclose(learned[0].model.theta, learned[1].model.theta, atol=1e-12)
    assert learned[0].num_rewards == learned[1].num_rewards == 3000


def test_features_of_actions_and_masks_are_learned_from():
    rng = np.random.default_rng(2)
    items = rng.normal(size=(500, 4, 2))
    action = rng.integers(3, size=500)
    reward = items[np.arange(500), action] @ [1.0, -1.0]
    available = np.ones((500, 4), bool)
    available[:, 3] = False
    log = BanditLog(
        {"global": np.ones((500, 1)), "per_arm": items}, action, reward, np.full(500, 1 / 3), 4,
        available=available,
    )  # fmt: skip

    policy = ModelLearner(Ridge()).fit(log)

    chosen = probabilities_of(policy, dataclasses.replace(log, reward=-reward)).argmax(axis=1)
    best = (items @ [1.0, -1.0])[:, :3].argmax(axis=1)
    assert (chosen == best).mean() > 0.95


def test_the_policy_goes_on_learning_and_is_written(tmp_path):
    log = bad_logger_log(400, seed=3)
    found = learn(log, 'contextual:model="ridge:gamma=0.99",rule="upper_bound:alpha=0.5"')
    found.write(tmp_path / "policy.npz")

    saved = read_policy(tmp_path / "policy.npz")

    assert (saved.model, saved.rule) == (Ridge(gamma=0.99), UpperBound(0.5))
    assert saved.rows_learned == 200
    assert found.policy.can_learn


def test_workers_are_refused_as_rows_are_learned_in_order():
    with pytest.raises(ValueError, match="learns the rows in order, so it takes no workers"):
        learn(bad_logger_log(100, seed=0), "contextual:model=ridge", workers=2, backend="threading")


def test_a_ridge_without_a_start_is_the_direct_method():
    log = bad_logger_log(2000, seed=4)
    direct = DirectMethodLearner().fit(log)
    by_model = ModelLearner(Ridge(initial_value="mean")).fit(log)
    assert value_of(by_model) == pytest.approx(value_of(direct), abs=0.01)


@pytest.mark.parametrize(
    ("model", "rule", "message"),
    [
        (LinearScores(np.zeros((2, 2))), None, "expected one that learns"),
        ("ridge", None, "expected one that learns"),
        (Logistic(), "greedy", "rule is 'greedy'"),
    ],
    ids=["fixed", "text", "text of a rule"],
)
def test_what_is_no_model_or_rule_is_refused(model, rule, message):
    with pytest.raises(TypeError, match=message):
        ModelLearner(model, rule)


def test_a_rule_that_the_model_cannot_serve_is_refused():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match="needs interval"):
        ModelLearner(Estimators("LogisticRegression()"), UpperBound(1.0))
