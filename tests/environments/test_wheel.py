"""The wheel: its law, its optimum, and what it refuses."""

import numpy as np
import pytest

from bandit_envs import WheelPyEnvironment
from bandit_envs.environments.contexts.wheel import (
    compute_optimal_action,
    compute_optimal_reward,
    wheel,
)
from tests.statistical import is_near, is_near_std

B = 200_000


def started(**parameters):
    env = wheel(batch_size=B, seed=0, **parameters)
    env.reset()
    return env


def test_contexts_are_uniform_in_the_unit_disc():
    x, y = started().current_time_step().observation.astype(np.float64).T
    assert (x * x + y * y).max() < 1 + 1e-6
    squares = np.sort(x * x + y * y)  # uniform from 0 to 1, and so is the angle
    turns = np.sort(np.arctan2(y, x) / (2 * np.pi) + 0.5)
    grid = (np.arange(B) + 0.5) / B
    for values in (squares, turns):
        assert np.abs(values - grid).max() < 2.2 / np.sqrt(B)  # Kolmogorov, p about 1e-4
    assert is_near(x * y, 0.0)


@pytest.mark.parametrize("delta", [0.5, 0.8, 0.99])
def test_the_optimum_and_a_uniform_policy_earn_what_the_formula_says(delta):
    env = started(delta=delta)
    inside = delta**2
    outside = 1 - inside
    assert is_near(env.optimal_reward(), 1.2 * inside + 50 * outside)
    uniform = inside * (1.2 + 4) / 5 + outside * (1.2 + 3 + 50) / 5
    assert is_near(env.expected_rewards().mean(axis=1), uniform)
    assert is_near(env.step(np.arange(B) % 5).reward, uniform)


def test_at_delta_one_half_the_optimum_is_37_8_and_a_uniform_policy_earns_8_39():
    env = started(delta=0.5)
    assert is_near(env.optimal_reward(), 37.8)
    assert is_near(env.expected_rewards().mean(axis=1), 8.39)


def test_rewards_have_the_means_and_deviations_of_their_region():
    means = [5.0, 1.0, 2.0, 3.0, 4.0]
    stds = [0.1, 0.2, 0.3, 0.4, 0.5]
    env = started(mu_base=means, std_base=stds, mu_high=9.0, std_high=0.7)
    best = env.expected_rewards().argmax(axis=1)
    action = np.arange(B) % 5
    reward = env.step(action).reward.astype(np.float64)
    for a in range(5):
        for region in range(5):
            chosen = reward[(action == a) & (best == region)]
            high = a == region > 0
            mean, std = (9.0, 0.7) if high else (means[a], stds[a])
            assert is_near(chosen, mean, std)
            assert is_near_std(chosen, std)


def test_quadrants_belong_to_actions_and_the_circle_to_action_0():
    observation = [[0.1, 0.2], [0.3, -0.7], [-0.3, -0.7], [0.3, 0.7], [-0.7, 0.3], [0.1, 0.3]]
    action = compute_optimal_action(np.array(observation), 0.5)
    assert action.tolist() == [0, 2, 4, 1, 3, 0]
    assert action.dtype == np.int32
    reward = compute_optimal_reward(np.array(observation), 0.5, 1.5, 3.0)
    assert reward.tolist() == [1.5, 3.0, 3.0, 3.0, 3.0, 1.5]


def test_a_context_on_an_axis_or_on_the_circle_belongs_to_one_region():
    axes = np.array([[0.7, 0.0], [0.0, 0.7], [-0.7, -0.0], [-0.0, -0.7], [0.0, 0.0]], np.float32)
    assert compute_optimal_action(axes, 0.5).tolist() == [1, 1, 3, 2, 0]
    assert compute_optimal_action([[0.3, 0.4]], 0.5).tolist() == [0]
    means = wheel().expected_rewards_for(axes)
    assert means.argmax(axis=1).tolist() == [1, 1, 3, 2, 0]


def test_the_observation_determines_the_means():
    env = started()
    observation = env.current_time_step().observation
    np.testing.assert_array_equal(env.expected_rewards_for(observation), env.expected_rewards())
    np.testing.assert_array_equal(env.optimal_action(), compute_optimal_action(observation, 0.5))
    np.testing.assert_array_equal(
        env.optimal_reward(), compute_optimal_reward(observation, 0.5, 1.2, 50.0)
    )


def test_parameters_may_be_given_in_the_order_of_tf_agents():
    env = WheelPyEnvironment(0.5, [1.2, 1, 1, 1, 1], 0.01 * np.ones(5), 50.0, 0.01, None, "mine")
    assert (env.batch_size, env.name) == (1, "mine")
