"""What runs where TensorFlow has one thread: each case prints its name when it has ended."""

import sys

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.agents.neural_epsilon_greedy_agent import NeuralEpsilonGreedyAgent
from tf_agents.bandits.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
)
from tf_agents.drivers.dynamic_step_driver import DynamicStepDriver
from tf_agents.environments.tf_py_environment import TFPyEnvironment
from tf_agents.networks.q_network import QNetwork
from tf_agents.specs import tensor_spec
from tf_agents.utils import common

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.adapters.tf_agents import (
    as_policy,
    as_tf_agents,
    as_tf_policy,
    log_observer,
    policy_observer,
)
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder
from bandit_envs.policies import RandomPolicy

tfd = tfp.distributions


def made():
    """Returns a bandit, adapted, with an agent for it."""
    bandit = logistic_context(3, 4, batch_size=2, seed=0)
    env = TFPyEnvironment(as_tf_agents(bandit))
    network = QNetwork(env.observation_spec(), env.action_spec(), fc_layer_params=(4,))
    optimizer = tf.compat.v1.train.AdamOptimizer()
    agent = NeuralEpsilonGreedyAgent(
        env.time_step_spec(), env.action_spec(), network, optimizer, epsilon=0.5
    )
    return bandit, env, agent


def run(env, policy, observers=()):
    common.function(DynamicStepDriver(env, policy, observers, num_steps=8).run)()


def log():
    bandit, env, agent = made()
    recorder = LogRecorder(3, bandit)
    run(env, agent.collect_policy, [log_observer(recorder, agent.collect_policy)])
    assert set(np.round(recorder.log().propensity, 6)) <= {0.666667, 0.166667}


def refused(function):
    with pytest.raises(tf.errors.OpError, match="TensorFlow has one thread"):
        function()


def choice():
    _, env, agent = made()
    policy = as_policy(agent, batch_size=2, seed=0)
    chooses = as_tf_policy(policy, env.time_step_spec(), env.action_spec())
    refused(lambda: run(env, chooses))


def learning():
    _, env, agent = made()
    policy = as_policy(agent, batch_size=2, seed=0)
    other = RandomPolicy(num_actions=policy.num_actions, batch_size=2, seed=0)
    chooses = as_tf_policy(other, env.time_step_spec(), env.action_spec())
    refused(lambda: run(env, chooses, [policy_observer(policy)]))


class Compiled(EnvironmentDynamics):
    """A user's dynamics, which are compiled."""

    batch_size = 2
    observation_spec = tensor_spec.TensorSpec([3], tf.float32)
    action_spec = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 3)

    @tf.function
    def observation(self, env_time):
        return tf.ones([2, 3]) * tf.cast(env_time, tf.float32)

    @tf.function
    def reward(self, observation, env_time):
        return observation[:, :1] * tf.ones([1, 4])


def dynamics():
    env = adapter.NonStationaryStochasticEnvironment(Compiled())
    step = tf.function(env.step)
    for _ in range(4):
        found = step(tf.zeros([2], tf.int32))
    assert found.reward.numpy().tolist() == [4.0, 4.0]


def drifting(law):
    env = adapter.DriftingLinearEnvironment(law(2, 3), law(3, 4), law(), law(4))
    step = tf.function(env.step)
    for _ in range(3):
        step(tf.zeros([2], tf.int32))


def draws():
    drifting(lambda *shape: tfd.Gumbel(tf.zeros(shape), tf.ones(shape)))


def draws_by_what_is_compiled():
    refused(
        lambda: drifting(
            lambda *shape: tfd.StudentT(5.0 * tf.ones(shape), tf.zeros(shape), tf.ones(shape))
        )
    )


for case in sys.argv[1:]:
    globals()[case]()  # a case is the name of a function
    assert not tf.config.functions_run_eagerly()
    print(case, flush=True)
