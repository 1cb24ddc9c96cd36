"""The bandit whose weights rotate."""

import numpy as np
import pytest

from bandit_envs import DriftingLinearBandit
from bandit_envs.environments.contexts.drifting_linear import rotated
from bandit_envs.sampling import BatchFunction, Normal
from bandit_envs.testing import assert_identical
from tests.cases import for_each
from tests.statistical import has_probabilities, is_near, is_near_std

D, K, B = 5, 3, 4


def drifting(dim=D, actions=K, batch_size=B, seed=0, **parameters):
    env = DriftingLinearBandit(
        Normal(dim), Normal(actions), batch_size=batch_size, seed=seed, **parameters
    )
    env.reset()
    return env


def givens(dim, first, angle):
    """Returns the rotation [dim, dim] in the plane of the axes `first` and `first + 1`."""
    matrix = np.eye(dim)
    second = first + 1
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[second, first] = np.sin(angle)
    matrix[first, second] = -np.sin(angle)
    return matrix


@for_each("first", range(D - 1))
def test_a_rotation_is_that_of_the_matrix(first):
    weights = np.random.default_rng(0).normal(size=(D, K))
    expected = givens(D, first, 0.7) @ weights
    np.testing.assert_allclose(rotated(weights, first, 0.7), expected, rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize(("dim", "actions", "batch_size"), [(5, 3, 1), (3, 5, 2), (2, 1, 1)])
def test_norms_stay_over_many_steps(dim, actions, batch_size):
    env = drifting(dim, actions, batch_size, drift_mean=1.0, drift_std=1.0)
    before = env.weights.copy()
    action = np.zeros(batch_size, int)
    for _ in range(3000):
        env.step(action)
    assert not np.any(env.weights == before)
    norms = np.linalg.norm(env.weights, axis=0)
    np.testing.assert_allclose(norms, np.linalg.norm(before, axis=0), rtol=1e-12)


def test_a_step_rotates_two_neighbouring_rows_by_a_normal_angle():
    env = drifting(drift_mean=0.3, drift_std=0.2)
    firsts = []
    angles = []
    for _ in range(4000):
        before = env.weights
        env.step([0] * B)
        changed = np.flatnonzero((env.weights != before).any(axis=1))
        assert len(changed) == 2
        assert changed[1] == changed[0] + 1
        firsts.append(changed[0])
        old = before[changed, 0]
        new = env.weights[changed, 0]
        angle = np.arctan2(new[1], new[0]) - np.arctan2(old[1], old[0])
        angles.append((angle + np.pi) % (2 * np.pi) - np.pi)
    assert has_probabilities(np.bincount(firsts), np.full(D - 1, 1 / (D - 1)))
    assert is_near(angles, 0.3, 0.2)
    assert is_near_std(angles, 0.2)


def test_without_drift_the_weights_stay():
    env = drifting(drift_mean=0.0, drift_std=0.0)
    before = env.weights.copy()
    for _ in range(10):
        env.step([0] * B)
    assert_identical(env.weights, before)


def test_rewards_have_the_stated_means_and_the_optimum_includes_the_additive_mean():
    env = drifting(batch_size=50_000, additive_mean=[0.0, 9.0, 0.0], additive_std=[0.1, 0.2, 0.3])
    context = env.current_time_step().observation
    means = context @ env.weights + [0.0, 9.0, 0.0]
    np.testing.assert_allclose(env.expected_rewards(), means, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(env.optimal_action(), means.argmax(axis=1))
    action = np.arange(50_000) % K
    errors = env.step(action).reward - means[np.arange(50_000), action]
    for a, std in enumerate([0.1, 0.2, 0.3]):
        values = errors[action == a]
        assert is_near(values, 0.0, std)
        assert is_near_std(values, std)


def test_without_noise_a_reward_is_its_mean():
    env = drifting(batch_size=1000, additive_mean=0.5, additive_std=0.0)
    means = env.expected_rewards()
    action = np.arange(1000) % K
    assert_identical(env.step(action).reward, means[np.arange(1000), action])


def test_shared_noise_is_one_number_an_action():
    env = drifting(batch_size=900, additive_std=1.0, shared_noise=True)
    action = np.arange(900) % K
    errors = []
    for _ in range(400):
        means = env.expected_rewards()[np.arange(900), action]
        error = (env.step(action).reward - means).reshape(-1, K)
        assert np.ptp(error, axis=0).max() < 1e-4
        errors.append(error[0])
    assert is_near_std(errors, 1.0)


def test_a_reset_draws_contexts_and_keeps_the_weights():
    env = drifting(drift_mean=1.0, horizon=3)
    weights = env.weights.copy()
    observation = env.current_time_step().observation
    assert (env.reset().observation != observation).all()
    assert_identical(env.weights, weights)


def test_the_first_weights_may_be_given():
    given = np.arange(15.0).reshape(D, K)
    sampler = BatchFunction(lambda rng, size: given, K, np.float64)
    env = DriftingLinearBandit(Normal(D), sampler, seed=0)
    env.reset()
    assert_identical(env.weights, given)
