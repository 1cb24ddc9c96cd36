"""Logistic regression as a model, held against the posterior's mode found otherwise."""

from statistics import NormalDist

import numpy as np
import pytest

from bandit_envs.policies.models import Logistic
from bandit_envs.policies.models.logistic_models import LogisticModels
from bandit_envs.policies.rules import Greedy, ThompsonSampling
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.cases import for_each
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    B,
    K,
    Lessons,
    features_of,
    make_policy,
    observe,
    state_of,
    teach,
)

D = 3


def sigmoid(scores):
    return np.exp(-np.logaddexp(0.0, -scores))


def gradient(weights, prior, precision, x, rewards, *, start=0.0):
    """The derivative of minus the logarithm of the posterior density."""
    return precision * (weights - prior) + x.T @ (sigmoid(start + x @ weights) - rewards)


def mode(prior, precision, x, rewards, start=0.0):
    """Finds the mode by steps that cannot overshoot: the curvature is at most x^T x / 4."""
    bound = np.diag(precision) + x.T @ x / 4
    weights = prior
    for _ in range(3000):
        step = np.linalg.solve(bound, gradient(weights, prior, precision, x, rewards, start=start))
        weights = weights - step
        if np.abs(step).max() < 1e-14:
            break
    return weights


@pytest.mark.parametrize("start", [0.5, 0.1])
@pytest.mark.parametrize(
    "penalty", [1.0, *(pytest.param(w, marks=pytest.mark.slow) for w in (0.01, 30.0))]
)
@pytest.mark.parametrize(
    ("rows", "are_problems"), [(10, False), (1, False), (1, True)], ids=["batch", "row", "problem"]
)
def test_means_and_precisions_are_those_of_laplace_s_method(start, penalty, rows, are_problems):
    spec = ArraySpec((D,), np.float64)
    options = {"num_actions": 4, "independent_rows": are_problems}
    policy = make_policy(Logistic(penalty, start), Greedy(), spec, rows, **options)
    rng = np.random.default_rng(0)
    mean = np.zeros((4, D))
    precision = np.full((4, D), penalty)
    log_odds = np.log(start / (1.0 - start))
    for _ in range(4):
        context = rng.normal(size=(rows, D))
        action = rng.integers(0, 4, rows)
        rewards = (rng.random(rows) < sigmoid(context[:, 0] * (action - 1))).astype(float)
        teach(policy, context, action, rewards)
        for a in np.unique(action):
            x = context[action == a]
            mean[a] = mode(mean[a], precision[a], x, rewards[action == a], log_odds)
            p = sigmoid(log_odds + x @ mean[a])
            precision[a] += np.square(x).T @ (p * (1 - p))
        found = state_of(policy).model
        np.testing.assert_allclose(found.mean[0], mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.precision[0], precision, rtol=1e-6)


@for_each("size", [1e-6, 1.0, 1e4, 1e8])
@for_each("penalty", [1e-6, 1.0, 1e6])
@for_each("rows", [1, 200])
def test_the_mode_is_found_whatever_the_size_of_the_features(size, penalty, rows):
    """The gradient there, in units of the posterior's deviation, is almost 0."""
    rng = np.random.default_rng(1)
    x = size * rng.normal(size=(rows, D))
    x[:, 2] = x[:, 1]  # and collinear
    rewards = (rng.random(rows) < 0.5).astype(float)
    for are_problems in {False, rows == 1}:
        models = LogisticModels.initial((1, D), penalty)
        models.learn(np.zeros(rows, int), x, rewards, 0.0, are_problems)
        weights = models.mean[0]
        p = sigmoid(x @ weights)
        hessian = penalty * np.eye(D) + x.T @ (x * (p * (1 - p))[:, np.newaxis])
        scale = np.sqrt(np.diag(hessian))
        assert np.abs(gradient(weights, 0.0, penalty, x, rewards) / scale).max() < 1e-4


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("rows", [2, 30, 79, 80, 200])
def test_the_mode_of_many_features_is_found_for_few_rows_and_for_many(size, rows):
    rng = np.random.default_rng(2)
    dim = 80
    models = LogisticModels.initial((3, dim), 0.5)
    prior = rng.normal(size=(3, dim)) / 10 / size
    models.mean[...] = prior
    model = rng.integers(2, size=rows) * 2  # the model between them learns nothing
    x = size * rng.normal(size=(rows, dim))
    x[:, 2] = x[:, 1]  # collinear
    rewards = rng.random(rows)
    models.learn(model, x, rewards, 0.3, are_problems=False)
    np.testing.assert_array_equal(models.mean[1], prior[1])
    for one in np.unique(model):
        of_model = x[model == one]
        p = sigmoid(0.3 + of_model @ models.mean[one])
        slope = 0.5 * (models.mean[one] - prior[one]) + of_model.T @ (p - rewards[model == one])
        hessian = 0.5 + np.square(of_model).T @ (p * (1 - p))
        assert np.abs(slope / np.sqrt(hessian)).max() < 1e-4
        np.testing.assert_allclose(models.precision[one], hessian, rtol=1e-6)


