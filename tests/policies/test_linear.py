"""The linear policies, held against ridge regression written out."""

from statistics import NormalDist

import numpy as np
import pytest

from bandit_envs import (
    LinearEpsilonGreedyPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
)
from bandit_envs.nests import map_structure
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from bandit_envs.specs import ArraySpec
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination

G, P, K, B = 3, 4, 6, 5
D = G + P


def spec(global_dim=G, arm_dim=P, arms=K):
    return {
        "global": ArraySpec((global_dim,), np.float64),
        "per_arm": ArraySpec((arms, arm_dim), np.float64),
    }


def make(batch_size=B, **parameters):
    """Returns a linear policy: all share their model, and LinUCB draws nothing."""
    return LinUCBPolicy(observation_spec=spec(), batch_size=batch_size, seed=0, **parameters)


def environment(seed=0, batch_size=B, num_actions_fn=None):
    theta = np.random.default_rng(1).normal(size=D)
    return StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, LinearReward(theta, 0.5), num_actions_fn, batch_size, seed=seed
    )


def learned(policy):
    """Returns the one model that a policy has learned."""
    models = policy.get_state().content.learned
    return models._make(array[0] for array in models)


def trajectories(policy, env, steps):
    seen = []
    StepDriver(env, policy, [policy, seen.append], steps).run()
    return seen


def features(observation, action):
    """Returns the features [B, D] of the actions [B]."""
    chosen = observation["per_arm"][np.arange(len(action)), action]
    return np.concatenate((observation["global"], chosen), axis=1).astype(np.float64)


def all_features(observation):
    """Returns the features [B, K, D] of all arms."""
    context = observation["global"][:, np.newaxis].repeat(observation["per_arm"].shape[1], 1)
    return np.concatenate((context, observation["per_arm"]), axis=2).astype(np.float64)


