"""Ridge regression as a model: means, bounds, draws, forgetting, and rewards predicted at first."""

import warnings
from statistics import NormalDist

import numpy as np
import pytest

from bandit_envs.nests import map_structure
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.models.ridge_models import add_rows
from bandit_envs.policies.rules import Greedy, ThompsonSampling, UpperBound
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.cases import for_each
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    B,
    D,
    G,
    K,
    Lessons,
    P,
    features_of,
    make_policy,
    observe,
    ridge,
    state_of,
    teach,
)

SPECS = pytest.mark.parametrize("spec", [CONTEXT, ITEMS], ids=["context", "items"])


@SPECS
@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("penalty", [1.0, 0.01, 50.0])
def test_the_estimates_are_those_of_normal_equations_of_weighted_rows(spec, gamma, penalty):
    policy = make_policy(Ridge(gamma, penalty), UpperBound(), spec)
    lessons = Lessons(policy, spec)
    theta, whitening, _ = state_of(policy).model
    assert theta.shape == (1, 1 if spec is ITEMS else K, D)
    for model in range(theta.shape[1]):
        x, rewards, ages = lessons.of(model)
        expected, inverse = ridge(x, rewards, gamma**ages, penalty)
        np.testing.assert_allclose(theta[0, model], expected, rtol=1e-9, atol=1e-12)
        root = whitening[0, model]
        np.testing.assert_allclose(root.T @ root, inverse, rtol=1e-9, atol=1e-12)


@SPECS
@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_lin_ucb_chooses_by_the_formula_with_explicit_inverses(spec, alpha):
    policy = make_policy(Ridge(0.95, 0.3), UpperBound(alpha), spec)
    lessons = Lessons(policy, spec)
    observation = observe(np.random.default_rng(2), spec)
    x = features_of(observation)
    bounds = np.empty((B, K))
    for a in range(K):
        theta, inverse = ridge(lessons.of(a)[0], lessons.of(a)[1], 0.95 ** lessons.of(a)[2], 0.3)
        for row in range(B):
            bounds[row, a] = x[row, a] @ theta + alpha * np.sqrt(x[row, a] @ inverse @ x[row, a])
    chosen = policy.action(restart(observation, B))
    np.testing.assert_array_equal(chosen, bounds.argmax(axis=1))


def test_thompson_sampling_of_actions_draws_from_the_stated_normal_distribution():
    alpha, rows = 0.7, 40_000
    policy = make_policy(Ridge(1.0, 2.0), ThompsonSampling(alpha), batch_size=rows)
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, D)) * 0.01
    action = np.arange(rows) % 3 % 2  # the others stay unknown
    rewards = 50 * x[:, 0] * action + 0.1 * rng.normal(size=rows)
    teach(policy, x, action, rewards)
    found = [ridge(x[action == a], rewards[action == a], penalty=2.0) for a in range(2)]
    mask = np.tile(np.arange(K) < 2, (rows, 1))
    masked = make_policy(
        Ridge(1.0, 2.0), ThompsonSampling(alpha), {"observation": CONTEXT, "mask": MASK}, rows
    )
    masked._state = policy._state
    for _ in range(20):
        context = rng.normal(size=D)
        std = alpha * np.sqrt(sum(context @ inverse @ context for _, inverse in found))
        expected = NormalDist().cdf(context @ (found[1][0] - found[0][0]) / std)
        seen = {"observation": np.tile(context, (rows, 1)), "mask": mask}
        share = masked.action(restart(seen, rows)).mean()
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / rows) + 1e-9


MASK = ArraySpec((K,), np.bool_)


def test_thompson_sampling_of_items_draws_one_model_for_all_actions_of_a_row():
    alpha, rows = 5.0, 20_000
    spec = {**ITEMS, "per_arm": ArraySpec((2, P), np.float64)}
    policy = make_policy(Ridge(1.0, 2.0), ThompsonSampling(alpha), spec, rows, num_actions=2)
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, D)) @ rng.normal(size=(D, D)) * 0.02  # strongly correlated
    rewards = x @ rng.normal(size=D) + rng.normal(size=rows)
    items = x[:, np.newaxis, G:].repeat(2, axis=1)
    teach(policy, {"global": x[:, :G], "per_arm": items}, np.zeros(rows, int), rewards)
    inverse = np.linalg.inv(x.T @ x + 2.0 * np.eye(D))
    theta = inverse @ (x.T @ rewards)
    deviations = []
    for _ in range(40):
        difference = np.zeros(D)
        difference[G:] = rng.normal(size=P)
        pair = np.stack((np.zeros(P), difference[G:]))
        std = alpha * np.sqrt(difference @ inverse @ difference)
        expected = NormalDist().cdf(difference @ theta / std)
        # The features of the context count for both items alike.
        seen = {"global": np.ones((rows, G)), "per_arm": np.tile(pair, (rows, 1, 1))}
        share = policy.action(restart(seen, rows)).mean()
        deviations.append((share - expected) / np.sqrt(expected * (1 - expected) / rows))
    # Standard normal deviates: the 40 squares have mean 40 and standard deviation sqrt(80).
    assert np.abs(deviations).max() < 4.5
    assert 40 - 4 * np.sqrt(80) < np.square(deviations).sum() < 40 + 4 * np.sqrt(80)


