"""A program of TF-Agents that trains an agent, and goes on from its last checkpoint.

Each iteration prints its number, and a digest of all that the agent has seen and learned. The
folder has a checkpoint after every third iteration.
"""

import hashlib
import sys

import tensorflow as tf
from tf_agents.bandits.agents import neural_epsilon_greedy_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.networks import q_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.tf_agents import TrackableDraws, TrackableEnvironment, as_tf_agents
from bandit_envs.wrappers import OneProblem, RandomActionMask

BATCH_SIZE = 4
ITERATIONS_PER_CHECKPOINT = 3


def make_environment(seed):
    """Returns users of one problem, whose hidden values drift."""
    testbed = KArmedTestbed(k=5, batch_size=BATCH_SIZE, drift_std=0.1, seed=seed)
    bandit = RandomActionMask(OneProblem(testbed), 0.8)
    return tf_py_environment.TFPyEnvironment(as_tf_agents(bandit))


def split(seen):
    return seen["observation"], seen["mask"]


def make_agent(environment):
    """Returns an agent that draws, and whose optimizer makes variables when it trains first."""
    action_spec = environment.action_spec()
    observed = environment.observation_spec()["observation"]
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        environment.time_step_spec(),
        action_spec,
        reward_network=q_network.QNetwork(observed, action_spec, fc_layer_params=(8,)),
        optimizer=tf.keras.optimizers.Adam(0.05),
        epsilon=0.3,
        observation_and_action_constraint_splitter=split,
    )


def digest_of(*nests):
    """Returns a digest of tensors and variables."""
    digest = hashlib.sha256()
    for leaf in tf.nest.flatten(nests):
        digest.update(leaf.numpy().tobytes())
    return digest.hexdigest()


class Training:
    """An agent in its environment, with all that its checkpoint holds."""

    def __init__(self, seed):
        environment = make_environment(seed)
        self._agent = make_agent(environment)
        self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
            self._agent.policy.trajectory_spec, BATCH_SIZE, max_length=20
        )
        self._steps = tf_metrics.EnvironmentSteps()
        self._draws = TrackableDraws(seed)
        driver = dynamic_step_driver.DynamicStepDriver(
            environment,
            self._agent.collect_policy,
            [self._buffer.add_batch, self._steps],
            num_steps=BATCH_SIZE,
        )
        self._drive = self._draws.compile(common.function(driver.run))
        self._learn = self._draws.compile(common.function(self._agent.train))
        self.checkpoint = tf.train.Checkpoint(
            agent=self._agent,
            environment=TrackableEnvironment(environment),
            draws=self._draws,
            buffer=self._buffer,
            steps=self._steps,
        )

    def iterate(self):
        """Takes a step and learns; returns a digest of all that was seen and learned."""
        self._drive()
        seen = self._buffer.gather_all()
        self._learn(seen)
        return digest_of(seen, self._agent.variables, self._draws.state, self._steps.result())


def train(folder, num_iterations, seed):
    """Trains until so many iterations are done, by this call and those before it.

    Yields the number of each iteration, and a digest of all that was seen and learned until then.
    """
    tf.random.set_seed(seed)
    training = Training(seed)
    iteration = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(iteration=iteration, training=training.checkpoint)
    manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
    manager.restore_or_initialize()
    while iteration < num_iterations:
        digest = training.iterate()
        iteration.assign_add(1)
        yield int(iteration), digest
        if int(iteration) % ITERATIONS_PER_CHECKPOINT == 0:
            manager.save()


if __name__ == "__main__":
    folder, num_iterations, seed = sys.argv[1:]
    for number, digest in train(folder, int(num_iterations), int(seed)):
        print(number, digest)