def test_separable_rewards_have_a_finite_mode():
    policy = make_policy(Logistic(1e-3), Greedy(), ArraySpec((1,), np.float64), 100, num_actions=1)
    context = np.linspace(-1, 1, 100)[:, np.newaxis]
    for _ in range(50):
        teach(policy, context, np.zeros(100, int), (context[:, 0] > 0).astype(float))
    assert 10 < state_of(policy).model.mean.item() < 1e4


@pytest.mark.parametrize("spec", [CONTEXT, ITEMS], ids=["context", "items"])
def test_predictions_and_bounds_are_those_of_the_log_odds(spec):
    policy = make_policy(Logistic(initial_value=0.3), Greedy(), spec)
    Lessons(policy, spec)
    observation = observe(np.random.default_rng(2), spec)
    inputs = policy._reader.read(observation, B)
    learned = state_of(policy).model
    scores = np.empty((B, K))
    deviations = np.empty((B, K))
    for a in range(K):
        model = 0 if spec is ITEMS else a
        x = features_of(observation)[:, a]
        scores[:, a] = np.log(0.3 / 0.7) + x @ learned.mean[0, model]
        deviations[:, a] = np.sqrt(np.square(x) @ (1.0 / learned.precision[0, model]))
    model = policy.model
    np.testing.assert_allclose(model.scores(learned, inputs), scores, rtol=1e-12)
    np.testing.assert_allclose(model.means(learned, inputs), sigmoid(scores), rtol=1e-12)
    lower, upper = model.interval(learned, inputs, 1.5)
    np.testing.assert_allclose(lower, sigmoid(scores - 1.5 * deviations), rtol=1e-12)
    np.testing.assert_allclose(upper, sigmoid(scores + 1.5 * deviations), rtol=1e-12)


def test_thompson_chooses_as_often_as_the_stated_normal_distribution_says():
    alpha, rows = 2.0, 40_000
    spec = ArraySpec((D,), np.float64)
    policy = make_policy(Logistic(), ThompsonSampling(alpha), spec, rows, num_actions=2)
    rng = np.random.default_rng(2)
    action = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, D))
    rewards = (rng.random(rows) < sigmoid(x[:, 0] * (action - 1))).astype(float)
    teach(policy, 0.02 * x, action, rewards)
    mean, precision = (each[0] for each in state_of(policy).model)
    for _ in range(20):
        context = rng.normal(size=D)
        std = alpha * np.sqrt(np.square(context) @ (1 / precision).sum(axis=0))
        expected = NormalDist().cdf(context @ (mean[1] - mean[0]) / std)
        share = policy.action(restart(np.tile(context, (rows, 1)), rows)).mean()
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / rows) + 1e-9


def test_it_learns_which_action_is_clicked():
    theta = np.random.default_rng(3).normal(size=(4, D)) * 3
    spec = ArraySpec((D,), np.float64)
    policy = make_policy(Logistic(), ThompsonSampling(), spec, 50, num_actions=4)
    rng = np.random.default_rng(4)
    regrets = []
    for _ in range(200):
        context = rng.normal(size=(50, D))
        action = policy.action(restart(context, 50))
        chances = sigmoid(context @ theta.T)
        chosen = chances[np.arange(50), action]
        teach(policy, context, action, (rng.random(50) < chosen).astype(np.float32))
        regrets.append((chances.max(axis=1) - chosen).mean())
    assert np.mean(regrets[100:]) < 0.02


@pytest.mark.slow
def test_20_000_updates_approach_the_weights_that_generated_the_clicks():
    theta = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]])
    policy = make_policy(Logistic(), Greedy(), ArraySpec((D,), np.float64), 1, num_actions=2)
    rng = np.random.default_rng(5)
    for _ in range(20_000):
        context = rng.normal(size=(1, D))
        action = rng.integers(0, 2, 1)
        chance = sigmoid(context[0] @ theta[action[0]])
        teach(policy, context, action, (rng.random(1) < chance).astype(float))
    mean, precision = state_of(policy).model
    assert np.abs((mean[0] - theta) * np.sqrt(precision[0])).max() < 6
