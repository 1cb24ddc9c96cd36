"""What learning to choose costs on the per-arm bandit, beside TF-Agents' own loop."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import lin_ucb_agent
from tf_agents.bandits.environments import stationary_stochastic_per_arm_py_environment as upstream
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment

from bandit_envs import (
    LinUCBPolicy,
    RegretMetric,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
)
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from tests.benchmarks.pairing import paired_ratio

B, K, G, P = 20, 70, 40, 50
THETA = np.ones(G + P, np.float32)


def ours():
    """Returns a function that chooses, steps, learns and measures the regret."""
    env = StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, LinearReward(THETA), batch_size=B, seed=0
    )
    policy = LinUCBPolicy(observation_spec=env.observation_spec(), batch_size=B, seed=1)
    return StepDriver(env, policy, [policy, RegretMetric(env)], num_steps=1).run


def theirs():
    """Returns a function that does the same with TF-Agents, driver and training compiled."""
    environment = tf_py_environment.TFPyEnvironment(
        upstream.StationaryStochasticPerArmPyEnvironment(
            lambda: np.random.normal(size=G).astype(np.float32),
            lambda: np.random.normal(size=P).astype(np.float32),
            K,
            lambda vector: np.random.normal(np.dot(vector, THETA), 1.0),
            batch_size=B,
        )
    )
    agent = lin_ucb_agent.LinearUCBAgent(
        environment.time_step_spec(), environment.action_spec(), accepts_per_arm_features=True
    )

    def optimal_reward(observation):
        items = tf.linalg.matvec(observation["per_arm"], THETA[G:])
        users = tf.linalg.matvec(observation["global"], THETA[:G])
        return users + tf.reduce_max(items, axis=1)

    buffer = bandit_replay_buffer.BanditReplayBuffer(
        agent.policy.trajectory_spec, batch_size=B, max_length=1
    )
    observers = [buffer.add_batch, tf_metrics.RegretMetric(optimal_reward)]
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, observers, num_steps=B
    )
    run, train = tf.function(driver.run), tf.function(agent.train)

    def drive_and_train():
        run()
        train(buffer.gather_all())
        buffer.clear()

    return drive_and_train


def test_the_whole_loop_of_lin_ucb_is_far_cheaper_than_that_of_tf_agents(expect):
    run = ours()

    def ten_steps():
        for _ in range(10):
            run()

    ratio = paired_ratio(ten_steps, theirs(), rounds=21, number=1).scaled(1 / 10)
    expect("LinUCB loop, K 70, G 40, P 50, batch 20 / TF-Agents' driver and agent", ratio, 1 / 100)
