"""TF-Agents' drivers, trainer and metrics on our environments, as its users run them."""

import functools

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import (
    exp3_agent,
    lin_ucb_agent,
    linear_thompson_sampling_agent,
    neural_epsilon_greedy_agent,
)
from tf_agents.bandits.agents.examples.v2 import trainer
from tf_agents.bandits.environments import stationary_stochastic_per_arm_py_environment as upstream
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.drivers import dynamic_episode_driver, dynamic_step_driver
from tf_agents.environments import parallel_py_environment, tf_py_environment, wrappers
from tf_agents.metrics import tf_metrics as general_tf_metrics
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.system import system_multiprocessing
from tf_agents.utils import common

from bandit_envs import KArmedTestbed
from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal
from bandit_envs.wrappers import OneProblem, RescaleReward

from . import examples

B, K, G, P = 16, 7, 4, 5
THETA = np.arange(9.0)
FIRST, LAST = 0, 2


def per_arm(batch_size=B, noise_std=1.0, num_actions_fn=None):
    model = LinearReward(THETA, noise_std)
    return adapter.StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, model, num_actions_fn, batch_size, seed=0
    )


def random_policy(environment):
    return random_tf_policy.RandomTFPolicy(
        environment.time_step_spec(),
        environment.action_spec(),
        accepts_per_arm_features=isinstance(environment.observation_spec(), dict),
        emit_log_probability=False,
    )


class Recorder:
    """Keeps what a driver shows, whether it runs eagerly or in a graph."""

    def __init__(self, environment, max_length=100):
        self.spec = random_policy(environment).trajectory_spec
        self.buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
            self.spec, environment.batch_size, max_length
        )

    def __call__(self, trajectory):
        return self.buffer.add_batch(trajectory)

    def trajectories(self):
        """All of them, [T, B, ...]."""
        gathered = self.buffer.gather_all()
        return tf.nest.map_structure(lambda leaf: np.swapaxes(leaf.numpy(), 0, 1), gathered)


def driven(env, driver_class, in_graph, runs=1, **amount):
    environment = tf_py_environment.TFPyEnvironment(env)
    recorder = Recorder(environment)
    driver = driver_class(environment, random_policy(environment), [recorder], **amount)
    run = common.function(driver.run) if in_graph else driver.run
    for _ in range(runs):
        run()
    return recorder.trajectories()


in_both_modes = pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])

AMOUNTS = [
    (dynamic_step_driver.DynamicStepDriver, {"num_steps": 6}, 3),
    (dynamic_step_driver.DynamicStepDriver, {"num_steps": 5}, 3),
    (dynamic_episode_driver.DynamicEpisodeDriver, {"num_episodes": 4}, 2),
]


@in_both_modes
@pytest.mark.parametrize(("driver_class", "amount", "count"), AMOUNTS)
@pytest.mark.parametrize("num_actions_fn", [None, Integers(1, 1, K + 1)])
def test_a_driver_shows_what_happened(driver_class, amount, count, in_graph, num_actions_fn):
    env = per_arm(2, noise_std=0.0, num_actions_fn=num_actions_fn)
    seen = driven(env, driver_class, in_graph, **amount)
    assert seen.reward.shape == (count, 2)
    assert (seen.step_type == FIRST).all()
    assert (seen.next_step_type == LAST).all()
    assert (seen.discount == 0.0).all()
    same = per_arm(2, noise_std=0.0, num_actions_fn=num_actions_fn)
    time_step = same.reset()
    for step in range(count):
        for key, array in time_step.observation.items():
            np.testing.assert_array_equal(seen.observation[key][step], array)
        time_step = same.step(seen.action[step])
        np.testing.assert_array_equal(seen.reward[step], time_step.reward)


@in_both_modes
def test_a_second_run_goes_on_where_the_first_ended(in_graph):
    driver_class = dynamic_step_driver.DynamicStepDriver
    seen = driven(per_arm(2, noise_std=0.0), driver_class, in_graph, runs=3, num_steps=4)
    assert seen.reward.shape == (6, 2)
    chosen = np.take_along_axis(
        seen.observation["per_arm"], seen.action[..., np.newaxis, np.newaxis], axis=2
    )
    vectors = np.concatenate([seen.observation["global"], chosen[:, :, 0]], axis=2)
    np.testing.assert_allclose(seen.reward, vectors @ THETA, rtol=1e-4, atol=1e-4)
    assert len(np.unique(seen.observation["global"][:, 0, 0])) == 6


@in_both_modes
def test_episodes_with_a_horizon_are_those_of_any_environment(in_graph):
    env = adapter.as_tf_agents(KArmedTestbed(K, batch_size=2, seed=0, horizon=3))
    seen = driven(env, dynamic_episode_driver.DynamicEpisodeDriver, in_graph, num_episodes=4)
    kinds = [(before[0], after[0]) for before, after in zip(seen.step_type, seen.next_step_type)]
    episode = [(0, 1), (1, 1), (1, 2), (2, 0)]
    assert kinds == (episode * 2)[: len(kinds)]
    assert kinds.count((1, 2)) == 2
    assert (seen.discount == 1.0).all()


