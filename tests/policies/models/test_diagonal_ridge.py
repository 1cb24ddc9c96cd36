"""Linear models that keep the diagonal of their precision, and models of float32."""

import numpy as np
import pytest

from bandit_envs import load_state, save_state
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.models import BayesianRidge, Logistic, Ridge
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules import Greedy, ThompsonSampling, UpperBound
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.cases import for_each
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
    teach,
)

SPECS = pytest.mark.parametrize("spec", [CONTEXT, ITEMS], ids=["context", "items"])


def plain_diagonal(lessons, action, gamma, penalty):
    """Returns the mean and the precision of independent weights, by dense algebra a batch."""
    mean = np.zeros(D)
    precision = np.full(D, penalty)
    x, rewards, ages = lessons.of(action)
    for age in range(lessons.ages.max(), -1, -1):
        kept = gamma * precision
        precision = kept + (1.0 - gamma) * penalty
        mean = kept * mean / precision
        rows = x[ages == age]
        matrix = np.diag(precision) + rows.T @ rows
        mean = np.linalg.solve(matrix, precision * mean + rows.T @ rewards[ages == age])
        precision = np.diag(matrix).copy()
    return mean, precision


@SPECS
@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("batch_size", [1, 6, 40])
def test_estimates_are_those_of_a_prior_of_independent_weights_a_batch(spec, gamma, batch_size):
    policy = make_policy(Ridge(gamma, 0.5, diagonal=True), UpperBound(), spec, batch_size)
    lessons = Lessons(policy, spec)
    theta, scales, _ = state_of(policy).model
    assert theta.shape == scales.shape == (1, 1 if spec is ITEMS else K, D)
    for model in range(theta.shape[1]):
        mean, precision = plain_diagonal(lessons, model, gamma, 0.5)
        np.testing.assert_allclose(theta[0, model], mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scales[0, model] ** -2, precision, rtol=1e-9)


@SPECS
def test_bounds_are_those_of_independent_weights(spec):
    policy = make_policy(Ridge(diagonal=True), UpperBound(2.0), spec)
    lessons = Lessons(policy, spec)
    observation = observe(np.random.default_rng(2), spec)
    x = features_of(observation)
    bounds = np.empty((B, K))
    for action in range(K):
        mean, precision = plain_diagonal(lessons, action, 1.0, 1.0)
        widths = np.sqrt(np.square(x[:, action]) @ (1.0 / precision))
        bounds[:, action] = x[:, action] @ mean + 2.0 * widths
    chosen = policy.action(restart(observation, B))
    np.testing.assert_array_equal(chosen, bounds.argmax(axis=1))


@SPECS
def test_uncorrelated_features_lose_nothing(spec):
    """One feature at a time is not 0, so A is diagonal."""
    full, diagonal = (make_policy(Ridge(diagonal=each), Greedy(), spec) for each in (False, True))
    rng = np.random.default_rng(3)
    for _ in range(30):
        observation = observe(rng, spec)
        action = rng.integers(K, size=B)
        if spec is CONTEXT:
            observation *= np.eye(D)[rng.integers(D, size=B)]
        else:
            observation["global"][...] = 0.0
            observation["per_arm"] *= np.eye(D)[:4, :4][rng.integers(4, size=(B, K))]
        reward = rng.random(B)
        teach(full, observation, action, reward)
        teach(diagonal, observation, action, reward)
    expected, found = state_of(full).model, state_of(diagonal).model
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-9, atol=1e-12)
    squares = np.swapaxes(expected.whitening, -1, -2) @ expected.whitening
    variances = np.diagonal(squares, axis1=-2, axis2=-1)
    np.testing.assert_allclose(np.square(found.whitening), variances, rtol=1e-9)


@for_each("rows", [1, 5, 40])
def test_the_loss_of_a_diagonal_bayesian_ridge_is_that_of_its_batches(rows):
    policy = make_policy(BayesianRidge(diagonal=True), Greedy(), CONTEXT, rows, num_actions=1)
    rng = np.random.default_rng(4)
    loss, mean, precision = 0.0, np.zeros(D + 1), np.full(D + 1, 0.25)
    for _ in range(4):
        context = rng.normal(size=(rows, D))
        reward = rng.normal(size=rows)
        teach(policy, context, np.zeros(rows, int), reward)
        x = np.column_stack((context, np.ones(rows)))
        covariance = np.eye(rows) + (x / precision) @ x.T
        errors = reward - x @ mean
        loss += errors @ np.linalg.solve(covariance, errors)
        matrix = np.diag(precision) + x.T @ x
        mean = np.linalg.solve(matrix, precision * mean + x.T @ reward)
        precision = np.diag(matrix).copy()
    np.testing.assert_allclose(state_of(policy).model.losses, [[loss]], rtol=1e-9)


def test_draws_of_items_have_the_deviations_of_independent_weights():
    rows = 20_000
    policy = make_policy(Ridge(diagonal=True), ThompsonSampling(), ITEMS, rows)
    rng = np.random.default_rng(5)
    one = observe(rng, ITEMS, 1)
    observation = {name: np.repeat(leaf, rows, axis=0) for name, leaf in one.items()}
    few = make_policy(Ridge(diagonal=True), ThompsonSampling(), ITEMS)
    lessons = Lessons(few, ITEMS)
    mean, precision = plain_diagonal(lessons, 0, 1.0, 1.0)
    inputs = policy._reader.read(observation, rows)
    draws = policy.model.draw(rng, state_of(few).model, inputs, 1.0)
    x = features_of(observation)[0]
    np.testing.assert_allclose(draws.mean(axis=0), x @ mean, atol=0.1)
    covariance = (x / precision) @ x.T
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.06 * np.diag(covariance).max())


