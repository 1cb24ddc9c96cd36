import pickle
import tracemalloc

import numpy as np
import pytest

from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import BatchFunction, Catalog, Integers, Normal, Uniform
from tests.cases import for_each
from tests.environments.per_arm import THETA, B, G, K, P, make, means


def test_the_observation_is_of_users_items_and_numbers_of_actions():
    observation = make(num_actions=Integers(1, 1, K + 1)).reset().observation
    shapes = {key: array.shape for key, array in observation.items()}
    assert shapes == {"global": (B, G), "per_arm": (B, K, P), "num_actions": (B,)}
    assert observation["num_actions"].dtype == np.int32
    assert make().reset().observation.keys() == {"global", "per_arm"}


def test_every_step_has_new_users_and_items():
    env = make()
    seen = [env.reset(), env.step([0] * B), env.step([0] * B), env.reset()]
    for key in ("global", "per_arm"):
        values = [float(time_step.observation[key].flat[0]) for time_step in seen]
        assert len(set(values)) == len(values)


def test_the_reward_is_for_the_arm_that_was_shown():
    env = make()
    time_step = env.reset()
    for _ in range(3):
        action = np.array([0, K - 1, 2, 1])
        expected = means(time_step.observation)[np.arange(B), action]
        time_step = env.step(action)
        np.testing.assert_allclose(time_step.reward, expected, rtol=1e-4, atol=1e-5)
        assert time_step.reward.dtype == np.float32


def test_expected_rewards_and_optima_are_those_of_the_current_observation():
    env = make()
    expected = means(env.reset().observation)
    np.testing.assert_allclose(env.expected_rewards(), expected, atol=1e-5)
    np.testing.assert_array_equal(env.optimal_action(), expected.argmax(axis=1))
    np.testing.assert_allclose(env.optimal_reward(), expected.max(axis=1), atol=1e-5)


def test_an_arm_that_is_not_available_has_minus_infinity():
    env = make(num_actions=Integers(1, 1, K + 1), batch_size=200)
    observation = env.reset().observation
    available = np.arange(K) < observation["num_actions"][:, np.newaxis]
    assert not available.all()
    expected = np.where(available, means(observation), -np.inf)
    np.testing.assert_allclose(env.expected_rewards(), expected, rtol=1e-4, atol=1e-5)
    assert (env.optimal_action() < observation["num_actions"]).all()
    assert np.isfinite(env.optimal_reward()).all()


def test_an_arm_that_is_not_available_is_refused_and_nothing_changes():
    env = make(num_actions=BatchFunction(lambda rng, size: np.full((*size, 1), 3), 1, np.int32))
    env.reset()
    before = pickle.dumps(env.get_state())
    with pytest.raises(ValueError, match=r"action\[2\] is 3"):
        env.step([0, 2, 3, 4])
    assert pickle.dumps(env.get_state()) == before
    env.step([0, 2, 2, 1])


def test_the_noise_does_not_change_the_contexts():
    envs = [make(reward=LinearReward(THETA, noise_std)) for noise_std in (0.0, 5.0)]
    steps = [(env.reset(), env.step([0] * B))[1].observation["per_arm"] for env in envs]
    np.testing.assert_array_equal(*steps)


def test_the_reward_spec_is_that_of_the_reward_model():
    assert make().reward_range == (-np.inf, np.inf)
    assert make(reward=LogisticReward(THETA)).reward_range == (0.0, 1.0)
    assert make(reward=sum).reward_spec().dtype == np.float32


@for_each("rows", [1, 3, B])
def test_expected_rewards_for_any_observation(rows):
    env = make(num_actions=Integers(1, 1, K + 1))
    other = make(num_actions=Integers(1, 1, K + 1), batch_size=rows, seed=9)
    observation = other.reset().observation
    np.testing.assert_allclose(env.expected_rewards_for(observation), other.expected_rewards())


def peak_of_a_step(env, action):
    env.reset()
    env.step(action)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    time_step = env.step(action)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak / sum(array.nbytes for array in time_step.observation.values())


@for_each(
    "items",
    [
        Normal(50),
        Uniform(50, -1.0, 1.0),
        Integers(50, -2, 3),
        Catalog(np.ones((1000, 50), np.float32)),
        BatchFunction(lambda rng, size: rng.standard_normal((*size, 50), np.float32), 50),
    ],
)
def test_a_step_takes_at_most_twice_the_memory_of_its_observation(items):
    reward = LinearReward(np.ones(90))
    env = make(users=Normal(40), items=items, num_arms=70, reward=reward, batch_size=100)
    assert peak_of_a_step(env, np.zeros(100, np.int32)) < 2.0
