"""Regrets of models and rules, against those of independent programs: 3 combined standard errors.

The runs of a case are the independent rows of one policy.
"""

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, RegretMetric, StepDriver, WheelPyEnvironment
from bandit_envs.policies.models import BayesianRidge, FourierFeatures, HybridRidge, Ridge
from bandit_envs.policies.rules import (
    EliminationRegCB,
    EpsilonGreedy,
    FirstPulls,
    Greedy,
    OptimisticRegCB,
    SquareCB,
    ThompsonSampling,
    UpperBound,
)
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import teach


def problem_a(rng, runs):
    """Contexts on a sphere, ten actions, rewards of 0 and 1."""
    theta = np.random.default_rng(7).normal(size=(10, 5))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    x = rng.normal(size=(runs, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.column_stack((x, np.ones(runs))), 0.5 + 0.4 * x @ theta.T


def problem_l(rng, runs):
    """Normal contexts, four actions, clicks of logistic models."""
    theta = np.array([[1.5, -0.5, 0], [-1, 1, 0.5], [0, -1, 1.5], [-0.5, 0.5, -2]])
    x = rng.normal(size=(runs, 3))
    scores = x @ theta.T + [0.2, 0.0, -0.2, 0.1]
    return np.column_stack((x, np.ones(runs))), 1.0 / (1.0 + np.exp(-scores))


def problem_r1(rng, runs):
    """Sines of one number, four actions, normal noise."""
    x = rng.random((runs, 1))
    waves = np.sin(2 * np.pi * (np.array([0.5, 1, 1.5, 2]) * x + [0, 0.25, 0.5, 0.75]))
    return x, 0.5 + 0.4 * waves


def clicks(rng, means):
    return (rng.random(len(means)) < means).astype(float)


def noisy(rng, means):
    return means + 0.2 * rng.standard_normal(len(means))


def assert_regret(pair, problem, runs, steps, *, expected, reward=clicks):
    """Requires the regret of runs to be a mean within 3 standard errors of it and of ours."""
    rng = np.random.default_rng(8)
    context, means = problem(rng, runs)
    policy = ContextualPolicy(
        *pair,
        observation_spec=ArraySpec(context.shape[1:], np.float64),
        num_actions=means.shape[1],
        batch_size=runs,
        independent_rows=True,
        seed=9,
    )
    total = np.zeros(runs)
    for _ in range(steps):
        context, means = problem(rng, runs)
        action = policy.action(restart(context, runs))
        chosen = means[np.arange(runs), action]
        total += means.max(axis=1) - chosen
        teach(policy, context, action, reward(rng, chosen))
    own_error = total.std(ddof=1) / np.sqrt(runs)
    print(f"{total.mean():.1f} ± {own_error:.1f}; expected {expected}")
    mean, error = expected
    assert abs(total.mean() - mean) < 3.0 * np.hypot(own_error, error)


CASES_A = {
    "greedy": (Greedy(), (963.4, 36.4)),
    "epsilon-greedy, 0.05": (EpsilonGreedy(0.05), (306.6, 8.3)),
    "SquareCB, 10 sqrt(n)": (SquareCB(10.0), (290.2, 7.0)),
    "SquareCB, 1000 n^0.25": (SquareCB(1000.0, 0.25), (524.8, 18.3)),
    "optimistic RegCB, 0.1": (OptimisticRegCB(0.1), (201.0, 3.9)),
    "RegCB by elimination, 0.1": (EliminationRegCB(0.1), (710.2, 6.2)),
    "SquareCB after 10 first pulls": (FirstPulls(SquareCB(100.0), 10), (250.0, 7.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES_A)
def test_regrets_of_rules_are_those_of_independent_code(name):
    rule, expected = CASES_A[name]
    assert_regret((Ridge(), rule), problem_a, 40, 5000, expected=expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "rule", "expected"),
    [
        (0.5, SquareCB(100.0), (300.1, 8.6)),
        ("mean", OptimisticRegCB(0.001), (274.3, 10.0)),
        (1.0, Greedy(), (271.7, 11.3)),
    ],
)
def test_what_a_model_predicts_at_first_decides_rules_that_hardly_explore(start, rule, expected):
    assert_regret((Ridge(initial_value=start), rule), problem_a, 40, 5000, expected=expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "rule", "expected"),
    [
        ("mean", SquareCB(100.0), (70.1, 9.7)),
        (0.0, OptimisticRegCB(0.001), (210.0, 14.5)),
        (1.0, OptimisticRegCB(0.001), (41.9, 3.0)),
    ],
)
def test_so_it_does_for_clicks_of_logistic_models(start, rule, expected):
    assert_regret((Ridge(initial_value=start), rule), problem_l, 40, 3000, expected=expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "expected"),
    [(UpperBound(0.4), (16.30, 0.56)), (ThompsonSampling(0.2), (22.14, 1.05))],
)
def test_fourier_features_have_the_regret_of_a_gaussian_process(rule, expected):
    model = FourierFeatures(Ridge(tikhonov_weight=0.04), 0.15, 200)
    assert_regret((model, rule), problem_r1, 8, 600, expected=expected, reward=noisy)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "expected"), [(1.0, (352.4, 3.0)), (0.3, (118.8, 4.2))])
