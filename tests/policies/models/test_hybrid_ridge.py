"""Hybrid ridge regression as a model, held against one ridge regression of stacked vectors."""

import numpy as np
import pytest

from bandit_envs.policies.models import HybridRidge
from bandit_envs.policies.rules import Greedy
from bandit_envs.specs import ArraySpec
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    B,
    G,
    K,
    Lessons,
    P,
    features_of,
    make_policy,
    observe,
    state_of,
    teach,
)


def stacked(x, action):
    """Returns (z, 0, .., x in the place of the action, .., 0) of x = [context, z]."""
    vector = np.zeros(P + K * G)
    vector[:P] = x[G:]
    vector[P + action * G : P + action * G + G] = x[:G]
    return vector


@pytest.mark.parametrize("batch_size", [1, 40])
@pytest.mark.parametrize(("shared", "own", "start"), [(1.0, 1.0, 0.0), (0.2, 5.0, 0.3)])
def test_it_is_one_ridge_regression_of_stacked_vectors(batch_size, shared, own, start):
    policy = make_policy(HybridRidge(shared, own, start), Greedy(), ITEMS, batch_size)
    lessons = Lessons(policy, ITEMS, steps=400 // batch_size)
    matrix = np.diag(np.concatenate((np.full(P, shared), np.full(K * G, own))))
    moments = np.zeros(len(matrix))
    for x, action, reward in zip(lessons.features, lessons.actions, lessons.rewards):
        vector = stacked(x, action)
        matrix += np.outer(vector, vector)
        moments += (reward - start) * vector
    inverse = np.linalg.inv(matrix)
    weights = inverse @ moments
    observation = observe(np.random.default_rng(2), ITEMS)
    inputs = policy._reader.read(observation, B)
    learned = state_of(policy).model
    np.testing.assert_allclose(learned.shared.theta[0], weights[:P], rtol=1e-9, atol=1e-9)
    means = policy.model.means(learned, inputs)
    lower, upper = policy.model.interval(learned, inputs, 2.0)
    rng = np.random.default_rng(3)
    many = {name: np.repeat(leaf[:1], 20_000, axis=0) for name, leaf in observation.items()}
    draws = policy.model.draw(rng, learned, policy._reader.read(many, 20_000), 0.5)
    for a in range(K):
        for row in range(B):
            vector = stacked(features_of(observation)[row, a], a)
            width = 2.0 * np.sqrt(vector @ inverse @ vector)
            expected = start + vector @ weights
            found = [means[row, a], lower[row, a], upper[row, a]]
            np.testing.assert_allclose(
                found, [expected, expected - width, expected + width], rtol=1e-9, atol=1e-9
            )
    vectors = np.array([stacked(features_of(observation)[0, a], a) for a in range(K)])
    covariance = 0.25 * vectors @ inverse @ vectors.T
    std = np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(axis=0) - means[0]) < 5 * std / np.sqrt(20_000)).all()
    assert np.abs((np.cov(draws.T) - covariance) / np.outer(std, std)).max() < 0.05


def test_three_rows_worked_out_by_hand():
    spec = {"global": ArraySpec((2,), np.float64), "per_arm": ArraySpec((2, 2), np.float64)}
    policy = make_policy(HybridRidge(), Greedy(), spec, 1, num_actions=2)
    for action, x, z, reward in [
        (0, (1.0, 2.0), (1.0, 0.0), 1.0),
        (1, (1.0, -1.0), (0.0, 1.0), 0.0),
        (0, (1.0, 0.5), (1.0, 1.0), 0.5),
    ]:
        teach(policy, {"global": np.array([x]), "per_arm": np.array([[z, z]])}, [action], [reward])
    learned = state_of(policy).model
    beta = learned.shared.theta[0]
    np.testing.assert_allclose(beta, [0.157894737, 0.019736842], atol=1e-9)
    theta = learned.own.theta[0] - learned.crossed[0] @ beta
    expected = [[0.157894737, 0.276315789], [-0.006578947, 0.006578947]]
    np.testing.assert_allclose(theta, expected, atol=1e-9)
    asked = {"global": np.array([[1.0, 0.5]]), "per_arm": np.array([[[0.5, -1.0], [2.0, 0.25]]])}
    inputs = policy._reader.read(asked, 1)
    means = policy.model.means(learned, inputs)
    np.testing.assert_allclose(means, [[0.355263158, 0.317434211]], atol=1e-9)
    _, upper = policy.model.interval(learned, inputs, 1.0)
    np.testing.assert_allclose(upper - means, [[1.164157703, 2.016227343]], atol=1e-9)


def test_contexts_without_features_of_actions_are_refused():
    with pytest.raises(ValueError, match="no features of actions; HybridRidge expects"):
        make_policy(HybridRidge(), Greedy(), CONTEXT)