LONG = {
    "ridge": Ridge(),
    "forgetting ridge": Ridge(gamma=0.999),
    "ridge from the mean": Ridge(initial_value="mean"),
    "diagonal ridge": Ridge(diagonal=True),
    "forgetting diagonal ridge": Ridge(gamma=0.999, diagonal=True),
    "bayesian ridge": BayesianRidge(),
    "logistic": Logistic(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_float32_predicts_as_float64_after_many_steps(name):
    kind = type(LONG[name])
    parameters = {**vars(LONG[name]), "dtype": np.float32}
    wide = make_policy(LONG[name], Greedy(), batch_size=20)
    narrow = make_policy(kind(**parameters), Greedy(), batch_size=20)
    rng = np.random.default_rng(6)
    weights = rng.normal(size=(K, D)) / 10
    for _ in range(2000):
        context = rng.normal(size=(20, D))
        action = rng.integers(K, size=20)
        reward = ((context * weights[action]).sum(axis=1) + 0.5).clip(0.0, 1.0)
        teach(wide, context, action, reward)
        teach(narrow, context, action, reward)
    inputs = wide._reader.read(rng.normal(size=(20, D)), 20)
    expected, found = (
        policy.model.interval(state_of(policy).model, inputs, 1.0) for policy in (wide, narrow)
    )
    assert state_of(narrow).model[0].dtype == state_of(narrow).model[1].dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)


@for_each("model", [Ridge, BayesianRidge, Logistic])
def test_float32_refuses_what_it_cannot_hold_and_changes_nothing(model):
    policy = make_policy(model(dtype="float32"), Greedy())
    context = np.full((B, D), 1e10)
    with pytest.raises(ValueError, match=r"observation has a feature of size 1e.10"):
        teach(policy, context, np.zeros(B, int), np.ones(B))
    with pytest.raises(ValueError, match=r"observation has a feature of size 1e.10"):
        policy.action(restart(context, B))
    assert policy.is_as_made
    with pytest.raises(ValueError, match="tikhonov_weight"):
        model(tikhonov_weight=1e-20, dtype="float32")
    if model is not Logistic:
        with pytest.raises(ValueError, match=r"trajectory has a reward of size 1e.13"):
            teach(policy, np.ones((B, D)), np.zeros(B, int), np.full(B, 1e13))


def test_the_mean_of_all_rewards_needs_more_than_a_diagonal():
    with pytest.raises(ValueError, match=r'initial_value is "mean" and diagonal True'):
        Ridge(initial_value="mean", diagonal=True)


def test_a_state_of_another_layout_or_dtype_is_refused(tmp_path):
    models = [Ridge(), Ridge(diagonal=True), Ridge(dtype="float32"), Logistic(dtype="float32")]
    for model in models:
        save_state(tmp_path / "state.npz", make_policy(model, Greedy()).get_state())
        state = load_state(tmp_path / "state.npz")
        for other in models:
            policy = make_policy(other, Greedy())
            if other == model:
                policy.set_state(state)
            else:
                with pytest.raises(ValueError, match="state"):
                    policy.set_state(state)


def test_a_thousand_actions_of_768_features_take_two_numbers_a_feature():
    spec = ArraySpec((768,), np.float32)
    for model in (Ridge(diagonal=True, dtype="float32"), Logistic(dtype="float32")):
        policy = make_policy(model, UpperBound(), spec, 1, num_actions=1000)
        learned = state_of(policy).model
        assert learned[0].nbytes + learned[1].nbytes == 1000 * 768 * 2 * 4
        context = np.random.default_rng(7).normal(size=(1, 768)).astype(np.float32)
        teach(policy, context, policy.action(restart(context, 1)), np.ones(1))
        assert policy.action(restart(context, 1)).shape == (1,)


def test_the_registry_and_studies_take_diagonal_and_dtype():
    env = ENVIRONMENTS["wheel"].make(batch_size=3, seed=0)
    arguments = POLICIES["lin_ucb"].check({"alpha": 1, "diagonal": True, "dtype": "float32"})
    policy = POLICIES["lin_ucb"].make_for(env, arguments, 0)
    assert policy.model == Ridge(diagonal=True, dtype="float32")


def test_few_rows_of_many_models_of_many_features_need_no_matrices():
    """A row each for 60 models of 400 features learns fast, as no Hessian is formed."""
    spec = ArraySpec((400,), np.float64)
    batch = make_policy(Logistic(), Greedy(), spec, 60, num_actions=60)
    single = make_policy(Logistic(), Greedy(), spec, 1, num_actions=60)
    rng = np.random.default_rng(8)
    context = rng.normal(size=(60, 400)) / 20
    reward = rng.integers(2, size=60).astype(float)
    teach(batch, context, np.arange(60), reward)
    for row in range(60):
        teach(single, context[row : row + 1], [row], reward[row : row + 1])
    for found, expected in zip(state_of(batch).model, state_of(single).model):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
