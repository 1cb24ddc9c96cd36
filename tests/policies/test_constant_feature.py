"""Linear policies that meet a table without a constant: each place that shows it one says so."""

import warnings

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy, LinUCBPolicy, UCBPolicy
from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import BanditLog, DoublyRobustLearner
from bandit_envs.logged.learners import ModelLearner
from bandit_envs.policies.contextual import lacks_constant
from bandit_envs.policies.models import BayesianRidge, FourierFeatures, Logistic, Ridge
from bandit_envs.policies.models.constant_feature import share_of_constant
from bandit_envs.policies.rules import EpsilonGreedy, Greedy
from bandit_envs.serving import DecisionService
from bandit_envs.studies import Study
from tests.cases import for_each

AGES = np.random.default_rng(0).uniform(18.0, 80.0, (400, 1))
WITH_ONE = np.column_stack([AGES, np.ones(400)])
SAID = "no sum of its features is nearly constant"


def make_log(contexts):
    """A log of two actions."""
    rng = np.random.default_rng(0)
    action = rng.integers(2, size=len(contexts))
    reward = rng.integers(2, size=len(contexts)).astype(float)
    return BanditLog(contexts, action, reward, np.full(len(contexts), 0.5))


def test_the_share_of_a_constant_is_that_which_features_explain():
    ages = AGES[:, 0]
    expected = ages.mean() ** 2 / np.mean(ages**2)
    assert share_of_constant(AGES) == pytest.approx(expected)
    assert share_of_constant(AGES - AGES.mean()) == pytest.approx(0.0, abs=1e-9)
    assert share_of_constant(WITH_ONE) == pytest.approx(1.0)


@for_each(
    "model",
    [
        Ridge(),
        Logistic(),
        Ridge(intercept=True),
        Logistic(intercept=True),
        BayesianRidge(),
        FourierFeatures(),
    ],
)
def test_models_say_whether_they_need_a_constant(model):
    def make(contexts):
        spec = ArraySpec(contexts.shape[1:], "float64")
        return ContextualPolicy(model, Greedy(), observation_spec=spec, num_actions=2)

    assert lacks_constant(make(AGES), AGES) == (model in (Ridge(), Logistic()))
    assert not lacks_constant(make(WITH_ONE), WITH_ONE)
    assert not lacks_constant(UCBPolicy(1.0, num_actions=2), AGES)


def test_features_of_actions_are_those_of_all_of_them():
    prices = np.random.default_rng(0).uniform(1.0, 3.0, (50, 4, 1))
    kinds = np.broadcast_to(np.eye(4), (50, 4, 4))
    for items, lacks in ((prices, True), (kinds, False)):
        observation = {"global": np.zeros((50, 1)), "per_arm": items}
        spec = {"global": ArraySpec((1,), "float64"), "per_arm": ArraySpec(items.shape[1:], float)}
        assert lacks_constant(LinUCBPolicy(1.0, observation_spec=spec), observation) == lacks


@pytest.mark.parametrize("policy", ["lin_ucb", ModelLearner(Logistic())])
def test_an_evaluation_tells(policy):
    assert any(SAID in note for note in evaluate(make_log(AGES), policy, "ips").notes)
    assert not any(SAID in note for note in evaluate(make_log(WITH_ONE), policy, "ips").notes)
    learner = DoublyRobustLearner()  # its regressions have intercepts
    assert not any(SAID in note for note in evaluate(make_log(AGES), learner, "ips").notes)


def test_no_features_make_no_constant():
    evaluation = evaluate(make_log(np.zeros((400, 0))), "lin_ucb", "ips")
    assert any(SAID in note for note in evaluation.notes)


def test_learning_from_a_log_warns():
    with pytest.warns(UserWarning, match=f"what ModelLearner learns is linear, and {SAID}"):
        learn(make_log(AGES), ModelLearner(Ridge()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(make_log(WITH_ONE), ModelLearner(Ridge()))


def test_a_study_of_a_table_warns(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": AGES[:, 0], "one": 1.0, "a": 0.0, "b": 1.0})
    frame.to_csv(tmp_path / "t.csv", index=False)

    def make(features, *policies):
        table = f'outcomes:path="{tmp_path / "t.csv"}",features="{features}",reward="a,b"'
        values = {"environment": [table], "policy": [*policies, "random"], "runs": 1, "steps": 1}
        return Study.from_dict({"title": "A table", **values})

    with pytest.warns(UserWarning, match=f"policy lin_ucb:.* in environment outcomes.* {SAID}"):
        make("x", "lin_ucb:intercept=false")
    several = [f"lin_ucb:alpha={alpha},intercept=false" for alpha in (1, 2)]
    with pytest.warns(
        UserWarning, match=f"^Each of policy {several[0]} .*{several[1]} .* {SAID}"
    ) as caught:
        make("x", *several)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make("x,one", "lin_ucb:intercept=false")
        make("x", "lin_ucb")


def test_a_service_warns_once_it_has_met_some_contexts(tmp_path):
    def meet(contexts, name, features):
        spec = ArraySpec((len(features),), "float64")
        policy = ContextualPolicy(Ridge(), EpsilonGreedy(0.1), observation_spec=spec, num_actions=2)
        with DecisionService(tmp_path / name, policy, ["a", "b"], features=features) as service:
            for context in contexts:
                service.decide(dict(zip(features, context)))

    with pytest.warns(UserWarning, match=SAID) as caught:
        meet(AGES[:250].tolist(), "plain.sqlite", {"age": "number"})
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meet(AGES[:50].tolist(), "few.sqlite", {"age": "number"})
        meet(WITH_ONE[:250].tolist(), "one.sqlite", {"age": "number", "one": "number"})
