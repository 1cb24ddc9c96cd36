"""The policies with a linear model for each action, held against ridge regression written out."""

import warnings
from statistics import NormalDist

import numpy as np
import pytest

from bandit_envs import (
    DisjointLinearEpsilonGreedyPolicy,
    DisjointLinearThompsonSamplingPolicy,
    DisjointLinUCBPolicy,
    StationaryStochasticPyEnvironment,
    StepDriver,
)
from bandit_envs.policies.models.ridge_models import add_rows
from bandit_envs.rewards import LinearActionReward
from bandit_envs.sampling import Normal
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

D, K, B = 4, 5, 7

SIZES = {"observation_spec": ArraySpec((D,), np.float32), "num_actions": K, "batch_size": B}


def make(**parameters):
    """Returns a policy with a linear model for each action, which draws nothing."""
    return DisjointLinUCBPolicy(**{**SIZES, **parameters}, seed=0)


def environment(seed=0, batch_size=B):
    theta = np.random.default_rng(1).normal(size=(K, D))
    return StationaryStochasticPyEnvironment(
        Normal(D), LinearActionReward(theta, 0.5), batch_size=batch_size, seed=seed
    )


def trajectories(policy, env, steps):
    seen = []
    StepDriver(env, policy, [policy, seen.append], steps).run()
    return seen


def models_of(policy):
    return policy.get_state().content.learned


def test_models_that_fill_the_memory_are_announced_with_their_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # so that the memory is not taken
        with pytest.raises(UserWarning, match=r"7\.0 GB"):
            make(observation_spec=ArraySpec((3540,), np.float32), num_actions=70)


def teach(policy, observation, action, rewards):
    rows = len(action)
    before, after = restart(observation, rows), termination(observation, rewards)
    policy(Trajectory.from_transition(before, action, after))


def ridge(seen, action, gamma=1.0, tikhonov_weight=1.0):
    """Returns theta and A^-1 of an action, from one large least-squares problem."""
    x, r, ages = [], [], []
    for index, item in enumerate(seen):
        chosen = item.action == action
        x.append(np.asarray(item.observation, float)[chosen])
        r.append(np.asarray(item.reward, float)[chosen])
        ages += [len(seen) - 1 - index] * chosen.sum()
    x, r, weights = np.concatenate(x), np.concatenate(r), np.sqrt(gamma ** np.array(ages, float))
    dim = x.shape[1]
    rows = np.concatenate((weights[:, np.newaxis] * x, np.sqrt(tikhonov_weight) * np.eye(dim)))
    theta, *_ = np.linalg.lstsq(rows, np.concatenate((weights * r, np.zeros(dim))), rcond=None)
    return theta, np.linalg.inv(rows.T @ rows)


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("tikhonov_weight", [1.0, 0.01, 50.0])
def test_the_estimates_are_those_of_a_ridge_regression_for_each_action(gamma, tikhonov_weight):
    policy = make(gamma=gamma, tikhonov_weight=tikhonov_weight)
    seen = trajectories(policy, environment(), 40)
    models = models_of(policy)
    for action in range(K):
        theta, inverse = ridge(seen, action, gamma, tikhonov_weight)
        whitening = models.whitening[action]
        np.testing.assert_allclose(models.theta[action], theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(whitening.T @ whitening, inverse, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_ucb_chooses_by_the_formula_with_explicit_inverses(alpha):
    policy = DisjointLinUCBPolicy(alpha, 0.95, 0.3, **SIZES, seed=0)
    seen = trajectories(policy, environment(), 40)
    for step in range(1, len(seen)):
        x, bounds = seen[step].observation.astype(float), np.empty((B, K))
        for action in range(K):
            theta, inverse = ridge(seen[:step], action, 0.95, 0.3)
            widths = np.sqrt(np.einsum("bi,ij,bj->b", x, inverse, x))
            bounds[:, action] = x @ theta + alpha * widths
        np.testing.assert_array_equal(seen[step].action, bounds.argmax(axis=1))


def test_without_exploration_epsilon_greedy_chooses_the_largest_estimate():
    policy = DisjointLinearEpsilonGreedyPolicy(0.0, **SIZES, seed=0)
    seen = trajectories(policy, environment(), 40)
    for step in range(1, len(seen)):
        thetas = np.array([ridge(seen[:step], action)[0] for action in range(K)])
        best = (seen[step].observation @ thetas.T).argmax(axis=1)
        np.testing.assert_array_equal(seen[step].action, best)


def test_thompson_chooses_as_often_as_the_stated_normal_distribution_says():
    alpha, rows = 0.7, 40_000
    sizes = {**SIZES, "num_actions": 2, "batch_size": rows}
    policy = DisjointLinearThompsonSamplingPolicy(alpha, 1.0, 2.0, **sizes, seed=3)
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, D)) * 0.01
    action = (np.arange(rows) % 3 > 0).astype(int)
    rewards = 50 * x[:, 0] * action + 0.1 * rng.normal(size=rows)
    teach(policy, x, action, rewards)
    inverses, thetas = [], []
    for a in range(2):
        chosen = x[action == a]
        inverses.append(np.linalg.inv(chosen.T @ chosen + 2.0 * np.eye(D)))
        thetas.append(inverses[-1] @ chosen.T @ rewards[action == a])
    for _ in range(20):
        context = rng.normal(size=D)
        std = alpha * np.sqrt(sum(context @ inverse @ context for inverse in inverses))
        expected = NormalDist().cdf(context @ (thetas[1] - thetas[0]) / std)
        share = policy.action(restart(context[np.newaxis].repeat(rows, 0), rows)).mean()
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / rows) + 1e-9