def ridge(seen, gamma=1.0, tikhonov_weight=1.0):
    """Returns theta and A^-1 after trajectories, from one large least-squares problem."""
    x = np.concatenate([features(item.observation, item.action) for item in seen])
    r = np.concatenate([item.reward for item in seen]).astype(np.float64)
    ages = np.repeat(np.arange(len(seen))[::-1], len(r) // len(seen))
    weights = np.sqrt(gamma**ages)
    rows = np.concatenate((weights[:, np.newaxis] * x, np.sqrt(tikhonov_weight) * np.eye(D)))
    theta, *_ = np.linalg.lstsq(rows, np.concatenate((weights * r, np.zeros(D))), rcond=None)
    return theta, np.linalg.inv(rows.T @ rows)


def teach(policy, x, rewards, arms=K):
    """Shows a policy features [B, D] and rewards [B], as of the first arm."""
    observation = {"global": x[:, :G], "per_arm": x[:, np.newaxis, G:].repeat(arms, 1)}
    action = np.zeros(len(x), np.int32)
    before, after = restart(observation, len(x)), termination(observation, rewards)
    policy(Trajectory.from_transition(before, action, after))


def time_step(x):
    """Returns a time step with the features [B, K, D] of all arms."""
    return restart({"global": x[:, 0, :G], "per_arm": x[:, :, G:]}, len(x))


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("tikhonov_weight", [1.0, 0.01, 50.0])
def test_the_estimate_is_that_of_a_ridge_regression(gamma, tikhonov_weight):
    policy = make(gamma=gamma, tikhonov_weight=tikhonov_weight)
    seen = trajectories(policy, environment(), 40)
    theta, inverse = ridge(seen, gamma, tikhonov_weight)
    model = learned(policy)
    np.testing.assert_allclose(model.theta, theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.whitening.T @ model.whitening, inverse, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_ucb_chooses_by_the_formula_with_an_explicit_inverse(alpha):
    policy = LinUCBPolicy(
        alpha, gamma=0.95, tikhonov_weight=0.3, observation_spec=spec(), batch_size=B, seed=0
    )
    seen = trajectories(policy, environment(), 60)
    for step in range(1, len(seen)):
        theta, inverse = ridge(seen[:step], 0.95, 0.3)
        x = all_features(seen[step].observation)
        bounds = x @ theta + alpha * np.sqrt(np.einsum("bki,ij,bkj->bk", x, inverse, x))
        np.testing.assert_array_equal(seen[step].action, bounds.argmax(axis=1))


def test_without_exploration_epsilon_greedy_chooses_the_largest_estimate():
    policy = LinearEpsilonGreedyPolicy(0.0, observation_spec=spec(), batch_size=B, seed=0)
    seen = trajectories(policy, environment(), 60)
    for step in range(1, len(seen)):
        theta, _ = ridge(seen[:step])
        best = (all_features(seen[step].observation) @ theta).argmax(axis=1)
        np.testing.assert_array_equal(seen[step].action, best)


def test_before_it_has_seen_anything_epsilon_greedy_breaks_the_tie_uniformly(chi_square):
    policy = LinearEpsilonGreedyPolicy(0.0, observation_spec=spec(), batch_size=6000, seed=0)
    x = np.random.default_rng(0).normal(size=(6000, K, D))
    counts = np.bincount(policy.action(time_step(x)), minlength=K)
    # Five degrees of freedom: 5 standard deviations above the mean.
    assert chi_square(counts, np.full(K, 1 / K)) < 5 + 5 * np.sqrt(10)


def test_thompson_chooses_as_often_as_the_stated_normal_distribution_says():
    alpha, rows = 5.0, 20_000
    policy = LinearThompsonSamplingPolicy(
        alpha, tikhonov_weight=2.0, observation_spec=spec(arms=2), batch_size=rows, seed=3
    )
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, D)) @ rng.normal(size=(D, D)) * 0.02  # strongly correlated
    rewards = x @ rng.normal(size=D) + rng.normal(size=rows)
    teach(policy, x, rewards, arms=2)
    inverse = np.linalg.inv(x.T @ x + 2.0 * np.eye(D))
    theta = inverse @ (x.T @ rewards)
    deviations = []
    for _ in range(40):
        pair = np.zeros((2, D))
        pair[1, G:] = rng.normal(size=P)  # and the features of a row are the same for both
        std = alpha * np.sqrt(pair[1] @ inverse @ pair[1])
        expected = NormalDist().cdf(pair[1] @ theta / std)
        share = policy.action(time_step(pair[np.newaxis].repeat(rows, 0))).mean()
        deviations.append((share - expected) / np.sqrt(expected * (1 - expected) / rows))
    # Standard normal deviates: the 40 squares have mean 40 and standard deviation sqrt(80).
    assert np.abs(deviations).max() < 4.5
    assert 40 - 4 * np.sqrt(80) < np.square(deviations).sum() < 40 + 4 * np.sqrt(80)


def test_rows_draw_models_of_their_own():
    policy = LinearThompsonSamplingPolicy(observation_spec=spec(), batch_size=500, seed=0)
    x = np.random.default_rng(0).normal(size=(1, K, D)).repeat(500, axis=0)
    assert len(set(policy.action(time_step(x)))) > 1