@SPECS
def test_a_batch_teaches_what_its_rows_teach_one_by_one(spec):
    together = make_policy(Ridge(), Greedy(), spec)
    alone = make_policy(Ridge(), Greedy(), spec, batch_size=1)
    rng = np.random.default_rng(5)
    observation = observe(rng, spec)
    action = np.array([0, 1, 1, 2, 1, 4])
    rewards = rng.normal(size=B)
    teach(together, observation, action, rewards)
    for row in range(B):
        one = slice(row, row + 1)
        part = map_structure(lambda leaf, one=one: leaf[one], observation)
        teach(alone, part, action[one], rewards[one])
    (theta, roots, _), (expected, other_roots, _) = state_of(together).model, state_of(alone).model
    np.testing.assert_allclose(theta, expected, rtol=1e-10, atol=1e-13)
    squares = [np.swapaxes(each, -1, -2) @ each for each in (roots, other_roots)]
    np.testing.assert_allclose(*squares, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("start", [0.25, -3.0, 1.0])
def test_an_initial_value_is_regression_of_what_exceeds_it(start):
    policy = make_policy(Ridge(0.9, 2.0, start), Greedy())
    observation = observe(np.random.default_rng(3), CONTEXT)
    model, learned = policy.model, state_of(policy).model
    inputs = policy._reader.read(observation, B)
    np.testing.assert_array_equal(model.means(learned, inputs), start)
    lessons = Lessons(policy, CONTEXT)
    means = model.means(state_of(policy).model, inputs)
    for a in range(K):
        x, rewards, ages = lessons.of(a)
        theta, _ = ridge(x, rewards - start, 0.9**ages, 2.0)
        np.testing.assert_allclose(means[:, a], start + observation @ theta, rtol=1e-9)


@SPECS
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_from_the_mean_predictions_are_two_ridges_and_the_mean_of_all_rewards(spec, gamma):
    policy = make_policy(Ridge(gamma, 2.0, "mean"), Greedy(), spec)
    lessons = Lessons(policy, spec)
    observation = observe(np.random.default_rng(3), spec)
    inputs = policy._reader.read(observation, B)
    means = policy.model.means(state_of(policy).model, inputs)
    mean = lessons.rewards.mean()
    for a in range(K):
        x, rewards, ages = lessons.of(a)
        of_rewards, _ = ridge(x, rewards, gamma**ages, 2.0)
        of_ones, _ = ridge(x, np.ones(len(x)), gamma**ages, 2.0)
        seen = features_of(observation)[:, a]
        expected = seen @ of_rewards + mean * (1.0 - seen @ of_ones)
        np.testing.assert_allclose(means[:, a], expected, rtol=1e-9)


@SPECS
def test_from_the_mean_nothing_but_the_level_changes_when_all_rewards_are_shifted(spec):
    found = []
    for shift in (0.0, -7.0):
        policy = make_policy(Ridge(0.9, initial_value="mean"), Greedy(), spec)
        rng = np.random.default_rng(0)
        for _ in range(10):
            reward = rng.random(B)
            teach(policy, observe(rng, spec), rng.integers(K, size=B), reward + shift)
        inputs = policy._reader.read(observe(rng, spec), B)
        found.append(policy.model.means(state_of(policy).model, inputs) - shift)
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-10)


def test_what_is_forgotten_leaves_the_regularisation():
    policy = make_policy(Ridge(0.5, 4.0), Greedy(), ITEMS)
    Lessons(policy, ITEMS, steps=1)
    nothing = map_structure(lambda leaf: np.zeros((B, *leaf.shape)), ITEMS)
    for _ in range(200):
        teach(policy, nothing, np.zeros(B, int), np.zeros(B))
    theta, whitening, _ = state_of(policy).model
    np.testing.assert_allclose(theta, 0.0, atol=1e-25)
    root = whitening[0, 0]
    np.testing.assert_allclose(root.T @ root, np.eye(D) / 4.0, atol=1e-12)