def test_probabilities_are_told_where_they_are_exact():
    context = np.random.default_rng(0).normal(size=(B, D))
    ucb = DisjointLinUCBPolicy(**SIZES, seed=0)
    teach(ucb, context, np.arange(B) % K, np.arange(B))
    chosen = ucb.action(restart(context, B))
    np.testing.assert_array_equal(ucb.probabilities(restart(context, B)), np.eye(K)[chosen])
    greedy = DisjointLinearEpsilonGreedyPolicy(0.5, **SIZES, seed=0)
    np.testing.assert_allclose(greedy.probabilities(restart(context, B)), 1 / K)
    with pytest.raises(NotImplementedError):
        DisjointLinearThompsonSamplingPolicy(**SIZES).probabilities(restart(context, B))


@pytest.mark.parametrize("counts", [[7], [1, 1, 1, 1, 1, 1, 1], [20, 1, 0, 3], [0, 0, 50, 1, 1, 1]])
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


SCALES = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
NUM_UPDATES = 100_000


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1.0, 0.999])
def test_100_000_updates_stay_accurate_however_features_are_scaled(gamma):
    """Nearly dependent features from 1e-6 to 1e6 in size, held against one large problem."""
    dim, actions = len(SCALES), 3
    sizes = {"observation_spec": ArraySpec((dim,), np.float64), "num_actions": actions}
    policy = DisjointLinUCBPolicy(1.0, gamma, **sizes, batch_size=1, seed=0)
    rng = np.random.default_rng(6)
    x = rng.normal(size=(NUM_UPDATES, dim)) * SCALES
    x[:, 3] += 999 * x[:, 2]
    action = rng.integers(0, actions, NUM_UPDATES)
    rewards = x / SCALES @ np.ones(dim) + rng.normal(size=NUM_UPDATES)
    for step in range(NUM_UPDATES):
        one = slice(step, step + 1)
        teach(policy, x[one], action[one], rewards[one])
    models = models_of(policy)
    weights = np.sqrt(gamma ** np.arange(NUM_UPDATES)[::-1])
    for a in range(actions):
        chosen = action == a
        rows = np.concatenate((weights[chosen, np.newaxis] * x[chosen], np.eye(dim)))
        scaled = np.linalg.norm(rows, axis=0)
        target = np.concatenate((weights[chosen] * rewards[chosen], np.zeros(dim)))
        theta, *_ = np.linalg.lstsq(rows / scaled, target, rcond=None)
        spread = x[chosen].std(axis=0)
        assert np.abs((models.theta[a] - theta / scaled) * spread).max() < 1e-8
        inverse = np.linalg.inv((rows / scaled).T @ (rows / scaled)) / np.outer(scaled, scaled)
        widths = np.linalg.norm(models.whitening[a], axis=0)
        np.testing.assert_allclose(widths, np.sqrt(np.diag(inverse)), rtol=1e-8)


def test_nothing_fails_where_features_are_huge_and_all_the_same():
    policy = make(tikhonov_weight=1e-3)
    for _ in range(100):
        teach(policy, np.full((B, D), 1e8, np.float32), np.zeros(B, int), np.full(B, 3e8))
    models = models_of(policy)
    assert models.theta[0].sum() == pytest.approx(3.0, rel=1e-6)
    assert np.isfinite(models.whitening).all()
    assert policy.action(restart(np.full((B, D), 1e8, np.float32), B)).shape == (B,)


def test_observations_of_other_shapes_are_flattened_or_are_single_numbers():
    policy = make(observation_spec=ArraySpec((2, 3), np.int32))
    assert models_of(policy).theta.shape == (K, 6)
    policy = make(observation_spec=ArraySpec((), np.float32))
    assert policy.action(restart(np.ones(B, np.float32), B)).shape == (B,)


@pytest.mark.parametrize(
    "context",
    [np.ones((B, D + 1)), np.ones((B + 1, D)), np.full((B, D), np.nan), np.full((B, D), "a"), {}],
)
def test_bad_observations_are_refused_and_change_nothing(context):
    policy = make()
    before = models_of(policy).theta.tobytes()
    time_step = restart(context, B)
    with pytest.raises(ValueError, match="observation"):
        policy.action(time_step)
    with pytest.raises(ValueError, match="observation"):
        policy(Trajectory.from_transition(time_step, np.zeros(B, int), time_step))
    assert models_of(policy).theta.tobytes() == before
