"""Baselines for TF-Agents' metrics of regret."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.environments import tf_py_environment

from bandit_envs.adapters.tf_agents import as_tf_agents, optimal_action_fn, optimal_reward_fn
from bandit_envs.sampling import Integers
from bandit_envs.wrappers import AffineReward
from tests.adapters.tf_agents_examples import B, K, k_armed, per_arm, twice_wrapped


@pytest.mark.parametrize("adapt", [as_tf_agents, lambda env: env], ids=["adapted", "as it is"])
@pytest.mark.parametrize("num_actions", [None, Integers(1, 1, K + 1)])
def test_baselines_of_a_per_arm_environment_are_functions_of_the_observation(adapt, num_actions):
    env = adapt(per_arm(num_actions))
    optimal_reward, optimal_action = optimal_reward_fn(env), optimal_action_fn(env)
    other = per_arm(num_actions, batch_size=7, seed=1)
    observation = tf.nest.map_structure(tf.constant, other.reset().observation)
    for function in (lambda fn: fn, tf.function):
        rewards, actions = (function(fn)(observation) for fn in (optimal_reward, optimal_action))
        np.testing.assert_allclose(rewards, other.optimal_reward(), rtol=1e-6)
        np.testing.assert_array_equal(actions, other.optimal_action())
        assert (rewards.dtype, actions.dtype) == (tf.float32, tf.int32)


@pytest.mark.parametrize("make", [k_armed, lambda: AffineReward(k_armed(), scale=3.0)])
def test_baselines_of_any_other_bandit_are_what_is_optimal_now(make):
    env = make()
    optimal_reward, optimal_action = optimal_reward_fn(env), optimal_action_fn(env)
    for time_step in (env.reset(), env.step([0] * B), env.step([1] * B), env.reset()):
        observation = tf.constant(time_step.observation)
        np.testing.assert_array_equal(optimal_reward(observation), env.optimal_reward())
        np.testing.assert_array_equal(optimal_action(observation), env.optimal_action())


@pytest.mark.parametrize("make", [lambda: k_armed(drift_std=1.0), lambda: twice_wrapped(per_arm())])
def test_a_baseline_that_changes_and_cannot_be_told_is_refused(make):
    env = make()
    optimal_reward = optimal_reward_fn(env)
    env.reset()
    observation = tf.nest.map_structure(tf.constant, env.step([0] * B).observation)
    with pytest.raises(Exception, match=r"the optimal_reward of .* changes from step to step"):
        optimal_reward(observation)


@pytest.mark.parametrize("baseline", [optimal_reward_fn, optimal_action_fn])
def test_a_baseline_of_what_has_none_is_refused(baseline):
    with pytest.raises(NotImplementedError, match="such as LinearReward"):
        baseline(per_arm(reward=lambda vector: vector.sum()))
    with pytest.raises(ValueError, match="k_armed_testbed has a horizon"):
        baseline(k_armed(horizon=3))
    with pytest.raises(TypeError, match="expected an environment of bandit_envs, or one adapted"):
        baseline(tf_py_environment.TFPyEnvironment(as_tf_agents(k_armed())))
