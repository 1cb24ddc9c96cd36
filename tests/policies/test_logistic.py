"""Logistic Thompson sampling, held against the posterior's mode found otherwise."""

from statistics import NormalDist

import numpy as np
import pytest

from bandit_envs import LogisticThompsonSamplingPolicy
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

D, K, B = 3, 4, 10


def make(dim=D, actions=K, batch_size=B, seed=0, **parameters):
    return LogisticThompsonSamplingPolicy(
        observation_spec=ArraySpec((dim,), np.float64),
        num_actions=actions,
        batch_size=batch_size,
        seed=seed,
        **parameters,
    )


def teach(policy, context, action, rewards):
    before, after = restart(context, len(context)), termination(context, rewards)
    policy(Trajectory.from_transition(before, action, after))


def posteriors_of(policy):
    return policy.get_state().content.learned


def sigmoid(scores):
    return np.exp(-np.logaddexp(0.0, -scores))


def gradient(weights, prior, precision, x, rewards):
    """The derivative of minus the logarithm of the posterior density."""
    return precision * (weights - prior) + x.T @ (sigmoid(x @ weights) - rewards)


def mode(prior, precision, x, rewards):
    """Finds the mode by steps that cannot overshoot: the curvature is at most x^T x / 4."""
    bound = np.diag(precision) + x.T @ x / 4
    weights = prior
    for _ in range(3000):
        weights = weights - np.linalg.solve(bound, gradient(weights, prior, precision, x, rewards))
    return weights


def lesson(rng, batch_size=B, actions=K):
    context = rng.normal(size=(batch_size, D))
    action = rng.integers(0, actions, batch_size)
    rewards = (rng.random(batch_size) < sigmoid(context[:, 0] * (action - 1))).astype(float)
    return context, action, rewards


@pytest.mark.parametrize(
    "tikhonov_weight", [1.0, *(pytest.param(w, marks=pytest.mark.slow) for w in (0.01, 30.0))]
)
def test_means_and_precisions_are_those_of_laplace_s_method(tikhonov_weight):
    policy, rng = make(tikhonov_weight=tikhonov_weight), np.random.default_rng(0)
    mean, precision = np.zeros((K, D)), np.full((K, D), tikhonov_weight)
    for _ in range(4):
        context, action, rewards = lesson(rng)
        teach(policy, context, action, rewards)
        for a in np.unique(action):
            x, r = context[action == a], rewards[action == a]
            mean[a] = mode(mean[a], precision[a], x, r)
            p = sigmoid(x @ mean[a])
            precision[a] += np.square(x).T @ (p * (1 - p))
        found = posteriors_of(policy)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.precision, precision, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("tikhonov_weight", [1e-6, 1.0, 1e6])
def test_the_mode_is_found_whatever_the_size_of_the_features(size, tikhonov_weight):
    """The gradient there, in units of the posterior's deviation, is almost 0."""
    policy, rng = make(tikhonov_weight=tikhonov_weight, batch_size=200), np.random.default_rng(1)
    context, action, rewards = lesson(rng, 200)
    context = context * size
    context[:, 2] = context[:, 1]  # and collinear
    teach(policy, context, action, rewards)
    found = posteriors_of(policy)
    for a in range(K):
        x, r, weights = context[action == a], rewards[action == a], found.mean[a]
        p = sigmoid(x @ weights)
        hessian = np.diag(np.full(D, tikhonov_weight)) + x.T @ (x * (p * (1 - p))[:, np.newaxis])
        scale = np.sqrt(np.diag(hessian))
        g = gradient(weights, 0.0, tikhonov_weight, x, r) / scale
        assert np.abs(g).max() < 1e-4


def test_separable_rewards_have_a_finite_mode():
    policy = make(dim=1, actions=1, batch_size=100, tikhonov_weight=1e-3)
    context = np.linspace(-1, 1, 100)[:, np.newaxis]
    for _ in range(50):
        teach(policy, context, np.zeros(100, int), (context[:, 0] > 0).astype(float))
    assert 10 < posteriors_of(policy).mean.item() < 1e4


def test_thompson_chooses_as_often_as_the_stated_normal_distribution_says():
    alpha, rows = 2.0, 40_000
    policy = make(actions=2, batch_size=rows, alpha=alpha)
    rng = np.random.default_rng(2)
    context, action, rewards = lesson(rng, rows, 2)
    teach(policy, 0.02 * context, action, rewards)
    mean, precision = posteriors_of(policy)
    for _ in range(20):
        x = rng.normal(size=D)
        std = alpha * np.sqrt(np.square(x) @ (1 / precision).sum(axis=0))
        expected = NormalDist().cdf(x @ (mean[1] - mean[0]) / std)
        share = policy.action(restart(x[np.newaxis].repeat(rows, 0), rows)).mean()
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / rows) + 1e-9


def test_it_learns_which_action_is_clicked():
    theta = np.random.default_rng(3).normal(size=(K, D)) * 3
    policy, rng, clicks = make(batch_size=50), np.random.default_rng(4), []
    for _ in range(200):
        context = rng.normal(size=(50, D))
        action = policy.action(restart(context, 50))
        chances = sigmoid(context @ theta.T)
        rewards = (rng.random(50) < chances[np.arange(50), action]).astype(np.float32)
        teach(policy, context, action, rewards)
        clicks.append((chances.max(axis=1) - chances[np.arange(50), action]).mean())
    assert np.mean(clicks[100:]) < 0.02


@pytest.mark.slow
def test_100_000_updates_approach_the_weights_that_generated_the_clicks():
    theta = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]])
    policy, rng = make(actions=2, batch_size=1), np.random.default_rng(5)
    for _ in range(100_000):
        context, action = rng.normal(size=(1, D)), rng.integers(0, 2, 1)
        chance = sigmoid(context[0] @ theta[action[0]])
        teach(policy, context, action, (rng.random(1) < chance).astype(float))
    mean, precision = posteriors_of(policy)
    assert np.abs((mean - theta) * np.sqrt(precision)).max() < 6


def test_probabilities_have_no_closed_form_but_an_estimate():
    policy, time_step = make(), restart(np.ones((B, D)), B)
    with pytest.raises(NotImplementedError):
        policy.probabilities(time_step)
    estimate = policy.estimated_probabilities(time_step, 4000, np.random.default_rng(0))
    assert np.abs(estimate - 1 / K).max() < 5 * np.sqrt(3 / 16 / 4000)
