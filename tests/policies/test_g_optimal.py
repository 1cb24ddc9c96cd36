"""Identification of the best action by features, held to other solvers and written-out rules."""

import math
from functools import partial

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver
from bandit_envs.policies import GOptimalPolicy
from bandit_envs.policies.best_arm.g_optimal import g_optimal_design
from tests.cases import for_each
from tests.policies.rows import B, assert_follows

FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.3]])


def largest_variance(features, weights):
    gram = sum(w * np.outer(x, x) for w, x in zip(weights, features))
    return max(x @ np.linalg.solve(gram, x) for x in features)


def multiplied_design(features):
    """Returns the design by another method, which multiplies weights with variances."""
    weights = np.full(len(features), 1 / len(features))
    for _ in range(5_000):
        gram = features.T @ np.diag(weights) @ features
        variances = np.diag(features @ np.linalg.inv(gram) @ features.T)
        weights = weights * variances / features.shape[1]
    return weights


@pytest.mark.parametrize("shape", [(3, 2), (10, 3), (40, 6)])
def test_the_design_is_that_of_another_method(shape):
    features = np.random.default_rng(sum(shape)).normal(size=shape)
    design = g_optimal_design(features)
    assert design.sum() == pytest.approx(1.0)
    assert shape[1] <= largest_variance(features, design) <= shape[1] * 1.001
    gram = features.T @ (design[:, np.newaxis] * features)
    other = multiplied_design(features)
    expected = features.T @ (other[:, np.newaxis] * features)
    np.testing.assert_allclose(gram, expected, rtol=0.1, atol=0.01)


def test_unit_vectors_are_chosen_equally_often():
    np.testing.assert_allclose(g_optimal_design(np.eye(4)), 0.25)


def g_optimal(row, delta, std, design):
    """The rule, by least squares of all rewards and loops over pairs."""
    while True:
        t = len(row.order)
        if t > 0:
            x = FEATURES[row.order]
            numbers = [0] * len(FEATURES)
            rewards = []
            for action in row.order:
                rewards.append(row.seen[action][numbers[action]])
                numbers[action] += 1
            if np.linalg.matrix_rank(x) == 2:
                values = FEATURES @ np.linalg.lstsq(x, np.array(rewards), rcond=None)[0]
                best = int(values.argmax())
                level = 2 * math.log(math.pi**2 * t**2 * (len(FEATURES) - 1) / (6 * delta))
                spread = [
                    std * math.sqrt(level * (d @ np.linalg.solve(x.T @ x, d)))
                    for d in FEATURES[best] - FEATURES
                ]
                others = [b for b in range(len(FEATURES)) if b != best]
                if all(values[best] - values[b] > spread[b] for b in others):
                    return best
        due = [(t + 1) * design[a] - len(row.seen[a]) for a in range(len(FEATURES))]
        yield [a for a in range(len(FEATURES)) if due[a] >= max(due) - 1e-9]


def test_choices_stops_and_recommendations_are_those_of_the_rule():
    rng = np.random.default_rng(1)
    means = FEATURES @ [1.0, 0.2]
    values = rng.normal(means, 0.3, (200, B, 3))
    policy = GOptimalPolicy(0.3, FEATURES, reward_std=0.3, num_actions=3, batch_size=B, seed=0)
    rule = partial(g_optimal, delta=0.3, std=0.3, design=g_optimal_design(FEATURES))
    assert_follows(policy, rule, values)
    assert policy.stopped.any()


def test_the_unit_of_features_does_not_matter():
    policies = [
        GOptimalPolicy(0.1, unit * FEATURES, num_actions=3, batch_size=20, seed=0)
        for unit in (1.0, 1e6)
    ]
    ends = []
    for policy in policies:
        env = BernoulliPyEnvironment([0.8, 0.2, 0.7], batch_size=20, seed=1)
        StepDriver(env, policy, [policy], 5000).run_until_stopped()
        ends.append(policy.steps.tolist())
    assert ends[0] == ends[1]


@for_each(
    ("features", "message"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], r"shape \(2, 2\); expected 3 rows"),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "2 columns and rank 1; expected rank 2"),
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], "equal rows"),
        ([[1.0, 0.0], [0.0, 1.0], [1.0, np.nan]], "NaN"),
    ],
)
def test_features_that_cannot_tell_actions_apart_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        GOptimalPolicy(0.1, features, num_actions=3)


@pytest.mark.slow
@pytest.mark.parametrize("theta", [[0.9, 0.1], [0.2, 0.6], [0.5, 0.1]])
def test_errors_are_at_most_delta_in_800_runs(theta):
    size, delta = 800, 0.1
    means = FEATURES @ theta
    env = BernoulliPyEnvironment(means, batch_size=size, seed=0)
    policy = GOptimalPolicy(delta, FEATURES, num_actions=3, batch_size=size, seed=1)
    time_step = StepDriver(env, policy, [policy], 60_000).run_until_stopped()
    assert policy.has_stopped
    assert (policy.recommend(time_step) != means.argmax()).mean() <= delta
