"""Reward models of contexts without features of the arms."""

import copy
import pickle

import numpy as np
import pytest

from bandit_envs.rewards import (
    LinearActionReward,
    LogisticActionReward,
    RowActionReward,
    normalized_sliding_thetas,
    sliding_thetas,
    structured_thetas,
)
from tests.statistical import is_near, is_near_std, within_standard_errors

K, D, R, B = 3, 4, 2, 50_000


@pytest.mark.parametrize("shape", [(K, D), (K, D, R)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_linear_rewards_have_the_means_and_the_deviation_that_they_state(shape, dtype):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=shape)
    context = (3 * rng.normal(size=(B, D))).astype(dtype)
    model = LinearActionReward(theta, noise_std=0.5)
    means = np.moveaxis(np.tensordot(context.astype(float), theta, (1, 1)), 0, 0)
    np.testing.assert_allclose(model.mean(context), means, rtol=1e-4, atol=1e-4)
    action = rng.integers(0, K, B)
    drawn = model.draw(rng, context, action)
    assert drawn.shape == (B, *model.spec.shape) == (B, *shape[2:])
    errors = drawn - means[np.arange(B), action]
    assert is_near(errors, 0.0, std=0.5)
    assert is_near_std(errors, 0.5)
    if shape == (K, D, R):
        assert within_standard_errors(np.corrcoef(errors.T)[0, 1], 0.0, 1 / np.sqrt(B))


@pytest.mark.parametrize("shape", [(K, D), (K, D, R)])
def test_without_noise_a_linear_reward_is_its_mean(shape):
    rng = np.random.default_rng(0)
    model = LinearActionReward(rng.normal(size=shape), 0.0)
    context, action = rng.normal(size=(100, D)).astype(np.float32), rng.integers(0, K, 100)
    expected = model.mean(context)[np.arange(100), action]
    np.testing.assert_array_equal(model.draw(rng, context, action), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_logistic_rewards_are_clicks_with_the_probabilities_that_they_state(dtype):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(K, D))
    intercept = rng.normal(size=K)
    context = rng.normal(scale=2.0, size=(B, D)).astype(dtype)
    model = LogisticActionReward(theta, intercept)
    probabilities = 1.0 / (1.0 + np.exp(-(context @ theta.T + intercept)))
    np.testing.assert_allclose(model.mean(context), probabilities, atol=1e-12)
    action = rng.integers(0, K, B)
    drawn = model.draw(rng, context, action)
    assert set(np.unique(drawn)) == {0, 1}
    assert is_near(drawn - probabilities[np.arange(B), action], 0.0, std=0.5)
    assert (model.spec.minimum, model.spec.maximum) == (0.0, 1.0)


def test_sliding_weights_are_consecutive_integers():
    assert sliding_thetas(3, 2).tolist() == [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    expected = [[0.0, 0.2, 0.4], [0.2, 0.4, 0.6]]
    np.testing.assert_allclose(normalized_sliding_thetas(3, 2), expected, rtol=1e-15)


def test_structured_weights_differ_from_the_previous_action_s_by_uniform_steps():
    theta = structured_thetas(np.random.default_rng(0), 5000, 4, drift_coefficient=0.5)
    assert theta.shape == (4, 5000)
    steps = np.concatenate((theta[:1], np.diff(theta, axis=0) / 0.5))
    assert steps.min() >= -1e-12
    assert steps.max() <= 1 + 1e-12
    assert is_near(steps.T, 0.5, std=np.sqrt(1 / 12))


def test_functions_are_called_for_each_row_with_a_context_of_their_own():
    seen = []

    def keep(context):
        seen.append(context)
        context += 1
        return context[0]

    context = np.array([[1.0, 2.0], [3.0, 4.0]])
    model = RowActionReward([keep, min], context[0])
    assert model.draw(np.random.default_rng(), context, np.array([0, 1])).tolist() == [2.0, 3.0]
    assert context.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (model.num_actions, len(seen)) == (2, 2)


def test_functions_may_return_lists():
    model = RowActionReward([lambda context: [1, context[0]]] * 2, np.ones(1))
    assert model.spec.shape == (2,)
    drawn = model.draw(np.random.default_rng(), np.array([[5.0], [6.0]]), np.array([0, 1]))
    assert drawn.tolist() == [[1.0, 5.0], [1.0, 6.0]]


def test_models_can_be_copied_and_pickled():
    model, context = LinearActionReward(np.ones((K, D))), np.ones((2, D))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.mean(context), model.mean(context))
