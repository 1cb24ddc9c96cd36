"""What a training loop of TF-Agents costs, with our environment and with its own."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import neural_epsilon_greedy_agent
from tf_agents.bandits.environments import stationary_stochastic_per_arm_py_environment as upstream
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment

from bandit_envs.adapters.tf_agents import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from tests.benchmarks.pairing import paired_ratio

B, K, G, P = 20, 70, 40, 50
THETA = np.ones(G + P)


def with_ours():
    return StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, LinearReward(THETA), batch_size=B, seed=0
    )


def with_theirs():
    return upstream.StationaryStochasticPerArmPyEnvironment(
        lambda: np.random.normal(size=G).astype(np.float32),
        lambda: np.random.normal(size=P).astype(np.float32),
        K,
        lambda vector: np.random.normal(np.dot(vector, THETA), 1.0),
        batch_size=B,
    )


def loop(env):
    """Returns a function that drives a step and trains on it, compiled."""
    environment = tf_py_environment.TFPyEnvironment(env)
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        environment.observation_spec(), (40, 30), (30, 40), (40, 20)
    )
    agent = neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        environment.time_step_spec(),
        environment.action_spec(),
        reward_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate=0.05),
        epsilon=0.05,
        accepts_per_arm_features=True,
    )
    buffer = bandit_replay_buffer.BanditReplayBuffer(
        agent.policy.trajectory_spec, batch_size=B, max_length=1
    )
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [buffer.add_batch], num_steps=B
    )
    run, train = tf.function(driver.run), tf.function(agent.train)

    def drive_and_train():
        run()
        train(buffer.gather_all())
        buffer.clear()

    return drive_and_train


def test_the_loop_of_neural_epsilon_greedy(expect):
    ratio = paired_ratio(loop(with_ours()), loop(with_theirs()), rounds=100, number=2)
    expect("neural epsilon-greedy loop, ours / TF-Agents' environment", ratio, float("inf"))
