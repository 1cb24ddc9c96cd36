"""Bayesian ridge regression as a model, held against the formulas of its posterior."""

import numpy as np
import pytest

from bandit_envs.policies.models import BayesianRidge
from bandit_envs.policies.rules import ThompsonSampling
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    B,
    D,
    K,
    Lessons,
    features_of,
    make_policy,
    observe,
    state_of,
)

MODEL = BayesianRidge(a0=5.0, b0=2.0, tikhonov_weight=0.3, initial_value=0.4)
SPECS = pytest.mark.parametrize("spec", [CONTEXT, ITEMS], ids=["context", "items"])


def posterior(x, rewards):
    """Returns mu, the covariance in units of the variance, a and b, as the paper writes them."""
    rows = np.column_stack((x, np.ones(len(x))))
    rewards = rewards - 0.4
    precision = rows.T @ rows + 0.3 * np.eye(D + 1)
    covariance = np.linalg.inv(precision)
    mu = covariance @ rows.T @ rewards
    a = 5.0 + len(x) / 2.0
    b = 2.0 + 0.5 * (rewards @ rewards - mu @ precision @ mu)
    return mu, covariance, a, b


def taught(spec, batch_size=B):
    policy = make_policy(MODEL, ThompsonSampling(), spec, batch_size)
    return policy, Lessons(policy, spec, steps=60 // batch_size)


@SPECS
@pytest.mark.parametrize("batch_size", [1, 60])
def test_the_posterior_is_that_of_the_formulas(spec, batch_size):
    policy, lessons = taught(spec, batch_size)
    learned = state_of(policy).model
    for model in range(learned.theta.shape[1]):
        x, rewards, _ = lessons.of(model)
        mu, covariance, a, b = posterior(x, rewards)
        root = learned.whitening[0, model]
        np.testing.assert_allclose(learned.theta[0, model], mu, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(root.T @ root, covariance, rtol=1e-9, atol=1e-12)
        assert 5.0 + learned.counts[0, model] / 2 == a
        assert 2.0 + learned.losses[0, model] / 2 == pytest.approx(b, rel=1e-9)


@SPECS
def test_means_and_bounds_are_those_of_the_posterior(spec):
    policy, lessons = taught(spec)
    observation = observe(np.random.default_rng(2), spec)
    inputs = policy._reader.read(observation, B)
    means = MODEL.means(state_of(policy).model, inputs)
    lower, upper = MODEL.interval(state_of(policy).model, inputs, 1.5)
    for action in range(K):
        mu, covariance, a, b = posterior(*lessons.of(action)[:2])
        for row in range(B):
            x = np.append(features_of(observation)[row, action], 1.0)
            width = 1.5 * np.sqrt(b / a * (x @ covariance @ x))
            expected = 0.4 + x @ mu
            found = [means[row, action], lower[row, action], upper[row, action]]
            np.testing.assert_allclose(found, [expected, expected - width, expected + width])


@SPECS
def test_choices_are_as_frequent_as_the_best_of_drawn_models(spec):
    """Models are drawn as the paper does: a variance, then coefficients given the variance."""
    rng = np.random.default_rng(1)
    rows = 20_000
    teacher, lessons = taught(spec)
    policy = make_policy(MODEL, ThompsonSampling(), spec, rows)
    policy._state = teacher._state
    observation = observe(rng, spec, 1)
    x = features_of(observation)[0]
    values = np.empty((rows, K))
    for action in range(K):
        if action == 0 or spec is CONTEXT:
            mu, covariance, a, b = posterior(*lessons.of(action)[:2])
            variances = b / rng.gamma(a, size=rows)
            noise = rng.multivariate_normal(np.zeros(D + 1), covariance, size=rows)
            models = mu + np.sqrt(variances)[:, np.newaxis] * noise
        values[:, action] = models @ np.append(x[action], 1.0)
    expected = np.bincount(values.argmax(axis=1), minlength=K) / rows
    if spec is ITEMS:
        seen = {name: np.repeat(leaf, rows, axis=0) for name, leaf in observation.items()}
    else:
        seen = np.repeat(observation, rows, axis=0)
    share = np.bincount(policy.action(restart(seen, rows)), minlength=K) / rows
    error = np.sqrt(2.0 * expected * (1.0 - expected) / rows)
    assert (np.abs(share - expected) < 4.0 * error + 1e-4).all()
    assert (expected > 0.02).sum() >= 3


def test_a_draw_for_items_has_the_covariances_of_the_posterior():
    policy, lessons = taught(ITEMS)
    observation = observe(np.random.default_rng(3), ITEMS, 1)
    seen = {name: np.repeat(leaf, 40_000, axis=0) for name, leaf in observation.items()}
    inputs = policy._reader.read(seen, 40_000)
    draws = MODEL.draw(np.random.default_rng(0), state_of(policy).model, inputs, 2.0)
    mu, covariance, a, b = posterior(*lessons.of(0)[:2])
    x = np.column_stack((features_of(observation)[0], np.ones(K)))
    expected = 4.0 * b / (a - 1.0) * x @ covariance @ x.T
    std = np.sqrt(np.diag(expected))
    assert (np.abs(draws.mean(axis=0) - 0.4 - x @ mu) < 5 * std / 200.0).all()
    errors = (np.cov(draws.T) - expected) / np.outer(std, std)
    assert np.abs(errors).max() < 0.05  # about five standard errors