def test_hybrid_lin_ucb_has_the_regret_of_independent_code(alpha, expected):
    source = np.random.default_rng(41)
    items = source.normal(size=(100, 3))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    shared = source.normal(size=12)
    shared /= np.linalg.norm(shared)
    own = source.normal(size=(100, 4))
    own *= 0.3 / np.linalg.norm(own, axis=1, keepdims=True)
    runs = 20
    policy = ContextualPolicy(
        HybridRidge(),
        UpperBound(alpha),
        observation_spec={
            "global": ArraySpec((4,), np.float64),
            "per_arm": ArraySpec((100, 12), np.float64),
        },
        batch_size=runs,
        independent_rows=True,
        seed=0,
    )
    rng = np.random.default_rng(1)
    total = np.zeros(runs)
    for _ in range(2000):
        x = rng.normal(size=(runs, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x = np.column_stack((x, np.ones(runs))) / np.sqrt(2)
        z = np.einsum("bi,kj->bkij", x, items).reshape(runs, 100, 12)
        means = z @ shared + x @ own.T
        observation = {"global": x, "per_arm": z}
        action = policy.action(restart(observation, runs))
        chosen = means[np.arange(runs), action]
        total += means.max(axis=1) - chosen
        teach(policy, observation, action, chosen + 0.3 * rng.standard_normal(runs))
    own_error = total.std(ddof=1) / np.sqrt(runs)
    print(f"{total.mean():.1f} ± {own_error:.1f}; expected {expected}")
    assert abs(total.mean() - expected[0]) < 3.0 * np.hypot(own_error, expected[1])


@pytest.mark.slow
def test_the_full_posterior_has_the_regret_of_an_independent_program_on_the_wheel():
    """2,000 steps with delta 0.5, as shares of the uniform policy's regret; 50 runs of a program
    that inverts matrices gave 6.65 +- 0.23 % of all steps and 2.07 +- 0.12 % of the last 500."""
    uniform = 0.75 * (50.0 - 54.2 / 5.0) + 0.25 * 0.16
    runs = 40
    env = WheelPyEnvironment(
        0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01, batch_size=runs, seed=0
    )
    arguments = {**ContextualPolicy.arguments_for(env), "independent_rows": True}
    rule = FirstPulls(ThompsonSampling())
    policy = ContextualPolicy(BayesianRidge(), rule, **arguments, seed=1)
    metric = RegretMetric(env)
    driver = StepDriver(env, policy, [policy, metric], 500)
    for _ in range(3):
        driver.run()
    early = metric.totals.copy()
    driver.run()
    shares = np.stack([metric.totals / 2000, (metric.totals - early) / 500], axis=1) / uniform
    means = shares.mean(axis=0)
    errors = shares.std(axis=0, ddof=1) / np.sqrt(runs)
    assert abs(means[0] - 0.0665) < 3.0 * np.hypot(errors[0], 0.0023)
    assert abs(means[1] - 0.0207) < 3.0 * np.hypot(errors[1], 0.0012)