def test_a_batch_teaches_what_its_rows_teach_one_by_one():
    rng = np.random.default_rng(5)
    x, rewards = rng.normal(size=(B, D)), rng.normal(size=B)
    together, one_by_one = make(), make(batch_size=1)
    teach(together, x, rewards)
    for row in range(B):
        teach(one_by_one, x[row : row + 1], rewards[row : row + 1])
    left, right = learned(together), learned(one_by_one)
    np.testing.assert_allclose(left.theta, right.theta, rtol=1e-12)
    inverses = [each.whitening.T @ each.whitening for each in (left, right)]
    np.testing.assert_allclose(*inverses, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("policy", [LinUCBPolicy, LinearThompsonSamplingPolicy])
@pytest.mark.parametrize(("global_dim", "arm_dim"), [(0, 2), (2, 0), (0, 0)])
def test_users_or_items_may_have_no_features(policy, global_dim, arm_dim):
    model = LinearReward(np.ones(global_dim + arm_dim), 0.5)
    env = StationaryStochasticPerArmPyEnvironment(
        Normal(global_dim), Normal(arm_dim), K, model, None, B, seed=0
    )
    seen = trajectories(policy(**LinUCBPolicy.arguments_for(env), seed=0), env, 5)
    assert len({int(action) for step in seen for action in step.action}) > 1


def test_exploration_is_uniform_over_the_available_arms(chi_square):
    rows = 12_000
    policy = LinearEpsilonGreedyPolicy(1.0, observation_spec=spec(), batch_size=rows, seed=0)
    x = np.random.default_rng(0).normal(size=(rows, K, D))
    start = time_step(x)
    available = np.tile([1, 3, 6], rows // 3)
    observation = {**start.observation, "num_actions": available.astype(np.int32)}
    action = policy.action(start._replace(observation=observation))
    assert set(action[available == 1]) == {0}
    for arms in (3, 6):
        counts = np.bincount(action[available == arms], minlength=arms)
        freedom = arms - 1
        assert len(counts) == arms
        assert chi_square(counts, np.full(arms, 1 / arms)) < freedom + 5 * np.sqrt(2 * freedom)


SCALES = np.array([1e-6, 1e-3, 1.0, 1.0, 1e3, 1e6])


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1.0, 0.999])
def test_updates_stay_accurate_however_features_are_scaled_or_repeated(gamma):
    """Features from 1e-6 to 1e6 in size, the last of them there twice, held against one solution
    in extended precision, in which the two copies are one feature with half the regularisation."""
    dim = len(SCALES)
    layout = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((1, dim), np.float64)}
    policy = LinUCBPolicy(1.0, gamma, observation_spec=layout, batch_size=1, seed=0)
    num_updates, rng = 100_000, np.random.default_rng(6)
    x = rng.normal(size=(num_updates, dim)) * SCALES
    x[:, 3] += 0.999 * x[:, 2]  # nearly dependent, too
    rewards = x / SCALES @ np.ones(dim) + rng.normal(size=num_updates)
    action = np.zeros(1, np.int32)
    for features, reward in zip(x, rewards[:, np.newaxis]):
        observation = {"global": features[np.newaxis, -1:], "per_arm": features[np.newaxis, None]}
        before, after = restart(observation, 1), termination(observation, reward)
        policy(Trajectory.from_transition(before, action, after))

    weights = np.longdouble(gamma) ** np.arange(100_000)[::-1]
    wide = x.astype(np.longdouble)
    regularisation = np.append(np.ones(dim - 1), 0.5)
    gram = (weights[:, np.newaxis] * wide).T @ wide + np.diag(regularisation)
    moment = (weights * rewards) @ wide
    inverse = extended_inverse(gram)
    theta = inverse @ moment

    model = learned(policy)
    found = np.append(model.theta[1:-1], model.theta[0] + model.theta[-1])
    # How far predictions are off, a standard deviation of each feature, in rewards of size 1.
    assert np.abs((found - theta) * np.sqrt(np.diag(gram) / num_updates)).max() < 1e-9
    # Nothing was said of the difference of the copies but the regularisation's N(0, 2).
    assert abs(model.theta[0] - model.theta[-1]) < 1e-3 * np.sqrt(2)
    widths = np.linalg.norm(model.whitening[:, 1:-1], axis=0)
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


def test_nothing_fails_where_features_are_huge_and_all_the_same():
    policy = make(tikhonov_weight=1e-3)
    for _ in range(200):
        teach(policy, np.full((B, D), 1e8), np.full(B, 3e8))
    model = learned(policy)
    assert model.theta.sum() == pytest.approx(3.0, rel=1e-9)
    assert np.isfinite(model.whitening).all()
    assert policy.action(time_step(np.full((B, K, D), 1e8))).shape == (B,)


