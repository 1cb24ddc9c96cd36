"""What TF-Agents' tests assert of its TensorFlow environments, of ours in a `TFPyEnvironment`."""

import itertools

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.environments import tf_py_environment

from bandit_envs import BanditPyEnvironment, DriftingLinearBandit, PiecewiseLinearBandit, specs
from bandit_envs.adapters.tf_agents import as_tf_agents
from bandit_envs.sampling import Normal
from bandit_envs.wrappers import RandomActionMask

SIZES = [(5, 3, 1), (3, 5, 2)]
"""Features, actions, rows."""


def in_tensorflow(env):
    return tf_py_environment.TFPyEnvironment(as_tf_agents(env))


def run(env, steps, constants):
    """Takes steps after resets; returns what `constants()` is in each of them, and the rewards."""
    environment, found, rewards = in_tensorflow(env), [], []
    for _ in range(steps):
        environment.reset()
        found.append(constants())
        rewards.append(environment.step(tf.zeros([env.batch_size], tf.int32)).reward.numpy())
    return found, rewards


def drifting(dim, actions, batch_size, drift):
    return DriftingLinearBandit(
        Normal(dim), Normal(actions), drift, drift, 0.0, 1.0, batch_size, seed=0
    )


@pytest.mark.parametrize("size", SIZES)
def test_weights_without_drift_stay_and_the_additive_reward_varies(size):
    env = drifting(*size, 0.0)
    found, rewards = run(env, 10, lambda: (env.weights, env.expected_rewards()))
    np.testing.assert_array_equal([weights for weights, _ in found], [env.weights] * 10)
    additive = [reward - means[:, 0] for reward, (_, means) in zip(rewards, found)]
    assert (np.diff(additive, axis=0) != 0.0).all()


@pytest.mark.parametrize("size", SIZES)
def test_weights_drift_and_keep_their_norm(size):
    env = drifting(*size, 1.0)
    found, _ = run(env, 10, lambda: env.weights)
    norms = np.linalg.norm(found, axis=(1, 2))
    np.testing.assert_allclose(norms, norms[0], rtol=1e-12)
    assert all((weights != later).any() for weights, later in itertools.pairwise(found))


@pytest.mark.parametrize("size", SIZES)
def test_weights_and_additive_rewards_change_with_the_piece_only(size):
    dim, actions, batch_size = size
    interval = 4 // batch_size  # TF-Agents counts samples
    env = PiecewiseLinearBandit(
        Normal(dim), interval, Normal(actions), Normal(actions), batch_size, seed=0
    )

    def constants():
        context = env.current_time_step().observation
        return np.vstack([env.weights, (env.expected_rewards() - context @ env.weights)[:1]])

    found, _ = run(env, 10, constants)
    for step in range(1, 10):
        if step % interval:
            np.testing.assert_allclose(found[step], found[step - 1], atol=1e-6)
        else:
            assert not np.isclose(found[step], found[step - 1]).any()


@pytest.mark.parametrize("size", [(5, 3, 1), (7, 5, 32)])
def test_the_action_spec_ends_with_the_last_action(size):
    dim, actions, batch_size = size
    env = PiecewiseLinearBandit(Normal(dim), 3, Normal(actions), Normal(actions), batch_size)
    assert in_tensorflow(env).action_spec().maximum == actions - 1


class Counting(BanditPyEnvironment):
    """Observations grow with time, in samples, and rewards are their entries less the time."""

    def __init__(self):
        super().__init__(specs.ArraySpec((3,), np.float32), 5, batch_size=2)

    def _initial_state(self, rng):
        return 0

    def _next_episode(self, rng, state):
        return state

    def _next_state(self, rng, state, action):
        return state + self.batch_size

    def _observe(self, state):
        return np.array([[1, 2, 3], [0, 4, 5]], np.float32) + np.float32(state)

    def _expected_rewards(self, state):
        return np.hstack([self._observe(state), np.zeros((2, 2), np.float32)]) - np.float32(state)

    def _draw_rewards(self, rng, state, action):
        return self._of_action(self._expected_rewards(state), action)


def test_the_dynamics_of_a_users_own_environment_go_on_through_resets():
    env = Counting()
    found, rewards = run(env, 10, lambda: env.current_time_step().observation)
    times = np.arange(0, 20, 2)[:, np.newaxis, np.newaxis]
    np.testing.assert_array_equal(found, np.array([[1, 2, 3], [0, 4, 5]]) + times)
    np.testing.assert_array_equal(rewards, [[1, 0]] * 10)


@pytest.mark.parametrize(("batch_size", "num_actions"), [(7, 4), (10, 3)])
def test_random_masks_have_an_action_and_refuse_the_others(batch_size, num_actions):
    env = DriftingLinearBandit(Normal(2), Normal(num_actions), batch_size=batch_size, seed=0)
    for probability in (0.5, 0.0):
        environment = in_tensorflow(RandomActionMask(env, probability))
        observation = environment.reset().observation
        mask = observation["mask"].numpy()
        assert observation["observation"].shape == (batch_size, 2)
        assert mask.shape == (batch_size, num_actions)
        assert mask.any(axis=1).all()
        assert environment.step(tf.constant(mask.argmax(axis=1))).reward.shape == (batch_size,)
    assert (mask.sum(axis=1) == 1).all()
    unavailable = environment.current_time_step().observation["mask"].numpy().argmin(axis=1)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="available"):
        environment.step(tf.constant(unavailable))
