"""The law of the continuous bandit."""

import numpy as np
import pytest

from bandit_envs import RegretMetric, StepDriver
from bandit_envs.environments import ContinuousBandit
from bandit_envs.policies import RandomNumberPolicy
from bandit_envs.testing import EnvironmentContract
from tests.cases import for_each
from tests.contracts import one_test

B = 5000


def test_rewards_fall_with_the_squared_distance_to_the_optimum_of_the_context():
    env = ContinuousBandit([1.5, 1.0, -0.5], 1.0, 3.0, noise_std=0.2, batch_size=B, seed=0)
    context = env.reset().observation
    optimum = np.clip(1.5 + context @ [1.0, -0.5], 1.0, 3.0)
    np.testing.assert_allclose(env.optimal_action(), optimum, rtol=1e-6)
    np.testing.assert_array_equal(env.optimal_reward(), np.ones(B))
    action = np.linspace(1.0, 3.0, B).astype(np.float32)
    error = env.step(action).reward - (1.0 - ((action - optimum) / 2.0) ** 2)
    assert abs(error.mean()) < 4 * 0.2 / np.sqrt(B)
    assert abs(error.std() - 0.2) < 4 * 0.2 / np.sqrt(2 * B)


def test_the_optimal_action_has_no_regret_and_others_have_exactly_theirs():
    env = ContinuousBandit(batch_size=2, seed=0)
    env.reset()
    best = env.optimal_action()
    other = np.where(best > 0.5, best - 0.5, best + 0.5).astype(np.float32)
    env.step(best)
    info = env.get_info()
    assert (info["optimal_reward"] - info["expected_reward"]).tolist() == [0.0, 0.0]
    env = ContinuousBandit(batch_size=2, seed=0)
    env.reset()
    env.step(other)
    info = env.get_info()
    np.testing.assert_allclose(info["optimal_reward"] - info["expected_reward"], 0.25, rtol=1e-6)


def test_regret_is_measured_in_a_run():
    env = ContinuousBandit(batch_size=100, seed=0)
    policy = RandomNumberPolicy(action_spec=env.action_spec(), batch_size=100, seed=1)
    metric = RegretMetric(env)
    StepDriver(env, policy, [metric], 100).run()
    optimum = np.clip(
        0.5 + np.random.default_rng(0).standard_normal((10**5, 2)) @ [0.2, -0.1], 0, 1
    )
    expected = np.mean(1 / 3 - optimum + optimum**2)  # the mean of (a - t)^2 over a in [0, 1]
    assert metric.result().mean.mean == pytest.approx(expected, abs=0.01)


@one_test
class TestOfAnotherInterval(EnvironmentContract):
    num_rewards = 400

    def make_environment(self, seed):
        return ContinuousBandit([0.1, 0.3], -0.1, 0.3, batch_size=3, seed=seed, horizon=3)


def test_evenly_spaced_actions_are_shown():
    env = ContinuousBandit([0.25, 0.0], noise_std=0.0, seed=0)
    env.reset()
    env.step([1.0])
    arms = env._rendered_arms(0)
    assert (arms.title, arms.reward_std) == ("ContinuousBandit, 21 actions from 0 to 1", None)
    assert (arms.optimal, arms.action) == ([5], [20])
    np.testing.assert_allclose(arms.values[[5, 20]], [1.0, 1.0 - 0.75**2])


@for_each(
    ("arguments", "match"),
    [
        ({"coefficients": [0.5]}, "coefficients has 1 numbers; expected at least 2"),
        ({"low": 1.0}, "high is 1.0; expected more than low"),
        ({"noise_std": -1.0}, "noise_std"),
    ],
)
def test_bad_arguments_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        ContinuousBandit(**arguments)