def in_wrappers(env, number):
    for _ in range(number):
        env = wrappers.PyEnvironmentBaseWrapper(env)
    return env


@pytest.mark.parametrize(
    ("env", "num_steps", "count"),
    [
        (adapter.as_tf_agents(examples.twice_wrapped(examples.k_armed())), 6, 3),
        (adapter.as_tf_agents(examples.k_armed(batch_size=1)), 6, 6),
        (in_wrappers(adapter.as_tf_agents(examples.k_armed()), 1), 6, 3),
        # The reset between two episodes does not count.
        (in_wrappers(adapter.as_tf_agents(examples.k_armed(horizon=2)), 2), 8, 5),
    ],
    ids=["our wrappers", "one row", "a wrapper of TF-Agents", "two, with a horizon"],
)
def test_a_driver_ends(env, num_steps, count):
    environment = tf_py_environment.TFPyEnvironment(env)
    seen = []
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, random_policy(environment), observers=[seen.append], num_steps=num_steps
    )
    driver.run(maximum_iterations=50)
    assert len(seen) == count


def linear(agent_class, environment):
    return agent_class(
        environment.time_step_spec(),
        environment.action_spec(),
        alpha=0.1,
        accepts_per_arm_features=True,
        dtype=tf.float32,
    )


def neural(environment):
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        environment.observation_spec(), (16,), (16,), (16,)
    )
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        environment.time_step_spec(),
        environment.action_spec(),
        reward_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate=0.05),
        epsilon=0.05,
        accepts_per_arm_features=True,
    )


CONTEXTUAL = {
    "LinUCB": functools.partial(linear, lin_ucb_agent.LinearUCBAgent),
    "linear Thompson sampling": functools.partial(
        linear, linear_thompson_sampling_agent.LinearThompsonSamplingAgent
    ),
    "neural epsilon-greedy": neural,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTEXTUAL)
def test_the_trainer_trains_contextual_agents(name, tmp_path):
    tf.random.set_seed(0)
    env = per_arm(num_actions_fn=Integers(1, 1, K + 1) if name == "LinUCB" else None)
    environment = tf_py_environment.TFPyEnvironment(env)
    metrics = (
        tf_metrics.RegretMetric(adapter.optimal_reward_fn(env)),
        tf_metrics.SuboptimalArmsMetric(adapter.optimal_action_fn(env)),
    )
    trainer.train(
        str(tmp_path),
        CONTEXTUAL[name](environment),
        environment,
        training_loops=15 if name.startswith("neural") else 8,
        steps_per_loop=4,
        additional_metrics=metrics,
        save_policy=name == "LinUCB",  # to save it takes longer than to train it
    )
    # A random choice has a regret of 18.6 on average.
    assert metrics[0].result() < 5.0
    assert metrics[1].result() < 0.5


@pytest.mark.slow
def test_the_trainer_trains_exp3_on_the_testbed(tmp_path):
    testbed = KArmedTestbed(K, batch_size=B, seed=0)
    env = adapter.as_tf_agents(RescaleReward(testbed, (0.0, 1.0)))
    environment = tf_py_environment.TFPyEnvironment(env)
    agent = exp3_agent.Exp3Agent(
        environment.time_step_spec(), environment.action_spec(), learning_rate=0.1
    )
    steps = general_tf_metrics.EnvironmentSteps()
    trainer.train(
        str(tmp_path),
        agent,
        environment,
        training_loops=3,
        steps_per_loop=2,
        additional_metrics=[steps],
        save_policy=False,
    )
    assert steps.result() == 3 * 2 * B


def users_in_a_process(seed):
    testbed = KArmedTestbed(K, batch_size=2, drift_std=0.1, seed=seed)
    return adapter.as_tf_agents(OneProblem(testbed))


@pytest.fixture(scope="module")
def processes():
    """Lets TF-Agents start processes, which it can be asked for once."""
    system_multiprocessing.enable_interactive_mode()


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("flatten", [False, True])
def test_environments_in_processes_of_their_own_are_those_of_one_process(flatten):
    constructors = [functools.partial(users_in_a_process, seed) for seed in range(3)]
    parallel = parallel_py_environment.ParallelPyEnvironment(constructors, flatten=flatten)
    try:
        alone = [make() for make in constructors]
        actions = np.array([[0, 1], [2, 3], [4, 4]], np.int32)
        steps = [(parallel.reset(), [env.reset() for env in alone])]
        for _ in range(4):
            single = [env.step(action) for env, action in zip(alone, actions)]
            steps.append((parallel.step(actions), single))
    finally:
        parallel.close()
    for together, single in steps:
        stacked = tf.nest.map_structure(lambda *leaves: np.stack(leaves), *single)
        tf.nest.map_structure(np.testing.assert_array_equal, together, stacked)


