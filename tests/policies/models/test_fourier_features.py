"""Random Fourier features, held against their kernel and an exact Gaussian process."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from bandit_envs.policies.models import FourierFeatures, LinearScores, Logistic, Ridge
from bandit_envs.policies.models.inputs import Contexts
from bandit_envs.policies.rules import Greedy, UpperBound
from bandit_envs.specs import ArraySpec
from tests.policies.contextual_parts import ITEMS, K, features_of, make_policy, observe, teach

NOISE = 0.2


def squared_exponential(x, y, length):
    """Returns the kernel of all pairs, [n, m]."""
    return np.exp(-np.square(x[:, np.newaxis] - y).sum(axis=2) / (2 * length**2))


def gaussian_process(x, rewards, asked, length):
    """Returns the posterior means and deviations of an exact Gaussian process."""
    inverse = np.linalg.inv(squared_exponential(x, x, length) + NOISE**2 * np.eye(len(x)))
    cross = squared_exponential(asked, x, length)
    variances = 1.0 - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return cross @ inverse @ rewards, np.sqrt(variances)


def mapped(model, x):
    """Returns phi of points [n, d]: [n, D]."""
    return model.map_inputs(Contexts(x, are_problems=False)).features()


@pytest.mark.parametrize("smoothness", [None, 1.5])
def test_products_of_features_are_about_the_kernel(smoothness):
    x = np.random.default_rng(0).normal(size=(30, 3))
    tables = []
    for seed in range(20):
        model = FourierFeatures(Ridge(), 1.5, 400, smoothness, seed)
        phi = mapped(model, x)
        np.testing.assert_allclose(np.square(phi).sum(axis=1), 1.0, rtol=1e-12)
        tables.append(phi @ phi.T)
    distances = np.sqrt(np.square(x[:, np.newaxis] - x).sum(axis=2)) / 1.5
    expected = np.exp(-(distances**2) / 2)
    if smoothness is not None:
        expected = (1 + np.sqrt(3) * distances) * np.exp(-np.sqrt(3) * distances)
    errors = np.std(tables, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(np.mean(tables, axis=0) - expected) < 5 * errors + 1e-12).all()


def learned_from(model, x, rewards, asked):
    """Returns the means and deviations of one model at points, after it learned from others."""
    spec = ArraySpec((x.shape[1],), np.float64)
    policy = make_policy(model, Greedy(), spec, len(x), num_actions=1)
    teach(policy, x, np.zeros(len(x), int), rewards)
    inputs = model.map_inputs(policy._reader.read(asked, len(asked)))
    learned = policy._state.learned.model
    lower, upper = model.predictor.interval(learned, inputs, NOISE)
    return 0.5 * (lower + upper)[:, 0], 0.5 * (upper - lower)[:, 0]


@pytest.mark.parametrize("num_features", [50, 800])
def test_ridge_regression_of_features_is_about_a_gaussian_process(num_features):
    """The figures of an independent program: rms differences from an exact process, 20 draws of W,
    where points were seen and where none were; f(x) = sin 6x + cos(15x) / 2, 30 points."""
    expected = {50: (0.021, 0.274, 0.942, 0.894), 800: (0.009, 0.053, 0.995, 0.994)}[num_features]
    rng = np.random.default_rng(0)
    asked = np.linspace(0, 1, 201)[:, np.newaxis]
    near, far = asked[:, 0] <= 0.7, asked[:, 0] > 0.8
    found = []
    for seed in range(20):
        x = 0.7 * rng.random((30, 1))
        rewards = np.sin(6 * x[:, 0]) + 0.5 * np.cos(15 * x[:, 0]) + NOISE * rng.normal(size=30)
        model = FourierFeatures(Ridge(1.0, NOISE**2), 0.1, num_features, seed=seed)
        means, deviations = learned_from(model, x, rewards, asked)
        exact_means, exact_deviations = gaussian_process(x, rewards, asked, 0.1)
        errors = np.square(means - exact_means)
        ratios = deviations / exact_deviations
        row = [np.sqrt(errors[near].mean()), np.sqrt(errors[far].mean())]
        found.append([*row, ratios[near].mean(), ratios[far].mean()])
    print(np.mean(found, axis=0))
    near_error, far_error, near_ratio, far_ratio = np.mean(found, axis=0)
    assert near_error < 2 * expected[0]
    assert far_error < 2 * expected[1]
    assert near_ratio == pytest.approx(expected[2], abs=0.05)
    assert far_ratio == pytest.approx(expected[3], abs=0.08)


def test_far_from_data_deviations_are_too_small_if_there_are_more_rewards_than_features():
    rng = np.random.default_rng(0)
    asked = np.column_stack((np.full(50, 0.95), rng.random(50)))
    ratios = []
    for seed in range(5):
        x = rng.random((500, 2)) * [0.7, 1.0]
        model = FourierFeatures(Ridge(1.0, NOISE**2), 0.2, 50, seed=seed)
        _, deviations = learned_from(model, x, rng.normal(size=500), asked)
        _, exact = gaussian_process(x, np.zeros(500), asked, 0.2)
        ratios.append((deviations / exact).mean())
    assert 0.4 < np.mean(ratios) < 0.65  # 0.485 in all of the unseen part


def test_one_seed_is_one_map_for_all_actions_rows_and_sizes_and_another_is_another():
    x = np.random.default_rng(0).normal(size=(7, 3))
    one, same, other = (FourierFeatures(Ridge(), seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(mapped(one, x), mapped(same, x))
    assert (mapped(one, x) != mapped(other, x)).any()
    np.testing.assert_allclose(mapped(one, x)[2:3], mapped(one, x[2:3]), rtol=1e-12)


@pytest.mark.parametrize("inner", [Ridge(), Logistic()])
def test_features_of_actions_are_mapped_together_with_the_context(inner):
    model = FourierFeatures(inner, 2.0, 16)
    policy = make_policy(model, UpperBound(), ITEMS)
    plain = make_policy(inner, UpperBound(), ArraySpec((16,), np.float64), num_actions=1)
    rng = np.random.default_rng(0)
    for _ in range(5):
        observation, action, reward = observe(rng, ITEMS), rng.integers(K, size=6), rng.random(6)
        teach(policy, observation, action, reward)
        x = features_of(observation)[np.arange(6), action]
        teach(plain, mapped(model, x), np.zeros(6, int), reward)
    observation = observe(rng, ITEMS)
    inputs = model.map_inputs(policy._reader.read(observation, 6))
    found = inner.means(policy._state.learned.model, inputs)
    for action in range(K):
        inputs = plain._reader.read(mapped(model, features_of(observation)[:, action]), 6)
        expected = inner.means(plain._state.learned.model, inputs)[:, 0]
        np.testing.assert_allclose(found[:, action], expected, rtol=1e-9)


@dataclasses.dataclass(frozen=True)
class DrawnWeights(LinearScores):
    """Linear scores with weights that the seed of the policy draws."""

    is_random: ClassVar[bool] = True

    def initial(self, sizes, rng):
        return rng.normal(size=super().initial(sizes, rng).shape)


def test_the_seed_of_the_policy_draws_a_random_model_of_mapped_features():
    weights = np.zeros((K, 17))
    spec = ArraySpec((3,), np.float64)

    def learned(model, seed):
        return make_policy(model, Greedy(), spec, seed=seed)._state.learned.model

    mapped_model = FourierFeatures(DrawnWeights(weights), 1.0, 16)
    one, same, other = (learned(mapped_model, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_fixed_model_of_mapped_features_does_not_learn():
    scores = LinearScores(np.zeros((K, 17)))
    policy = make_policy(FourierFeatures(scores, 1.0, 16), Greedy(), ArraySpec((3,), np.float64))
    assert not policy.can_learn


def test_maps_of_maps_are_made_one_after_the_other():
    inner = FourierFeatures(Ridge(), 2.0, 8, seed=1)
    outer = FourierFeatures(inner, 1.0, 16)
    x = np.random.default_rng(0).normal(size=(6, 3))
    first = FourierFeatures(Ridge(), 1.0, 16)
    np.testing.assert_array_equal(mapped(outer, x), mapped(inner, mapped(first, x)))
