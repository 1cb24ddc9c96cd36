"""A program of TF-Agents that trains, and goes on from its last checkpoint when started again.

Each iteration prints its number, and a digest of all that the agent has seen and learned. The
folder has a checkpoint after every third iteration.
"""

import hashlib
import sys

import tensorflow as tf
from tf_agents.bandits.agents import linear_thompson_sampling_agent, neural_epsilon_greedy_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.networks import q_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer

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


def make_thompson(environment):
    return linear_thompson_sampling_agent.LinearThompsonSamplingAgent(
        environment.time_step_spec(),
        environment.action_spec(),
        observation_and_action_constraint_splitter=split,
    )


def make_neural(environment):
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


AGENTS = {"Thompson sampling": make_thompson, "neural": make_neural}


def digest_of(*nests):
    """Returns a digest of tensors and variables."""
    digest = hashlib.sha256()
    for leaf in tf.nest.flatten(nests):
        digest.update(leaf.numpy().tobytes())
    return digest.hexdigest()


def train(folder, agent, num_iterations, seed):
    """Trains until so many iterations are done, by this process and those before it."""
    tf.random.set_seed(seed)
    environment = make_environment(seed)
    agent = AGENTS[agent](environment)
    buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.policy.trajectory_spec, BATCH_SIZE, max_length=20
    )
    steps = tf_metrics.EnvironmentSteps()
    draws = TrackableDraws(seed)
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [buffer.add_batch, steps], num_steps=BATCH_SIZE
    )
    drive = draws.compile(driver.run)
    learn = draws.compile(agent.train)
    iteration = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(
        agent=agent,
        environment=TrackableEnvironment(environment),
        draws=draws,
        buffer=buffer,
        steps=steps,
        iteration=iteration,
    )
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()
    while iteration < num_iterations:
        drive()
        seen = buffer.gather_all()
        learn(seen)
        iteration.assign_add(1)
        digest = digest_of(seen, agent.variables, draws.state, steps.result())
        print(int(iteration), digest, flush=True)
        if int(iteration) % ITERATIONS_PER_CHECKPOINT == 0:
            manager.save()


if __name__ == "__main__":
    folder, agent, num_iterations, seed = sys.argv[1:]
    train(folder, agent, int(num_iterations), int(seed))