@SPECS
def test_nothing_fails_where_features_are_huge_and_all_the_same(spec):
    policy = make_policy(Ridge(tikhonov_weight=1e-3), UpperBound(), spec)
    observation = map_structure(lambda leaf: np.full((B, *leaf.shape), 1e8), spec)
    for _ in range(100):
        teach(policy, observation, np.zeros(B, int), np.full(B, 3e8))
    theta, whitening, _ = state_of(policy).model
    assert theta[0, 0].sum() == pytest.approx(3.0, rel=1e-6)
    assert np.isfinite(whitening).all()
    assert policy.action(restart(observation, B)).shape == (B,)


def test_models_that_fill_the_memory_are_announced_with_their_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # so that the memory is not taken
        with pytest.raises(UserWarning, match=r"7\.0 GB"):
            make_policy(Ridge(), Greedy(), ArraySpec((3540,), np.float32), num_actions=70)


@for_each("counts", [[7], [1, 1, 1, 1, 1, 1, 1], [20, 1, 0, 3], [0, 0, 50, 1, 1, 1]])
def test_rows_are_added_to_their_models_however_they_are_spread(counts):
    rng, dim = np.random.default_rng(0), 3
    model = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = rng.normal(size=(len(model), dim + 1))
    before = np.triu(rng.normal(size=(len(counts), dim, dim + 1)))
    factor = before.copy()
    add_rows(factor, model, rows)
    for index in range(len(counts)):
        x = rows[model == index]
        expected = before[index].T @ before[index] + x.T @ x
        found = factor[index].T @ factor[index]
        np.testing.assert_allclose(found[:dim, :], expected[:dim, :], rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(np.tril(factor[index], -1), 0.0)


SCALES = np.array([1e-6, 1e-3, 1.0, 1.0, 1e3, 1e6])
NUM_UPDATES = 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "are_problems"), [(1.0, False), (0.999, True)], ids=["shared", "independent rows"]
)
def test_20_000_updates_stay_accurate_however_features_are_scaled_or_repeated(gamma, are_problems):
    """Features from 1e-6 to 1e6 in size, the last of them there twice, held against one solution
    in extended precision, in which the two copies are one feature with half the regularisation."""
    dim = len(SCALES)
    spec = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((1, dim), np.float64)}
    options = {"num_actions": 1, "independent_rows": are_problems}
    policy = make_policy(Ridge(gamma), Greedy(), spec, 1, **options)
    rng = np.random.default_rng(6)
    x = rng.normal(size=(NUM_UPDATES, dim)) * SCALES
    x[:, 3] += 0.999 * x[:, 2]  # nearly dependent, too
    rewards = x / SCALES @ np.ones(dim) + rng.normal(size=NUM_UPDATES)
    for features, reward in zip(x, rewards):
        observation = {"global": features[np.newaxis, -1:], "per_arm": features[np.newaxis, None]}
        teach(policy, observation, [0], [reward])

    weights = np.longdouble(gamma) ** np.arange(NUM_UPDATES)[::-1]
    wide = x.astype(np.longdouble)
    penalties = np.append(np.ones(dim - 1), 0.5)
    gram = (weights[:, np.newaxis] * wide).T @ wide + np.diag(penalties)
    inverse = extended_inverse(gram)
    expected = inverse @ ((weights * rewards) @ wide)

    theta, whitening = state_of(policy).model.theta[0, 0], state_of(policy).model.whitening[0, 0]
    found = np.append(theta[1:-1], theta[0] + theta[-1])
    # How far predictions are off, a standard deviation of each feature, in rewards of size 1.
    assert np.abs((found - expected) * np.sqrt(np.diag(gram) / NUM_UPDATES)).max() < 1e-9
    # Nothing was said of the difference of the copies but the regularisation's N(0, 2).
    assert abs(theta[0] - theta[-1]) < 1e-3 * np.sqrt(2)
    widths = np.linalg.norm(whitening[:, 1:-1], axis=0)
    np.testing.assert_allclose(widths, np.sqrt(np.diag(inverse)[:-1]).astype(float), rtol=1e-9)


def extended_inverse(matrix):
    """Returns the inverse of a positive definite matrix, by elimination in extended precision."""
    scale = 1 / np.sqrt(np.diag(matrix))
    rows = np.concatenate((matrix * scale * scale[:, np.newaxis], np.diag(scale * 0 + 1)), axis=1)
    for pivot in range(len(matrix)):
        rows[pivot] /= rows[pivot, pivot]
        for other in range(len(matrix)):
            if other != pivot:
                rows[other] -= rows[other, pivot] * rows[pivot]
    return rows[:, len(matrix) :] * scale * scale[:, np.newaxis]