def test_an_agent_learns_one_problem_of_the_testbed_from_a_batch_of_users():
    # Rewards are negative, so that LinUCB tries all actions.
    testbed = KArmedTestbed(K, batch_size=B, seed=1, value_mean=-5.0, reward_std=0.0)
    environment = tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(OneProblem(testbed)))
    agent = lin_ucb_agent.LinearUCBAgent(environment.time_step_spec(), environment.action_spec())
    regret = tf_metrics.RegretMetric(adapter.optimal_reward_fn(environment))
    buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.policy.trajectory_spec, B, max_length=1
    )
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [buffer.add_batch, regret], num_steps=B
    )
    drive = tf.function(driver.run)
    regrets = []
    for _ in range(30):
        drive()
        agent.train(buffer.gather_all())
        buffer.clear()
        regrets.append(float(regret.result()))
    assert max(regrets) > 0.5
    assert max(regrets[-10:]) == 0.0


@in_both_modes
@pytest.mark.parametrize(
    "make",
    [
        lambda: per_arm(noise_std=0.0),
        lambda: adapter.as_tf_agents(KArmedTestbed(K, batch_size=B, seed=0, reward_std=0.0)),
        lambda: adapter.as_tf_agents(
            find_environment("drifting_linear").make(
                num_actions=K, drift_std=1.0, additive_std=0.0, batch_size=B, seed=0
            )
        ),
    ],
    ids=["per-arm", "testbed", "drifting"],
)
def test_regret_in_a_driver_is_that_of_the_environment(make, in_graph):
    env = make()
    environment = tf_py_environment.TFPyEnvironment(env)
    regret = tf_metrics.RegretMetric(adapter.optimal_reward_fn(env))
    suboptimal = tf_metrics.SuboptimalArmsMetric(adapter.optimal_action_fn(env))
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, random_policy(environment), [regret, suboptimal], num_steps=B
    )
    run = common.function(driver.run) if in_graph else driver.run
    for _ in range(3):
        run()
        info = env.get_info()
        expected = (info["optimal_reward"] - info["expected_reward"]).mean()
        np.testing.assert_allclose(regret.result(), expected, rtol=1e-4)
        missed = (info["optimal_reward"] != info["expected_reward"]).mean()
        np.testing.assert_allclose(suboptimal.result(), missed)


def regrets_of_a_script(environment_class, baseline, iterations=30):
    """TF-Agents' per-arm tutorial, with smaller features: the regret after each iteration."""
    np.random.seed(0)
    tf.random.set_seed(0)
    num_arms, num_global, num_arm, batch_size = 20, 6, 8, 20
    theta = np.random.randint(0, 8, num_global + num_arm).astype(np.float32)

    env = environment_class(
        lambda: np.random.randint(-10, 10, [num_global]).astype(np.float32),
        lambda: np.random.randint(-2, 3, [num_arm]).astype(np.float32),
        num_arms,
        lambda vector: np.random.normal(vector @ theta, 1.0),
        batch_size=batch_size,
    )
    environment = tf_py_environment.TFPyEnvironment(env)
    agent = linear(lin_ucb_agent.LinearUCBAgent, environment)
    replay_buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.policy.trajectory_spec, batch_size, max_length=1
    )
    regret_metric = tf_metrics.RegretMetric(baseline(theta))
    driver = dynamic_step_driver.DynamicStepDriver(
        environment,
        agent.collect_policy,
        [replay_buffer.add_batch, regret_metric],
        num_steps=batch_size,
    )
    regrets = []
    for _ in range(iterations):
        driver.run()
        agent.train(replay_buffer.gather_all())
        replay_buffer.clear()
        regrets.append(float(regret_metric.result()))
    return regrets


def in_tensorflow(theta):
    """The baseline of the tutorial, written in TensorFlow."""

    def optimal_reward(observation):
        users, items = observation["global"], observation["per_arm"]
        split = users.shape[-1]
        rewards = tf.linalg.matvec(items, theta[split:])
        return tf.reduce_max(rewards, axis=1) + tf.linalg.matvec(users, theta[:split])

    return optimal_reward


def in_numpy(theta):
    """The same by ours: a `LinearReward` knows its optima."""
    split = 6
    model = LinearReward(theta)
    return adapter.optimal_reward_fn(
        adapter.StationaryStochasticPerArmPyEnvironment(
            Normal(split), Normal(len(theta) - split), 20, model
        )
    )


@pytest.mark.slow
def test_the_tutorial_runs_with_the_import_changed_and_its_regret_is_the_same():
    theirs = regrets_of_a_script(upstream.StationaryStochasticPerArmPyEnvironment, in_tensorflow)
    assert np.mean(theirs[-10:]) < 0.2 * np.mean(theirs[:2])
    for baseline in (in_tensorflow, in_numpy):
        ours = regrets_of_a_script(adapter.StationaryStochasticPerArmPyEnvironment, baseline)
        np.testing.assert_allclose(ours, theirs, atol=1e-3, err_msg=baseline.__name__)
