"""Predictions of rewards."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from bandit_envs import RandomPolicy
from bandit_envs.environments import logistic_context
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    RewardRegression,
    RidgeRegression,
    estimate_batches,
)
from bandit_envs.logged.reward_models import RewardSums, mrdr_weights
from bandit_envs.logged.reward_models.reward_sums import folds_of
from tests.cases import for_each
from tests.logged.logs import PROBABILITIES, drawn, small_log
from tests.logged.test_more_estimators import POLICY, table_log
from tests.statistical import has_probabilities


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_regression_minimises_its_penalised_error(weighted):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 3)) + 2.0
    targets = rng.normal(size=50)
    weights = rng.random(50) if weighted else np.ones(50)
    design = np.column_stack([np.ones(50), features])
    penalty = np.diag([0.0, 1.0, 1.0, 1.0])
    scaled = design.T * weights
    solution = np.linalg.solve(scaled @ design + penalty, scaled @ targets)
    model = RidgeRegression().fit(features, targets, weights if weighted else None)
    assert np.allclose(model.predict(features), design @ solution, atol=1e-10)


@pytest.mark.parametrize("for_policy", [False, True])
def test_cross_fitted_predictions_make_doubly_robust_more_precise(for_policy):
    env = logistic_context(4, 3, 3000, seed=0)
    context = env.reset().observation
    action = RandomPolicy(4, 3000, seed=1).action(env.current_time_step())
    log = BanditLog(context, action, env.step(action).reward, np.full(3000, 0.25), 4)
    target = np.tile([0.7, 0.1, 0.1, 0.1], (3000, 1))
    predicted = RewardRegression().predict(log, target if for_policy else None)
    truth = env.expected_rewards_for(context)
    assert np.sqrt(np.mean((predicted - truth) ** 2)) < 0.12
    plain = InversePropensityScoring().estimate(log, target).standard_error
    assert DoublyRobust().estimate(log, target, predicted).standard_error < 0.9 * plain


@pytest.mark.parametrize("with_items", [False, True])
def test_sums_of_parts_predict_as_the_whole_log_does(with_items):
    rng = np.random.default_rng(0)
    log = drawn(rng, 500)
    if with_items:
        items = {"global": log.observation, "per_arm": rng.normal(size=(500, 3, 2))}
        log = dataclasses.replace(log, observation=items)
    whole = RewardRegression().predict(log)
    starts = [0, 1, 100, 103, 500]
    parts = [slice(*edge) for edge in itertools.pairwise(starts)]
    sums = [RewardSums.from_log(log[part], part.start) for part in parts]
    model = functools.reduce(RewardSums.merge, reversed(sums)).fit()
    for part in parts:
        found = model.predict(log[part], part.start)
        np.testing.assert_allclose(found, whole[part], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_folds_are_equally_large_and_do_not_follow_a_pattern_of_the_rows(folds):
    found = folds_of(0, 7000, folds)
    assert np.array_equal(folds_of(4321, 100, folds), found[4321:4421])
    blocks = found[: 7000 // folds * folds].reshape(-1, folds)
    assert (np.sort(blocks, axis=1) == np.arange(folds)).all()
    assert has_probabilities(np.bincount(blocks[:, 0]), np.full(folds, 1 / folds))


def test_sums_with_other_folds_do_not_merge():
    log = small_log()
    with pytest.raises(ValueError, match="folds are 3 and 4"):
        RewardSums.from_log(log).merge(RewardSums.from_log(log, folds=4))


class Mean:
    """A model that predicts the weighted mean of what it has learned from."""

    def __init__(self, lessons):
        self.lessons = lessons

    def __deepcopy__(self, memo):
        return Mean(self.lessons)

    def fit(self, features, targets, sample_weight=None):
        self.lessons.append((features, targets, sample_weight))
        self.mean = np.average(targets, weights=sample_weight)

    def predict(self, features):
        return np.full(len(features), self.mean)


def test_no_row_is_predicted_by_a_model_that_has_learned_from_it():
    log = drawn(np.random.default_rng(0), 30)
    lessons = []
    predicted = RewardRegression(Mean(lessons), folds=3).predict(log)
    assert [len(targets) for _, targets, _ in lessons] == [20, 20, 20]
    for row in range(30):
        (targets,) = (each for _, each, _ in lessons if log.reward[row] not in each)
        assert np.allclose(predicted[row], targets.mean())


def test_the_model_of_mrdr_learns_with_the_weights_of_its_source():
    log = small_log()
    lessons = []
    RewardRegression(Mean(lessons), folds=2).predict(log, PROBABILITIES)
    chosen = np.array([0.2, 0.8, 1.0, 1.0, 0.3, 0.5])
    weights = chosen**2 * (1 - log.propensity) / log.propensity**2
    by_context = dict(zip(log.observation[:, 0], weights))
    for features, _, found in lessons:
        contexts = features[:, 3]  # after three columns that say which action it is
        assert np.allclose(found, [by_context[key] for key in contexts])


def test_the_weights_of_mrdr_are_those_of_the_formula():
    expected = [14.672777778, 0.008024105, 0.005679012, 0.083449931, 0.630375, 0.061193756]
    expected += [0.153171598, 4.403119093]
    assert mrdr_weights(table_log(), POLICY) == pytest.approx(expected, abs=1e-9)


def test_the_weights_of_mrdr_need_propensities():
    log = BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0])
    with pytest.raises(ValueError, match="log has no propensities"):
        mrdr_weights(log, np.full((2, 2), 0.5))


def test_batches_make_the_estimate_by_mrdr_of_the_whole_log():
    log = drawn(np.random.default_rng(0), 600)
    table = np.tile([0.2, 0.3, 0.5], (600, 1))

    def policy(batch):
        return table[: len(batch)]

    found = estimate_batches(DoublyRobust(), [log[:250], log[250:]], policy, weigh=mrdr_weights)

    whole = DoublyRobust().estimate(log, table, RewardRegression().predict(log, table))
    plain = DoublyRobust().estimate(log, table, RewardRegression().predict(log))
    assert found.value == pytest.approx(whole.value, abs=1e-12)
    assert found.standard_error == pytest.approx(whole.standard_error, abs=1e-12)
    assert found.value != plain.value


@pytest.mark.parametrize("model", ["LogisticRegression", "Ridge"])
def test_models_of_scikit_learn_predict_rewards(model):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    action = rng.integers(3, size=2000)
    reward = (rng.random(2000) < np.array([0.1, 0.5, 0.9])[action]).astype(float)
    log = BanditLog(rng.normal(size=(2000, 2)), action, reward, np.full(2000, 1 / 3), 3)
    predicted = RewardRegression(getattr(linear_model, model)()).predict(log)
    assert np.allclose(predicted.mean(axis=0), [0.1, 0.5, 0.9], atol=0.05)


def test_an_ensemble_of_scikit_learn_predicts_rewards():
    ensemble = pytest.importorskip("sklearn.ensemble")
    log = drawn(np.random.default_rng(0), 60)
    forest = ensemble.RandomForestRegressor(5, random_state=0)
    predicted = RewardRegression(forest).predict(log)
    assert (log.reward.min() <= predicted).all()
    assert (predicted <= log.reward.max()).all()


def test_features_of_items_predict_rewards():
    rng = np.random.default_rng(0)
    users = rng.normal(size=(500, 1))
    items = rng.normal(size=(500, 4, 2))
    means = users + items @ [1.0, -2.0]
    action = rng.integers(4, size=500)
    rest = action, means[np.arange(500), action], np.full(500, 0.25), 4
    predicted = RewardRegression().predict(BanditLog({"global": users, "per_arm": items}, *rest))
    assert np.allclose(predicted, means, atol=0.1)
    reshaped = {"global": users[:, 0], "per_arm": items[..., np.newaxis]}
    same = RewardRegression().predict(BanditLog(reshaped, *rest))
    np.testing.assert_array_equal(same, predicted)


def test_an_action_that_was_logged_once_is_predicted():
    rng = np.random.default_rng(0)
    action = np.append(2, rng.integers(2, size=99))
    log = BanditLog(rng.normal(size=(100, 2)), action, action, np.full(100, 0.5), 3)
    assert np.isfinite(RewardRegression().predict(log)).all()


@pytest.mark.parametrize("model", [None, RidgeRegression()])
def test_a_mask_beside_the_context_is_no_feature(model):
    log = small_log()
    mask = np.ones((len(log), log.num_actions), bool)
    mask[::3, 0] = log.action[::3] == 0
    observation = {"observation": log.observation, "mask": mask}
    masked = dataclasses.replace(log, observation=observation)
    regression = RewardRegression(model, folds=2)
    np.testing.assert_array_equal(regression.predict(masked), regression.predict(log))


@for_each(
    ("weights", "message"),
    [
        (np.full(90, -1.0), "weights is -1.0 in row 0; expected at least 0"),
        (np.full(90, np.nan), "weights has NaN"),
        (np.full(90, 1e300), "weights is 1e.300 in row 0"),
        (np.ones(7), r"weights has shape \(7,\)"),
    ],
)
def test_rows_of_models_that_count_by_no_weights_are_refused(weights, message):
    log = BanditLog(np.ones((90, 1)), [0, 1, 1] * 30, [1, 0, 1] * 30, [0.5] * 90)
    with pytest.raises(ValueError, match=message):
        RewardSums.from_log(log, weights=weights)