def test_what_is_forgotten_leaves_the_regularisation():
    policy = make(gamma=0.5, tikhonov_weight=4.0)
    teach(policy, np.random.default_rng(0).normal(size=(B, D)), np.ones(B))
    for _ in range(200):
        teach(policy, np.zeros((B, D)), np.zeros(B))
    model = learned(policy)
    np.testing.assert_allclose(model.theta, 0.0, atol=1e-25)
    np.testing.assert_allclose(model.whitening.T @ model.whitening, np.eye(D) / 4.0, atol=1e-12)


GOOD = {"global": np.zeros((B, G)), "per_arm": np.zeros((B, K, P))}


@pytest.mark.parametrize(
    "observation",
    [
        None,
        (),
        np.zeros((B, 1)),
        {"global": GOOD["global"]},
        {**GOOD, "global": np.zeros((B, G + 1))},
        {**GOOD, "global": np.zeros(B)},
        {**GOOD, "per_arm": np.zeros((B, K + 1, P))},
        {**GOOD, "per_arm": np.full((B, K, P), "x")},
    ],
)
def test_observations_without_the_features_are_refused(observation):
    policy = make()
    before = policy.get_state()
    start = restart(observation, B)
    with pytest.raises(ValueError, match="observation "):
        policy.action(start)
    with pytest.raises(ValueError, match="observation "):
        policy(Trajectory.from_transition(start, [0] * B, termination(observation, np.zeros(B))))
    assert_identical(policy.get_state(), before, "the state after a refusal")


@pytest.mark.parametrize("feature", [np.nan, -np.inf, 1e200])
@pytest.mark.parametrize("place", [0, D - 1])
def test_features_that_are_not_finite_or_huge_are_refused(feature, place):
    policy, x = make(), np.zeros((B, D))
    before = policy.get_state()
    x[2, place] = feature
    with pytest.raises(ValueError, match="observation "):
        teach(policy, x, np.zeros(B))
    with pytest.raises(ValueError, match="observation "):
        policy.action(time_step(x[:, np.newaxis].repeat(K, 1)))
    assert_identical(policy.get_state(), before, "the state after a refusal")


def test_an_observation_that_was_edited_in_place_is_read_again():
    layout = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((2, 1), np.float64)}
    policy = LinearEpsilonGreedyPolicy(0.0, observation_spec=layout, seed=0)
    observation = {"global": np.zeros((1, 1)), "per_arm": np.array([[[1.0], [0.0]]])}
    time_step = restart(observation, 1)
    policy(Trajectory.from_transition(time_step, [0], termination(observation, [1.0])))
    assert policy.action(time_step) == [0]
    observation["per_arm"][...] = [[[0.0], [1.0]]]
    assert policy.action(time_step) == [1]


def test_nests_of_features_are_flattened_and_joined_in_their_order():
    rng = np.random.default_rng(0)
    context, arms = rng.normal(size=(B, 4)), rng.normal(size=(B, K, 3))
    joined = {"global": context, "per_arm": arms}
    nests = {
        "global": {"user": context[:, :3].reshape(B, 3, 1), "age": context[:, 3]},
        "per_arm": (arms[..., :2], arms[..., 2]),
    }
    chosen = []
    for observation in (joined, nests):
        layout = map_structure(lambda array: ArraySpec(array.shape[1:], array.dtype), observation)
        policy = LinUCBPolicy(observation_spec=layout, batch_size=B, seed=0)
        first = restart(observation, B)
        for _ in range(5):
            action = policy.action(first)
            reward = (action % 2).astype(np.float32)
            policy(Trajectory.from_transition(first, action, first._replace(reward=reward)))
            chosen.append(action)
    np.testing.assert_array_equal(chosen[:5], chosen[5:])
    assert (chosen[4] != chosen[0]).any()
