"""Metrics that ask an environment what would have been best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import (
    AverageRewardMetric,
    KArmedTestbed,
    OptimalActionMetric,
    RandomPolicy,
    RegretMetric,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.logged import BanditLog
from bandit_envs.logged.replay import ReplayEnvironment
from bandit_envs.metrics import SuffixFailureMetric
from bandit_envs.trajectories import Trajectory


class Kept:
    """A testbed run by UCB whose every number is kept."""

    def __init__(self, **parameters):
        self.env = KArmedTestbed(5, batch_size=40, seed=0, **parameters)
        policy = UCBPolicy(2.0, num_actions=5, batch_size=40, seed=1)
        self.optimal, self.regret = OptimalActionMetric(self.env), RegretMetric(self.env)
        self.rewards = AverageRewardMetric()
        kept = []

        def keep(trajectory):
            kept.append((self.expected, trajectory.action, trajectory.reward))
            self.expected = self.env.expected_rewards()

        self.env.reset()
        self.expected = self.env.expected_rewards()
        observers = [self.optimal, self.regret, self.rewards, keep, policy]
        StepDriver(self.env, policy, observers, 60).run()
        self.kept_expected, self.kept_action, self.kept_reward = map(np.array, zip(*kept))

    def regrets(self):
        """Returns the regrets [T, B], from the values that held when the actions were chosen."""
        chosen = np.take_along_axis(self.kept_expected, self.kept_action[:, :, np.newaxis], 2)
        return self.kept_expected.max(axis=2) - chosen[:, :, 0]


@pytest.fixture(params=[0.0, 0.5], ids=["constant", "drifting"])
def testbed(request):
    return Kept(drift_std=request.param)


def test_regret_is_exactly_what_the_best_action_would_have_brought_more(testbed):
    regrets = testbed.regrets().astype(np.float64)
    result = testbed.regret.result()
    np.testing.assert_allclose(result.per_step.mean, regrets.mean(axis=1), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        result.cumulative.mean, regrets.cumsum(axis=0).mean(axis=1), rtol=1e-12, atol=1e-15
    )


def test_an_action_is_optimal_by_the_values_at_the_time_of_choosing(testbed):
    optimal = testbed.kept_expected.argmax(axis=2) == testbed.kept_action
    result = testbed.optimal.result().per_step
    np.testing.assert_allclose(result.mean, 100.0 * optimal.mean(axis=1), rtol=1e-12)
    standard_error = 100.0 * optimal.std(axis=1, ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(result.standard_error, standard_error, rtol=1e-12, atol=1e-15)


def test_the_average_reward_is_of_the_rewards_received(testbed):
    rewards = testbed.kept_reward.astype(np.float64)
    np.testing.assert_allclose(
        testbed.rewards.result().per_step.mean, rewards.mean(axis=1), rtol=1e-12, atol=1e-15
    )


@given(st.integers(0, 2**32), st.floats(0.0, 2.0), st.sampled_from([np.float32, np.float64]))
def test_regret_is_never_negative(seed, drift_std, dtype):
    env = KArmedTestbed(3, batch_size=4, seed=seed, drift_std=drift_std, dtype=dtype)
    metric = RegretMetric(env)
    policy = RandomPolicy(num_actions=3, batch_size=4, seed=[seed, 1])

    def regret_is_not_negative(trajectory):
        info = env.get_info()
        assert np.all(info["optimal_reward"] >= info["expected_reward"])

    StepDriver(env, policy, [metric, regret_is_not_negative], 10).run()
    assert np.all(metric.result().per_step.mean >= 0.0)
    assert np.all(np.diff(metric.result().cumulative.mean) >= 0.0)


def test_every_best_action_of_several_is_optimal():
    env = KArmedTestbed(3, batch_size=50, seed=0, value_std=0.0)
    optimal, regret = OptimalActionMetric(env), RegretMetric(env)
    policy = RandomPolicy(num_actions=3, batch_size=50, seed=1)
    StepDriver(env, policy, [optimal, regret], 5).run()
    np.testing.assert_array_equal(optimal.result().per_step.mean, np.full(5, 100.0))
    np.testing.assert_array_equal(regret.result().cumulative.mean, np.zeros(5))


class CountingTestbed(KArmedTestbed):
    """Counts how often somebody asks what is optimal."""

    asked = 0

    def _expected_rewards(self, state):
        self.asked += 1
        return super()._expected_rewards(state)


def test_a_run_without_metrics_does_not_pay_for_them():
    env = CountingTestbed(5, batch_size=3, seed=0)
    policy = UCBPolicy(2.0, num_actions=5, batch_size=3, seed=1)
    StepDriver(env, policy, [policy, AverageRewardMetric()], 20).run()
    assert env.asked == 0
    StepDriver(env, policy, [RegretMetric(env), OptimalActionMetric(env)], 20).run()
    assert env.asked == 1, "the means do not change, and both metrics share one look at them"


@pytest.mark.parametrize("metric_class", [RegretMetric, OptimalActionMetric])
def test_an_environment_that_has_been_reset_since_is_refused(metric_class):
    env = KArmedTestbed(3, batch_size=2, seed=0)
    before = env.reset()
    trajectory = Trajectory.from_transition(before, np.array([0, 1]), env.step([0, 1]))
    env.reset()
    with pytest.raises(ValueError, match="env has been reset"):
        metric_class(env)(trajectory)


def test_an_environment_of_unknown_values_is_said_to_be_one():
    class Unknown(KArmedTestbed):
        def _expected_rewards(self, state):
            raise NotImplementedError(f"{self.name} does not know its expected rewards")

    env = Unknown(3, batch_size=2, seed=0)
    driver = StepDriver(env, RandomPolicy(num_actions=3, batch_size=2), [RegretMetric(env)])
    with pytest.raises(NotImplementedError, match="k-armed testbed does not know"):
        driver.run()


@pytest.mark.parametrize("kind", [RegretMetric, OptimalActionMetric, SuffixFailureMetric])
def test_a_replayed_log_is_said_not_to_know_its_values(kind):
    log = BanditLog(np.ones((3, 1)), [0, 1, 1], [1.0, 0.0, 1.0], [0.5] * 3)
    env = ReplayEnvironment(log, seed=0)
    driver = StepDriver(env, RandomPolicy(num_actions=2, seed=1), [kind(env)])
    with pytest.raises(NotImplementedError, match="replay does not know its expected rewards"):
        driver.run()
