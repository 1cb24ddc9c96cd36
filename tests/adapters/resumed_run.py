"""A run of TF-Agents that can be saved."""

import tensorflow as tf
from tf_agents.bandits.agents import lin_ucb_agent, neural_epsilon_greedy_agent
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal

BATCH_SIZE = 4
SEED = 5
"""Of TensorFlow's random numbers in a loop that is not compiled."""


def make_lin_ucb(environment):
    return lin_ucb_agent.LinearUCBAgent(
        environment.time_step_spec(), environment.action_spec(), accepts_per_arm_features=True
    )


def make_neural(environment):
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        environment.observation_spec(), (8,), (8,), (8,)
    )
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        environment.time_step_spec(),
        environment.action_spec(),
        reward_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        epsilon=0.5,
        accepts_per_arm_features=True,
    )


AGENTS = {"LinUCB": make_lin_ucb, "neural": make_neural}


class Run:
    """An environment, an agent, and the loop that trains it.

    Args:
        agent: a name of `AGENTS`.
        in_graph: whether the driver and the agent are compiled, with draws that are saved.
        env_seed: of the environment.
    """

    def __init__(self, agent, in_graph, env_seed):
        tf.random.set_seed(env_seed)
        env = adapter.StationaryStochasticPerArmPyEnvironment(
            Normal(3),
            Normal(2),
            max_num_actions=5,
            reward_fn=LinearReward([1.0, -1.0, 2.0, 3.0, -2.0], noise_std=1.0),
            batch_size=BATCH_SIZE,
            seed=env_seed,
        )
        environment = tf_py_environment.TFPyEnvironment(env)
        self.environment = environment
        self.agent = AGENTS[agent](environment)
        self.regret = tf_metrics.RegretMetric(adapter.optimal_reward_fn(environment))
        self.buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
            self.agent.policy.trajectory_spec, BATCH_SIZE, max_length=1
        )
        driver = dynamic_step_driver.DynamicStepDriver(
            environment,
            self.agent.collect_policy,
            [self.buffer.add_batch, self.regret],
            num_steps=BATCH_SIZE,
        )
        self.in_graph = in_graph
        draws = adapter.TrackableDraws(env_seed)
        self.drive = driver.run
        self.train = self.agent.train
        if in_graph:
            self.drive = draws.compile(common.function(driver.run))
            self.train = draws.compile(common.function(self.agent.train))
        self.iteration = tf.Variable(0)
        self.checkpoint = tf.train.Checkpoint(
            agent=self.agent,
            environment=adapter.TrackableEnvironment(environment),
            iteration=self.iteration,
            draws=draws,
        )

    def regrets(self, num_iterations):
        """Trains; returns the regret of each iteration."""
        found = []
        for _ in range(num_iterations):
            if not self.in_graph:
                tf.random.set_seed(SEED + int(self.iteration))
            self.drive()
            self.train(self.buffer.gather_all())
            self.buffer.clear()
            self.iteration.assign_add(1)
            found.append(float(self.regret.result()))
        return found
