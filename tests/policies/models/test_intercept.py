"""Intercepts of linear models: as constant features whose penalty vanishes, and in all rewards."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import (
    ContextualPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
)
from bandit_envs.nests import map_structure
from bandit_envs.policies.draws import hope_for_best
from bandit_envs.policies.models import FourierFeatures, HybridRidge, Logistic, Ridge
from bandit_envs.policies.rules import Greedy, SquareCB, ThompsonSampling, UpperBound
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
    kinds_of_context,
    make_policy,
    observe,
    state_of,
    teach,
)

SPECS = pytest.mark.parametrize("spec", [CONTEXT, ITEMS], ids=["context", "items"])

SQUARED = {
    "ridge": Ridge(intercept=True),
    "forgetting": Ridge(gamma=0.9, tikhonov_weight=0.3, intercept=True),
    "from the mean": Ridge(initial_value="mean", intercept=True),
    "diagonal": Ridge(diagonal=True, intercept=True),
    "hybrid": HybridRidge(intercept=True),
}
"""Models of squared errors."""

LINEAR = {**SQUARED, "logistic": Logistic(intercept=True)}


def shifted(observation, by):
    """Returns an observation in which each feature is another constant further from 0."""
    return map_structure(lambda leaf: leaf + by * np.arange(1.0, 1.0 + leaf.shape[-1]), observation)


def predict(policy, observation, radius=1.5):
    """Returns the means and the upper bounds of all actions."""
    model = policy.model.predictor
    learned = state_of(policy).model
    inputs = policy.model.map_inputs(policy._reader.read(observation, policy.batch_size))
    _, upper = model.interval(learned, inputs, radius)
    return model.means(learned, inputs), upper


def least_squares(x, rewards, weights, penalty):
    """Returns weights and their covariance if features [1, x] have penalties [0, penalty, ..]."""
    rows = np.column_stack((np.ones(len(x)), x))
    matrix = np.diag([0.0, *np.full(x.shape[1], penalty)])
    matrix += rows.T @ (weights[:, np.newaxis] * rows)
    inverse = np.linalg.inv(matrix)
    return inverse @ rows.T @ (weights * rewards), inverse


@SPECS
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_it_is_a_constant_feature_without_a_penalty(spec, gamma):
    policy = make_policy(Ridge(gamma, 0.7, intercept=True), UpperBound(), spec)
    lessons = Lessons(policy, spec)
    observation = observe(np.random.default_rng(2), spec)
    means, upper = predict(policy, observation)
    for a in range(K):
        x, rewards, ages = lessons.of(a)
        weights, inverse = least_squares(x, rewards, gamma**ages, 0.7)
        rows = np.column_stack((np.ones(B), features_of(observation)[:, a]))
        variance = np.einsum("bi,ij,bj->b", rows, inverse, rows)
        np.testing.assert_allclose(means[:, a], rows @ weights, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(upper[:, a] - means[:, a], 1.5 * np.sqrt(variance), rtol=1e-10)


@SPECS
def test_a_column_of_a_large_number_comes_close(spec):
    wide = {"global": ArraySpec((G + 1,), float), "per_arm": ArraySpec((K, P), float)}
    wide = ArraySpec((D + 1,), float) if spec is CONTEXT else wide
    free = make_policy(Ridge(intercept=True), UpperBound(), spec)
    near = make_policy(Ridge(), UpperBound(), wide)

    def widen(observation):
        if spec is CONTEXT:
            return np.column_stack((observation, np.full(B, 1e6)))
        return {**observation, "global": np.column_stack((observation["global"], [1e6] * B))}

    rng = np.random.default_rng(0)
    for _ in range(20):
        observation = observe(rng, spec)
        action = rng.integers(K, size=B)
        reward = rng.normal(size=B)
        teach(free, observation, action, reward)
        teach(near, widen(observation), action, reward)
    observation = observe(rng, spec)
    for found, expected in zip(predict(free, observation), predict(near, widen(observation))):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_hybrid_models_have_a_constant_of_each_action():
    policy = make_policy(HybridRidge(0.5, 2.0, intercept=True), UpperBound(), ITEMS)
    lessons = Lessons(policy, ITEMS)
    vectors = np.zeros((len(lessons.actions), K + P + K * G))
    penalties = np.concatenate((np.zeros(K), np.full(P, 0.5), np.full(K * G, 2.0)))

    def stack(vector, x, action):
        vector[action] = 1.0
        vector[K : K + P] = x[G:]
        vector[K + P + action * G :][:G] = x[:G]

    for vector, x, action in zip(vectors, lessons.features, lessons.actions):
        stack(vector, x, action)
    inverse = np.linalg.inv(vectors.T @ vectors + np.diag(penalties))
    weights = inverse @ vectors.T @ lessons.rewards
    observation = observe(np.random.default_rng(2), ITEMS)
    means, upper = predict(policy, observation)
    for a in range(K):
        for row in range(B):
            vector = np.zeros(len(penalties))
            stack(vector, features_of(observation)[row, a], a)
            width = 1.5 * np.sqrt(vector @ inverse @ vector)
            assert means[row, a] == pytest.approx(vector @ weights, abs=1e-9)
            assert upper[row, a] - means[row, a] == pytest.approx(width, abs=1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_where_features_have_their_zero_does_not_matter(name):
    for spec in kinds_of_context(LINEAR[name]).values():
        rng = np.random.default_rng(3)
        near = make_policy(LINEAR[name], UpperBound(), spec)
        far = make_policy(LINEAR[name], UpperBound(), spec)
        for _ in range(10):
            observation = observe(rng, spec)
            action = rng.integers(K, size=B)
            reward = rng.random(B)
            teach(near, observation, action, reward)
            teach(far, shifted(observation, 40.0), action, reward)
        seen = observe(rng, spec)
        for found, expected in zip(predict(far, shifted(seen, 40.0)), predict(near, seen)):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("level", [100.0, 1e6])
@pytest.mark.parametrize("name", SQUARED)
def test_rewards_may_be_near_any_number(name, level):
    for spec in kinds_of_context(SQUARED[name]).values():
        rng = np.random.default_rng(4)
        low = make_policy(SQUARED[name], UpperBound(), spec)
        high = make_policy(SQUARED[name], UpperBound(), spec)
        for _ in range(20):
            observation = observe(rng, spec)
            action = rng.integers(K, size=B)
            reward = rng.normal(size=B)
            teach(low, observation, action, reward)
            teach(high, observation, action, level + reward)
        seen = observe(rng, spec)
        for found, expected in zip(predict(high, seen), predict(low, seen)):
            np.testing.assert_allclose(found - level, expected, atol=1e-14 * level + 1e-9)


@pytest.mark.parametrize("name", sorted(set(SQUARED) - {"diagonal", "forgetting"}))
def test_a_batch_teaches_what_its_rows_teach_one_by_one(name):
    for spec in kinds_of_context(SQUARED[name]).values():
        together = make_policy(SQUARED[name], Greedy(), spec)
        alone = make_policy(SQUARED[name], Greedy(), spec, batch_size=1)
        rng = np.random.default_rng(5)
        for _ in range(3):
            observation = observe(rng, spec)
            action = rng.integers(3, size=B)
            rewards = 1000.0 + rng.normal(size=B)
            teach(together, observation, action, rewards)
            for row in range(B):
                one = slice(row, row + 1)
                part = map_structure(lambda leaf, one=one: leaf[one], observation)
                teach(alone, part, action[one], rewards[one])
        found = state_of(together).model[-1]
        expected = state_of(alone).model[-1]
        map_structure(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), found, expected
        )
        seen = observe(rng, spec, 1)
        many = map_structure(lambda leaf: np.repeat(leaf, B, axis=0), seen)
        for a, b in zip(predict(together, many), predict(alone, seen)):
            np.testing.assert_allclose(a[:1], b, rtol=1e-10)


def test_one_batch_of_a_diagonal_model_is_regression_of_independent_weights():
    policy = make_policy(Ridge(diagonal=True, intercept=True), UpperBound(), batch_size=30)
    rng = np.random.default_rng(6)
    x = 5.0 + rng.normal(size=(30, D))
    rewards = 7.0 + x @ rng.normal(size=D)
    teach(policy, x, np.zeros(30, int), rewards)
    weights, _ = least_squares(x, rewards, np.ones(30), 1.0)
    seen = 5.0 + rng.normal(size=(30, D))
    means, upper = predict(policy, seen)
    np.testing.assert_allclose(means[:, 0], weights[0] + seen @ weights[1:], rtol=1e-9)
    spread = 1.0 + np.square(x - x.mean(axis=0)).sum(axis=0)
    variance = 1.0 / 30.0 + (np.square(seen - x.mean(axis=0)) / spread).sum(axis=1)
    np.testing.assert_allclose(upper[:, 0] - means[:, 0], 1.5 * np.sqrt(variance), rtol=1e-9)


def test_one_batch_of_a_logistic_model_is_penalised_but_for_the_constant():
    policy = make_policy(Logistic(0.5, intercept=True), UpperBound(), batch_size=30)
    rng = np.random.default_rng(7)
    x = 5.0 + rng.normal(size=(30, D))
    rewards = (rng.random(30) < 0.3).astype(float)
    teach(policy, x, np.zeros(30, int), rewards)
    models, centres = state_of(policy).model
    w = models.mean[0, 0]
    constant = centres.levels[0, 0] - w @ centres.features[0, 0]
    p = 1.0 / (1.0 + np.exp(-constant - x @ w))
    first = constant + w @ x.mean(axis=0)  # in the centre of the first rows
    assert 0.25 * first == pytest.approx(np.sum(rewards - p), abs=1e-8)
    np.testing.assert_allclose(0.5 * w, (rewards - p) @ (x - x.mean(axis=0)), atol=1e-8)
    # In the centre, the constant does not depend on the weights, by Laplace's method.
    curvature = p * (1.0 - p)
    assert centres.weights[0, 0] == pytest.approx(0.25 + curvature.sum())
    mixed = curvature @ (x - centres.features[0, 0]) + 0.25 * (
        x.mean(axis=0) - centres.features[0, 0]
    )
    np.testing.assert_allclose(mixed, 0.0, atol=1e-9)
    away = np.square(x - centres.features[0, 0])
    pulled = 0.25 * np.square(x.mean(axis=0) - centres.features[0, 0])
    np.testing.assert_allclose(models.precision[0, 0], 0.5 + curvature @ away + pulled, rtol=1e-9)


def test_shares_far_from_one_half_are_learned():
    policy = make_policy(Logistic(intercept=True), Greedy(), num_actions=2, batch_size=100)
    rng = np.random.default_rng(8)
    for _ in range(100):
        x = 3.0 + rng.normal(size=(100, D))
        action = rng.integers(2, size=100)
        teach(policy, x, action, (rng.random(100) < np.array([0.02, 0.9])[action]).astype(float))
    means, _ = predict(policy, np.full((100, D), 3.0))
    np.testing.assert_allclose(means[0], [0.02, 0.9], atol=0.02)


@for_each("rule", [UpperBound(0.1), ThompsonSampling(0.1)])
@for_each("model", [Ridge(intercept=True), Ridge(diagonal=True, intercept=True)])
def test_actions_without_rewards_share_the_choices_with_the_best_one(model, rule):
    size = 3000
    policy = make_policy(model, rule, batch_size=size)
    seen = np.ones((size, D))
    for count, level in enumerate((1e6, 2e6, -3e6)):
        teach(policy, seen, np.full(size, count), np.full(size, level))
        best = 0 if count == 0 else 1
        shares = np.bincount(policy.action(restart(seen, size)), minlength=K) / size
        expected = np.array([a > count or a == best for a in range(K)]) / (K - count)
        np.testing.assert_allclose(shares, expected, atol=0.05)


def test_the_best_one_is_the_best_of_those_that_are_available():
    spec = {"observation": CONTEXT, "mask": ArraySpec((K,), bool)}
    policy = make_policy(Ridge(intercept=True), UpperBound(), spec)
    offered = np.tile([False, True, True, False, False], (B, 1))
    observation = {"observation": np.ones((B, D)), "mask": np.ones((B, K), bool)}
    for action, level in enumerate((50.0, 20.0)):
        teach(policy, observation, np.full(B, action), np.full(B, level))
    found = policy.probabilities(restart({**observation, "mask": offered}, B))
    np.testing.assert_allclose(found, 0.5 * offered)


def test_an_infinite_index_comes_first():
    values = np.array([[1.0, 1e150, np.inf], [1.0, 1e150, 2.0]])
    assert hope_for_best(values).tolist() == [[1.0, np.inf, np.inf], [1.0, 2.0, 2.0]]


def test_an_action_is_found_however_much_more_it_pays():
    policy = make_policy(Ridge(intercept=True), UpperBound(), batch_size=1)
    for _ in range(60):
        action = policy.action(restart(np.ones((1, D)), 1))
        teach(policy, np.ones((1, D)), action, 100.0 * (1.0 + action))
    assert policy.action(restart(np.ones((1, D)), 1)) == K - 1


@for_each(("start", "unseen"), [(0.25, 0.25), ("mean", 30.0)])
def test_the_mean_of_an_action_without_rewards_is_the_initial_value(start, unseen):
    policy = make_policy(Ridge(initial_value=start, intercept=True), SquareCB())
    seen = observe(np.random.default_rng(0), CONTEXT)
    teach(policy, seen, [0, 0, 0, 1, 1, 1], [20.0, 20.0, 20.0, 40.0, 40.0, 40.0])
    means, _ = predict(policy, seen)
    np.testing.assert_allclose(means, np.tile([20.0, 40.0, *[unseen] * (K - 2)], (B, 1)))


def test_a_model_that_forgets_at_once_knows_the_last_step():
    policy = make_policy(Ridge(gamma=0.0, intercept=True), Greedy())
    for level in (5.0, 100.0):
        teach(policy, np.ones((B, D)), np.zeros(B, int), np.full(B, level))
    means, _ = predict(policy, np.zeros((B, D)))
    np.testing.assert_allclose(means[:, 0], 100.0)


@for_each("name", ["ridge", "diagonal", "logistic"])
def test_new_actions_start_from_the_mean_of_predictions(name):
    policy = make_policy(LINEAR[name], UpperBound())
    rng = np.random.default_rng(9)
    for action in range(K):
        x = action + rng.normal(size=(B, D))
        teach(policy, x, np.full(B, action), (rng.random(B) < 0.5).astype(float))
    grown = policy.with_actions(K + 1, warm="mean")
    found = state_of(grown).model
    centres = found[-1]
    expected = state_of(policy).model[-1].levels.mean()
    assert centres.levels[0, K] == pytest.approx(expected)
    np.testing.assert_allclose(centres.features[0, K], centres.features[0, :K].mean(axis=0))


def test_fourier_features_hand_it_on():
    spec = ArraySpec((1,), float)
    model = FourierFeatures(Ridge(intercept=True), num_features=20)
    policy = make_policy(model, Greedy(), spec, batch_size=50)
    x = np.random.default_rng(0).uniform(size=(50, 1))
    teach(policy, x, np.zeros(50, int), 1000.0 + x[:, 0])
    means, _ = predict(policy, x)
    np.testing.assert_allclose(means[:, 0], 1000.0 + x[:, 0], atol=0.5)


@for_each("make", [LinUCBPolicy, LinearThompsonSamplingPolicy])
def test_policies_with_names_take_it(make):
    policy = make(intercept=True, observation_spec=ITEMS)
    assert policy.model == Ridge(intercept=True)
    assert "intercept=True" in repr(policy)


@for_each("model", [Ridge, Logistic, HybridRidge])
def test_it_is_a_bool_and_false_by_default(model):
    assert not model().intercept
    assert model() != model(intercept=True)
    with pytest.raises(TypeError, match="intercept is 1; expected a bool"):
        model(intercept=1)


def test_states_of_models_with_it_and_without_it_do_not_mix():
    with_it = make_policy(Ridge(intercept=True), Greedy())
    without = make_policy(dataclasses.replace(with_it.model, intercept=False), Greedy())
    with pytest.raises((TypeError, ValueError)):
        without.set_state(with_it.get_state())
    assert isinstance(with_it, ContextualPolicy)
