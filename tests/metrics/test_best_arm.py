"""Metrics of policies that look for the best action."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver, UCBPolicy
from bandit_envs.metrics import (
    BiasMetric,
    CoverageMetric,
    ErrorMetric,
    SimpleRegretMetric,
    Statistics,
    StoppedMetric,
    StoppingTimeMetric,
)
from bandit_envs.policies import TrackAndStopPolicy, UniformAllocationPolicy
from tests.cases import for_each

MEANS = np.array([0.3, 0.5, 0.6])
B = 40


class Run:
    def __init__(self, num_steps, until_stopped=False):
        env = BernoulliPyEnvironment(MEANS, batch_size=B, seed=0)
        policy = UniformAllocationPolicy(9, num_actions=3, batch_size=B, seed=1)
        kinds = (SimpleRegretMetric, ErrorMetric, StoppingTimeMetric, StoppedMetric)
        metrics = [kind(env, policy) for kind in kinds]
        self.recommended = []

        def keep(trajectory):
            self.recommended.append(policy.recommend(env.current_time_step()))

        driver = StepDriver(env, policy, [policy, keep, *metrics], num_steps)
        driver.run_until_stopped() if until_stopped else driver.run()
        self.results = [metric.result() for metric in metrics]


def test_sums_are_what_each_recommendation_lacks_after_every_step():
    run = Run(12)
    regret = MEANS.max() - MEANS[np.array(run.recommended)]
    simple, error, steps, stopped = (result.cumulative.mean for result in run.results)
    np.testing.assert_allclose(simple, regret.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(error, (regret > 0.0).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(steps, np.minimum(np.arange(1, 13), 9))
    np.testing.assert_allclose(stopped, [0.0] * 8 + [100.0] * 4)
    np.testing.assert_allclose(run.results[0].totals, regret[-1], atol=1e-12)


def test_a_result_continued_is_that_of_a_run_that_goes_on():
    for ended, longer in zip(Run(30, until_stopped=True).results, Run(30).results):
        assert len(ended.per_step.mean) == 9
        whole = ended.continued(30)
        for found, expected in zip(whole[:2], longer[:2]):
            np.testing.assert_allclose(found.mean, expected.mean, atol=1e-12)
            np.testing.assert_allclose(
                found.squared_deviation, expected.squared_deviation, atol=1e-12
            )


def test_a_policy_that_recommends_nothing_is_refused():
    env = BernoulliPyEnvironment(MEANS)
    with pytest.raises(NotImplementedError, match="UCBPolicy recommends no action"):
        ErrorMetric(env, UCBPolicy(1.0, num_actions=3))


@for_each(
    ("errors", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (15, 50, 0.1910, 0.4375), (7, 7, 0.6457, 1.0)],
)
def test_wilson_intervals_are_those_of_the_formula(errors, runs, low, high):
    values = np.repeat([1.0, 0.0], [errors, runs - errors])
    found = Statistics.from_values(values).wilson_interval(0.95)
    np.testing.assert_allclose(found, [low, high], atol=1e-4)


@pytest.mark.slow
def test_means_are_biased_at_a_stop_and_intervals_hold():
    means = np.array([0.2, 0.5, 0.7])
    env = BernoulliPyEnvironment(means, batch_size=300, seed=0)
    policy = TrackAndStopPolicy(0.1, num_actions=3, batch_size=300, seed=1)
    bias = BiasMetric(env, policy)
    coverage = CoverageMetric(env, policy)
    driver = StepDriver(env, policy, [policy, bias, coverage], num_steps=20_000)
    time_step = driver.run_until_stopped()
    best = policy.recommend(time_step)
    rows = np.arange(300)
    np.testing.assert_allclose(bias.totals, policy.means[rows, best] - means[best], atol=1e-12)
    low, high = policy.intervals()
    holds = ((low <= means) & (high >= means)).all(axis=1)
    np.testing.assert_array_equal(coverage.totals, 100.0 * holds)
    error = bias.totals.std() / np.sqrt(300.0)
    assert bias.totals.mean() > 4.0 * error
    assert coverage.totals.mean() > 95.0


def test_coverage_is_not_known_without_a_law_of_rewards():
    env = BernoulliPyEnvironment(MEANS, seed=0)
    policy = UniformAllocationPolicy(9, num_actions=3)
    with pytest.raises(NotImplementedError, match="knows no law of rewards"):
        CoverageMetric(env, policy)
