import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import KArmedTestbed
from bandit_envs.testing import assert_identical
from tests.cases import for_each
from tests.statistical import is_near, is_near_std


@given(st.integers(1, 30), st.integers(0, 2**64), st.lists(st.integers(0, 2**32), max_size=8))
def test_a_float64_batch_of_one_draws_exactly_what_is_promised(k, seed, actions):
    env = KArmedTestbed(k, batch_size=1, seed=seed, dtype=np.float64)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        env.reset()
        means = rng.normal(size=k)
        assert_identical(env.expected_rewards(), means[np.newaxis])
        for action in actions:
            reward = env.step(action % k).reward
            assert_identical(reward, np.array([means[action % k] + rng.normal()]))


def test_the_numbers_are_those_of_other_testbeds_with_the_seed_42():
    env = KArmedTestbed(seed=42, dtype=np.float64)
    env.reset()
    assert env.expected_rewards()[0, :5].tolist() == [
        0.30471707975443135,
        -1.0399841062404955,
        0.7504511958064572,
        0.9405647163912139,
        -1.9510351886538364,
    ]
    assert env.optimal_action() == [3]
    assert env.step(0).reward == [1.1841150546172599]


@given(st.integers(1, 8), st.integers(1, 6), st.sampled_from([np.float32, np.float64]))
def test_batches_draw_row_by_row_in_their_dtype(k, batch_size, dtype):
    env = KArmedTestbed(k, batch_size=batch_size, seed=5, dtype=dtype)
    rng = np.random.default_rng(5)
    env.reset()
    means = rng.standard_normal((batch_size, k), dtype)
    assert_identical(env.expected_rewards(), means)
    action = np.arange(batch_size) % k
    expected = means[np.arange(batch_size), action] + rng.standard_normal(batch_size, dtype)
    assert_identical(env.step(action).reward, expected)
    assert_identical(env.expected_rewards(), means)


def is_normal(values, mean, std):
    return is_near(values.ravel(), mean, std) and is_near_std(values.ravel(), std)


@for_each(("mean", "std"), [(0.0, 1.0), (3.0, 0.5)])
def test_arm_values_are_normal(mean, std):
    env = KArmedTestbed(batch_size=2000, value_mean=mean, value_std=std, seed=0)
    env.reset()
    assert is_normal(env.expected_rewards(), mean, std)


@for_each("std", [1.0, 2.5])
def test_rewards_are_normal_about_their_arms_values(std):
    env = KArmedTestbed(batch_size=20_000, reward_std=std, seed=0)
    env.reset()
    actions = np.arange(20_000) % 10
    noise = env.step(actions).reward - env.expected_rewards()[np.arange(20_000), actions]
    assert is_normal(noise, 0.0, std)


def test_arm_values_walk_at_random_after_every_step():
    env = KArmedTestbed(batch_size=2000, drift_std=0.1, dtype=np.float64, seed=0)
    env.reset()
    before = env.expected_rewards()
    env.step(np.zeros(2000, np.int32))
    assert is_normal(env.expected_rewards() - before, 0.0, 0.1)
    for _ in range(24):
        env.step(np.zeros(2000, np.int32))
    assert is_normal(env.expected_rewards() - before, 0.0, 0.5)


def test_the_step_of_a_walk_follows_the_reward():
    env = KArmedTestbed(3, drift_std=0.1, dtype=np.float64, seed=0)
    rng = np.random.default_rng(0)
    means = rng.normal(size=3)
    env.reset()
    assert_identical(env.step(1).reward, np.array([means[1] + rng.normal()]))
    assert_identical(env.expected_rewards()[0], rng.standard_normal(3) * 0.1 + means)


def test_a_reset_draws_new_arm_values_and_keeps_the_constants():
    env = KArmedTestbed(3, value_mean=100.0, seed=0)
    env.reset()
    before = env.expected_rewards()
    env.reset()
    assert not np.any(env.expected_rewards() == before)
    assert np.all(env.expected_rewards() > 90)


def test_without_deviations_all_is_known():
    env = KArmedTestbed(3, batch_size=2, value_mean=1.5, value_std=0.0, reward_std=0.0, seed=0)
    env.reset()
    assert_identical(env.step([0, 2]).reward, np.array([1.5, 1.5], np.float32))
    assert env.optimal_action().tolist() == [0, 0]


@given(st.integers(1, 5), st.integers(0, 3))
def test_the_observation_tells_nothing(batch_size, num_steps):
    env = KArmedTestbed(batch_size=batch_size, seed=0)
    time_step = env.reset()
    for _ in range(num_steps):
        time_step = env.step([3] * batch_size)
    assert_identical(time_step.observation, np.ones((batch_size, 1), np.float32))


def test_the_defaults_are_those_of_the_book():
    env = KArmedTestbed()
    assert (env.num_actions, env.batch_size, env.horizon) == (10, 1, None)
    assert env.name == "k-armed testbed"
    assert env.reset().reward.dtype == np.float32
    assert KArmedTestbed(name="mine").name == "mine"
