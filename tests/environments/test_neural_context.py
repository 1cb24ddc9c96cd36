"""Nonlinear rewards of contexts on the unit sphere."""

import numpy as np
import pytest

from bandit_envs import LinUCBPolicy, RegretMetric, StepDriver
from bandit_envs.environments import neural_context
from bandit_envs.rewards import FunctionReward
from tests.cases import for_each
from tests.statistical import has_probabilities, is_near, is_near_std

SIZE = 5_000


def features(env):
    return env.current_time_step().observation["per_arm"].astype(np.float64)


@for_each("function", ["square", "quadratic", "cosine"])
def test_one_function_of_the_features_explains_all_expected_rewards(function):
    env = neural_context(function, dim=3, num_actions=2, batch_size=200, seed=0)
    env.reset()
    x = features(env).reshape(-1, 3)
    means = env.expected_rewards().ravel()
    monomials = np.einsum("ni,nj->nij", x, x).reshape(-1, 9)
    if function == "cosine":  # |arccos(cos u)| is |u|, as u is 3 at most
        means = np.arccos(means) ** 2
    weights, *_ = np.linalg.lstsq(monomials, means, rcond=None)
    assert monomials @ weights == pytest.approx(means, abs=1e-5)
    roots = np.linalg.eigvalsh(weights.reshape(3, 3))
    if function == "quadratic":
        assert (roots > 0.0).all()
    else:
        assert roots == pytest.approx(
            [0.0, 0.0, {"square": 10.0, "cosine": 9.0}[function]], abs=1e-3
        )


def test_features_are_uniform_on_the_sphere():
    env = neural_context(dim=3, num_actions=4, batch_size=SIZE, seed=0)
    env.reset()
    x = features(env).reshape(-1, 3)
    assert np.square(x).sum(axis=1) == pytest.approx(np.ones(4 * SIZE), abs=1e-6)
    edges = np.linspace(-1.0, 1.0, 11)  # on the sphere in three dimensions, coordinates are uniform
    for column in x.T:
        counts, _ = np.histogram(column, edges)
        assert has_probabilities(counts, np.full(10, 0.1))


def test_rewards_scatter_about_their_means():
    env = neural_context("square", dim=5, noise_std=0.5, batch_size=SIZE, seed=0)
    env.reset()
    means = env.expected_rewards()[:, 2]
    errors = env.step(np.full(SIZE, 2)).reward - means
    assert is_near(errors, 0.0, 0.5)
    assert is_near_std(errors, 0.5)


def test_linear_policies_run_on_it():
    env = neural_context(batch_size=10, seed=0)
    policy = LinUCBPolicy(observation_spec=env.observation_spec(), batch_size=10, seed=1)
    regret = RegretMetric(env)
    StepDriver(env, policy, [policy, regret], 20).run()
    assert regret.result().mean.mean > 0.0


def test_a_function_sees_the_features_of_users_before_those_of_items():
    reward = FunctionReward(lambda x: x @ [100.0, 10.0, 1.0], noise_std=0.0)
    users, items = np.array([[1.0, 2.0]]), np.array([[[3.0], [4.0]]])
    assert reward.mean(users, items).tolist() == [[123.0, 124.0]]
    assert reward.draw(np.random.default_rng(0), users, items[:, 1]) == pytest.approx([124.0])
