"""The linear full posterior, held against its formulas and against published regrets."""

import numpy as np
import pytest
from bandit_envs.policies.full_posterior import LinearPosteriors

from bandit_envs import LinearFullPosteriorPolicy, RegretMetric, StepDriver, WheelPyEnvironment
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

D, K = 3, 4
A0, B0, WEIGHT = 5.0, 2.0, 0.3


def make(batch_size, **parameters):
    sizes = {"observation_spec": ArraySpec((D,), np.float64), "num_actions": K}
    parameters = {"a0": A0, "b0": B0, "tikhonov_weight": WEIGHT, **parameters}
    return LinearFullPosteriorPolicy(**parameters, **sizes, batch_size=batch_size, seed=0)


def teach(policy, x, action, rewards):
    after = termination(x, rewards, np.float64)
    policy.learn(Trajectory.from_transition(restart(x, len(x)), action, after))


def posterior(x, rewards):
    """Returns mu, the covariance in units of the variance, a and b, as the paper writes them."""
    rows = np.column_stack((x, np.ones(len(x))))
    precision = rows.T @ rows + WEIGHT * np.eye(D + 1)
    covariance = np.linalg.inv(precision)
    mu = covariance @ rows.T @ rewards
    a = A0 + len(x) / 2.0
    b = B0 + 0.5 * (rewards @ rewards - mu @ precision @ mu)
    return mu, covariance, a, b


def examples(rng, rows):
    """Returns contexts, actions of which the last is never chosen, and rewards."""
    x = rng.normal(size=(rows, D))
    action = rng.integers(K - 1, size=rows).astype(np.int32)
    return x, action, 0.1 * x[:, 0] * action + rng.normal(size=rows)


@pytest.mark.parametrize("batch_size", [1, 60])
def test_the_posterior_is_that_of_the_formulas(batch_size):
    x, action, rewards = examples(np.random.default_rng(0), 60)
    policy = make(batch_size)
    for start in range(0, 60, batch_size):
        rows = slice(start, start + batch_size)
        teach(policy, x[rows], action[rows], rewards[rows])
    learned = policy.get_state().content.learned
    for arm in range(K):
        chosen = action == arm
        mu, covariance, a, b = posterior(x[chosen], rewards[chosen])
        whitening = learned.models.whitening[arm]
        np.testing.assert_allclose(learned.models.theta[arm], mu, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(whitening.T @ whitening, covariance, rtol=1e-10, atol=1e-13)
        assert A0 + learned.counts[arm] / 2 == a
        assert B0 + learned.losses[arm] / 2 == pytest.approx(b, rel=1e-10)


def test_choices_are_as_frequent_as_the_best_of_drawn_models():
    """Models are drawn as the paper does: a variance, then coefficients given the variance."""
    rng = np.random.default_rng(1)
    rows = 20_000
    x, action, rewards = examples(rng, 40)
    teacher = make(40)
    teach(teacher, x, action, rewards)
    policy = make(rows, initial_pulls=0)
    state = policy.get_state()
    learned = teacher.get_state().content.learned
    policy.set_state(state._replace(content=state.content._replace(learned=learned)))
    context = rng.normal(size=D)
    values = np.empty((rows, K))
    for arm in range(K):
        chosen = action == arm
        mu, covariance, a, b = posterior(x[chosen], rewards[chosen])
        variances = b / rng.gamma(a, size=rows)
        noise = rng.multivariate_normal(np.zeros(D + 1), covariance, size=rows)
        models = mu + np.sqrt(variances)[:, np.newaxis] * noise
        values[:, arm] = models @ np.append(context, 1.0)
    expected = np.bincount(values.argmax(axis=1), minlength=K) / rows
    action = policy.action(restart(np.tile(context, (rows, 1)), rows))
    share = np.bincount(action, minlength=K) / rows
    error = np.sqrt(2.0 * expected * (1.0 - expected) / rows)
    assert (np.abs(share - expected) < 4.0 * error + 1e-4).all()
    assert (expected > 0.02).sum() >= 3


def test_each_action_is_chosen_as_often_as_it_says_at_first():
    policy = make(1, initial_pulls=3)
    x = np.ones((1, D))
    actions = []
    for _ in range(3 * K):
        action = policy.action(restart(x, 1))
        actions.append(int(action[0]))
        teach(policy, x, action, 100.0 * (action == 0))
    assert np.bincount(actions).tolist() == [3] * K


@pytest.mark.slow
def test_its_regret_on_the_wheel_is_that_of_an_independent_program():
    """2,000 steps with delta 0.5, as shares of the uniform policy's regret; 50 runs of a program
    that inverts matrices gave 6.65 +- 0.23 % of all steps and 2.07 +- 0.12 % of the last 500."""
    uniform = 0.75 * (50.0 - 54.2 / 5.0) + 0.25 * 0.16
    shares = []
    for seed in range(20):
        env = WheelPyEnvironment(0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01, seed=seed)
        policy = LinearFullPosteriorPolicy(
            **LinearFullPosteriorPolicy.arguments_for(env), seed=seed
        )
        metric = RegretMetric(env)
        StepDriver(env, policy, [policy, metric], 2000).run()
        regret = metric.result().per_step.mean / uniform
        shares.append((regret.mean(), regret[-500:].mean()))
    means = np.mean(shares, axis=0)
    errors = np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
    assert abs(means[0] - 0.0665) < 3.0 * np.hypot(errors[0], 0.0023)
    assert abs(means[1] - 0.0207) < 3.0 * np.hypot(errors[1], 0.0012)


def test_a_shared_draw_has_the_covariances_of_the_posterior():
    rng = np.random.default_rng(0)
    posteriors = LinearPosteriors.initial(1, 3, 0.5)
    x, r = rng.normal(size=(20, 3)), rng.normal(size=20)
    posteriors.update(np.zeros(20, np.intp), x, r, 0.5)
    items = rng.normal(size=(2, 3))
    draws = posteriors.draw_shared(rng, np.tile(items, (40_000, 1, 1)), 3.0, 4.0)
    inverse = np.linalg.inv(x.T @ x + 0.5 * np.eye(3))
    mean = inverse @ x.T @ r
    b = 4.0 + 0.5 * (r @ r - mean @ x.T @ r)
    covariance = b / (13.0 - 1.0) * items @ inverse @ items.T
    std = np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(axis=0) - items @ mean) < 5 * std / 200.0).all()
    errors = (np.cov(draws.T) - covariance) / np.outer(std, std)
    assert np.abs(errors).max() < 0.05  # about five standard errors
