"""What environments and training loops cost beside TF-Agents' own."""

import functools
import importlib
import itertools
import time

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.agents import lin_ucb_agent, neural_epsilon_greedy_agent
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.specs import array_spec

import bandit_envs
from bandit_envs import LinUCBPolicy, RegretMetric, StepDriver
from bandit_envs.adapters import tf_agents as drop_ins
from bandit_envs.environments import ClickModel, FeedbackModel
from bandit_envs.rewards import (
    FlatReward,
    LinearActionReward,
    LinearReward,
    LogisticReward,
    sliding_thetas,
)
from bandit_envs.sampling import Integers, Normal
from tests.benchmarks.test_environments import stepping

tfd = tfp.distributions

MEANS = np.linspace(0.1, 0.9, 9)
PIECES = np.stack([MEANS, MEANS[::-1]])
WHEEL = (0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01)


def upstream(name):
    """Returns TF-Agents' environment class from its module."""
    modules = {
        "BernoulliPyEnvironment": "bernoulli_py_environment",
        "PiecewiseBernoulliPyEnvironment": "piecewise_bernoulli_py_environment",
        "RankingPyEnvironment": "ranking_environment",
        "ExplicitPositionalBiasRankingEnvironment": "ranking_environment",
        "StationaryStochasticPerArmPyEnvironment": "stationary_stochastic_per_arm_py_environment",
        "StationaryStochasticPyEnvironment": "stationary_stochastic_py_environment",
        "StationaryStochasticStructuredPyEnvironment": (
            "stationary_stochastic_structured_py_environment"
        ),
        "WheelPyEnvironment": "wheel_py_environment",
    }
    return getattr(upstream_module(modules[name]), name)


def upstream_module(name):
    """Returns a module of TF-Agents' environments."""
    return importlib.import_module(f"tf_agents.bandits.environments.{name}")


def both(name, *arguments, **named):
    """Returns our environment and TF-Agents' with the same arguments."""
    return getattr(bandit_envs, name)(*arguments, **named), upstream(name)(*arguments, **named)


def arms(size):
    return both("BernoulliPyEnvironment", MEANS, size)


def pieces(size):
    ours = bandit_envs.PiecewiseBernoulliPyEnvironment(PIECES, itertools.repeat(100), size)
    theirs = upstream("PiecewiseBernoulliPyEnvironment")(PIECES, itertools.repeat(100), size)
    return ours, theirs


def wheel(size):
    return both("WheelPyEnvironment", *WHEEL, size)


@pytest.mark.parametrize("size", [1, 1000, 20_000])
@pytest.mark.parametrize("pair", [arms, pieces, wheel], ids=["bernoulli", "piecewise", "wheel"])
def test_a_step_beside_that_of_tf_agents(compare, pair, size, request):
    ours, theirs = pair(size)
    name = request.node.callspec.id
    number = 20_000 // size // 100 + 1
    compare(f"{name} step / TF-Agents'", stepping(ours), stepping(theirs), rounds=40, number=number)


def normal(dim):
    """Returns a function as scripts have it: it draws one vector from `numpy.random`."""
    return lambda: np.random.normal(size=dim).astype(np.float32)


def normal_reward(theta):
    """Returns a function as scripts have it: it draws the reward of one vector."""
    return lambda vector: np.random.normal(np.dot(vector, theta), 1.0)


def per_arm(num_rows, num_arms, num_global, num_arm):
    """Returns the per-arm bandit of samplers, that of functions, and TF-Agents' of functions."""
    theta = np.ones(num_global + num_arm)
    samplers = (Normal(num_global), Normal(num_arm), num_arms, LinearReward(theta))
    functions = (normal(num_global), normal(num_arm), num_arms, normal_reward(theta))
    ours = bandit_envs.StationaryStochasticPerArmPyEnvironment(
        *samplers, batch_size=num_rows, seed=0
    )
    return ours, *both("StationaryStochasticPerArmPyEnvironment", *functions, batch_size=num_rows)


def stationary(num_rows):
    utilities = importlib.import_module("tf_agents.bandits.environments.environment_utilities")
    functions = (
        lambda: utilities.context_sampling_fn(num_rows, 15),
        utilities.sliding_linear_reward_fn_generator(15, 5, 0.1),
        None,
        num_rows,
    )
    ours = bandit_envs.StationaryStochasticPyEnvironment(
        Integers(15, -10, 10),
        LinearActionReward(sliding_thetas(15, 5), 0.1),
        batch_size=num_rows,
        seed=0,
    )
    return ours, *both("StationaryStochasticPyEnvironment", *functions)


def draw_user():
    return {"user": np.random.normal(size=4).astype(np.float32)}


def draw_item():
    return {
        "item": np.random.normal(size=5).astype(np.float32),
        "price": np.random.normal(size=1).astype(np.float32),
    }


def draw_reward(user, item):
    return np.random.normal(user["user"].sum() + item["item"].sum() + item["price"][0], 1.0)


def structured(num_rows):
    ours = bandit_envs.StationaryStochasticStructuredPyEnvironment(
        {"user": Normal(4)},
        {"item": Normal(5), "price": Normal(1)},
        10,
        FlatReward(LinearReward(np.ones(10))),
        num_rows,
        seed=0,
    )
    functions = (draw_user, draw_item, 10, draw_reward, num_rows)
    return ours, *both("StationaryStochasticStructuredPyEnvironment", *functions)


CONTEXTUAL = {
    "per-arm, batch 100, 70 arms, 90 features": lambda: per_arm(100, 70, 40, 50),
    "per-arm, batch 16, 7 arms, 9 features": lambda: per_arm(16, 7, 4, 5),
    "stationary stochastic, batch 100": lambda: stationary(100),
    "structured, batch 100": lambda: structured(100),
}
"""Our environment of samplers, our environment of functions, and TF-Agents' of functions."""


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_a_step_of_samplers_and_one_of_functions(compare, name):
    samplers, functions, theirs = CONTEXTUAL[name]()
    options = {"rounds": 30, "number": 2}
    compare(f"{name} / TF-Agents'", stepping(samplers), stepping(theirs), **options)
    compare(f"{name}, functions / TF-Agents'", stepping(functions), stepping(theirs), **options)


@pytest.mark.parametrize("sizes", [(100, 70, 40, 50), (16, 7, 4, 5)], ids=str)
def test_the_calls_of_users_functions_alone(compare, sizes):
    num_rows, num_arms, num_global, num_arm = sizes
    draw_one_user = normal(num_global)
    draw_one_item = normal(num_arm)
    draw_one_reward = normal_reward(np.ones(num_global + num_arm))
    vectors = np.ones((num_rows, num_global + num_arm), np.float32)

    def call_functions():
        for vector in vectors:
            draw_one_reward(vector)
        for _ in range(num_rows):
            draw_one_user()
        for _ in range(num_rows * num_arms):
            draw_one_item()

    theirs = per_arm(*sizes)[2]
    title = f"per-arm, {sizes}, calls of the functions alone / TF-Agents'"
    compare(title, call_functions, stepping(theirs), rounds=30, number=2)


SLATES = (100, 5, np.random.default_rng(0).normal(size=(5, 5)) / 5)
RANKINGS = {
    "ghosts": (FeedbackModel.CASCADING, ClickModel.GHOST_ACTIONS),
    "ghosts, score vectors": (FeedbackModel.SCORE_VECTOR, ClickModel.GHOST_ACTIONS),
    "distances": (FeedbackModel.CASCADING, ClickModel.DISTANCE_BASED, False, 0.5),
}


@pytest.mark.parametrize("name", RANKINGS)
def test_a_ranking_step_beside_that_of_tf_agents(compare, name):
    ours = bandit_envs.RankingPyEnvironment(
        Normal(5), Normal(5), *SLATES, *RANKINGS[name], batch_size=1000, seed=0
    )
    theirs = upstream("RankingPyEnvironment")(
        normal(5), normal(5), *SLATES, *RANKINGS[name], batch_size=1000
    )
    title = f"ranking with {name}, batch 1000 / TF-Agents'"
    compare(title, stepping(ours), stepping(theirs), rounds=6)


def test_a_step_with_positional_bias_beside_that_of_tf_agents(compare):
    looks = np.arange(1.0, 6.0) ** -1.3
    ours = bandit_envs.ExplicitPositionalBiasRankingEnvironment(
        Normal(5), Normal(5), LogisticReward(np.full(10, 0.2)), 100, looks, 1000, seed=0
    )
    theirs = upstream("ExplicitPositionalBiasRankingEnvironment")(
        normal(5),
        normal(5),
        lambda user, item: 1.0 / (1.0 + np.exp(-0.2 * (user.sum() + item.sum()))),
        100,
        looks,
        1000,
    )
    title = "positional bias, batch 1000 / TF-Agents'"
    compare(title, stepping(ours), stepping(theirs), rounds=6)


each_clock = pytest.mark.parametrize(
    "clock", [time.perf_counter, time.process_time], ids=lambda clock: clock.__name__
)
"""Wall clock, and the processor time of all threads of the process."""

B, K, G, P = 20, 70, 40, 50
THETA = np.ones(G + P, np.float32)


def per_arm_of_tf_agents():
    return upstream("StationaryStochasticPerArmPyEnvironment")(
        normal(G),
        normal(P),
        K,
        normal_reward(THETA),
        batch_size=B,
    )


def training(environment, agent, metrics=()):
    """Returns a function that drives a step and trains on it, compiled."""
    size = environment.batch_size
    buffer = bandit_replay_buffer.BanditReplayBuffer(
        agent.policy.trajectory_spec, batch_size=size, max_length=1
    )
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [buffer.add_batch, *metrics], num_steps=size
    )
    run = tf.function(driver.run)
    train = tf.function(agent.train)

    def drive_and_train():
        run()
        train(buffer.gather_all())
        buffer.clear()

    return drive_and_train


@each_clock
def test_the_loop_of_lin_ucb_beside_that_of_tf_agents(compare, clock):
    env = bandit_envs.StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, LinearReward(THETA), batch_size=B, seed=0
    )
    policy = LinUCBPolicy(observation_spec=env.observation_spec(), batch_size=B, seed=1)
    driver = StepDriver(env, policy, [policy, RegretMetric(env)], num_steps=10)

    environment = tf_py_environment.TFPyEnvironment(per_arm_of_tf_agents())
    agent = lin_ucb_agent.LinearUCBAgent(
        environment.time_step_spec(), environment.action_spec(), accepts_per_arm_features=True
    )

    def optimal_reward(observation):
        items = tf.linalg.matvec(observation["per_arm"], THETA[G:])
        users = tf.linalg.matvec(observation["global"], THETA[:G])
        return users + tf.reduce_max(items, axis=1)

    theirs = training(environment, agent, [tf_metrics.RegretMetric(optimal_reward)])
    title = f"LinUCB loop, K 70, G 40, P 50, batch 20 / TF-Agents', {clock.__name__}"
    compare(title, driver.run, theirs, rounds=21, scale=1 / 10, clock=clock)


def neural_agent(time_step_spec, action_spec):
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        time_step_spec.observation, (40, 30), (30, 40), (40, 20)
    )
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        time_step_spec,
        action_spec,
        reward_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate=0.05),
        epsilon=0.05,
        accepts_per_arm_features=True,
    )


def neural_loop(env):
    environment = tf_py_environment.TFPyEnvironment(env)
    agent = neural_agent(environment.time_step_spec(), environment.action_spec())
    return training(environment, agent)


TENSORFLOW_ROWS, CONTEXT_DIM, NUM_ACTIONS = 8, 15, 5
"""The sizes of TF-Agents' `train_eval_drifting_linear`."""


def tf_normal(*shape, scale=1.0):
    return tfd.Normal(tf.zeros(shape), scale * tf.ones(shape))


def linear_distributions(middle):
    """Returns the distributions of a linear environment; `middle` is that of its changes."""
    contexts = tf_normal(TENSORFLOW_ROWS, CONTEXT_DIM)
    weights = tf_normal(CONTEXT_DIM, NUM_ACTIONS)
    additive = tf_normal(NUM_ACTIONS, scale=0.01)
    return contexts, weights, middle, additive


def tf_drifting():
    distributions = linear_distributions(tfd.Normal(0.01, 0.01))
    theirs = upstream_module("drifting_linear_environment").DriftingLinearDynamics(*distributions)
    return drop_ins.DriftingLinearEnvironment(*distributions), non_stationary(theirs)


def tf_piecewise():
    contexts, weights, interval, additive = linear_distributions(tfd.Deterministic(1000))
    distributions = (contexts, interval, weights, additive)
    module = upstream_module("piecewise_stochastic_environment")
    theirs = module.PiecewiseStationaryDynamics(*distributions)
    return drop_ins.PiecewiseStochasticEnvironment(*distributions), non_stationary(theirs)


def non_stationary(dynamics):
    module = upstream_module("non_stationary_stochastic_environment")
    return module.NonStationaryStochasticEnvironment(dynamics)


def tf_classification():
    contexts = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    labels = np.arange(1000, dtype=np.int32) % 2
    examples = tf.data.Dataset.from_tensor_slices((contexts, labels))
    rewards = drop_ins.mushroom_reward_distribution(0.0, 5.0, -35.0, 5.0, 0.5)
    module = upstream_module("classification_environment")
    arguments = (examples, rewards, TENSORFLOW_ROWS)
    ours = drop_ins.ClassificationBanditEnvironment(*arguments)
    return ours, module.ClassificationBanditEnvironment(*arguments)


TENSORFLOW = {
    "drifting linear": tf_drifting,
    "piecewise stochastic": tf_piecewise,
    "classification": tf_classification,
}
"""Our replacement of an environment of TensorFlow, and TF-Agents' own."""


def tf_stepping(environment):
    """Returns a function that takes a step of an environment of TensorFlow."""
    environment.reset()
    action = tf.ones([environment.batch_size], tf.int32)
    return functools.partial(environment.step, action)


def tf_looping(environment, num_steps):
    """Returns a compiled function that takes steps, one after another."""
    step = tf_stepping(environment)

    @tf.function
    def loop():
        total = tf.constant(0.0)
        for _ in tf.range(num_steps):
            total += tf.reduce_sum(step().reward)
        return total

    return loop


@pytest.mark.parametrize("name", TENSORFLOW)
def test_a_step_in_tensorflow_beside_that_of_tf_agents(compare, name):
    ours, theirs = TENSORFLOW[name]()
    options = {"rounds": 31, "number": 20}
    title = f"{name} in TensorFlow / TF-Agents'"
    compare(f"{title}, eager", tf_stepping(ours), tf_stepping(theirs), goal=1.0, **options)
    compiled = tf.function(tf_stepping(ours)), tf.function(tf_stepping(theirs))
    compare(f"{title}, tf.function of a step", *compiled, goal=1.0, **options)
    loops = tf_looping(ours, 50), tf_looping(theirs, 50)
    compare(f"{title}, tf.function of 50 steps", *loops, rounds=15)


def lin_ucb_under_drift(environment):
    """Returns a function that drives two steps and trains on them, as TF-Agents' script does."""
    agent = lin_ucb_agent.LinearUCBAgent(
        environment.time_step_spec(), environment.action_spec(), alpha=10.0, gamma=0.95
    )
    dynamics = environment.environment_dynamics
    metrics = [
        tf_metrics.RegretMetric(dynamics.compute_optimal_reward),
        tf_metrics.SuboptimalArmsMetric(dynamics.compute_optimal_action),
    ]
    size = environment.batch_size
    buffer = bandit_replay_buffer.BanditReplayBuffer(
        agent.policy.trajectory_spec, batch_size=size, max_length=2
    )
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [buffer.add_batch, *metrics], num_steps=2 * size
    )

    def drive_and_train():
        driver.run()
        agent.train(buffer.gather_all())
        buffer.clear()

    return drive_and_train


def test_the_loop_of_lin_ucb_under_drift_beside_that_of_tf_agents(compare):
    loops = map(lin_ucb_under_drift, tf_drifting())
    compare("LinUCB loop, drifting linear in TensorFlow / TF-Agents'", *loops, rounds=31, goal=0.8)


def test_what_a_wrapped_step_costs_beside_that_of_a_drop_in(compare):
    bandit = bandit_envs.DriftingLinearBandit(
        Normal(CONTEXT_DIM), Normal(NUM_ACTIONS), batch_size=TENSORFLOW_ROWS, shared_noise=True
    )
    wrapped = tf_py_environment.TFPyEnvironment(drop_ins.as_tf_agents(bandit))
    theirs = tf_drifting()[1]
    title = "TFPyEnvironment of a DriftingLinearBandit / TF-Agents' drifting linear"
    options = {"rounds": 31, "number": 20}
    compare(f"{title}, eager", tf_stepping(wrapped), tf_stepping(theirs), **options)
    loops = tf_looping(wrapped, 50), tf_looping(theirs, 50)
    compare(f"{title}, tf.function of 50 steps", *loops, rounds=15)


class NothingDrawn(bandit_py_environment.BanditPyEnvironment):
    """The per-arm environment that always returns the same arrays: the rest of a loop is left."""

    def __init__(self):
        self._users_and_items = {
            "global": np.random.normal(size=(B, G)).astype(np.float32),
            "per_arm": np.random.normal(size=(B, K, P)).astype(np.float32),
        }
        super().__init__(
            {
                "global": array_spec.ArraySpec((G,), np.float32),
                "per_arm": array_spec.ArraySpec((K, P), np.float32),
            },
            array_spec.BoundedArraySpec((), np.int32, 0, K - 1),
        )

    @property
    def batched(self):
        return True

    @property
    def batch_size(self):
        return B

    def _observe(self):
        return self._users_and_items

    def _apply_action(self, action):
        return np.ones(B, np.float32)


@each_clock
def test_the_loop_of_neural_epsilon_greedy_with_either_environment(compare, clock):
    ours = drop_ins.StationaryStochasticPerArmPyEnvironment(
        Normal(G), Normal(P), K, LinearReward(THETA), batch_size=B, seed=0
    )
    theirs = neural_loop(per_arm_of_tf_agents())
    title = "neural epsilon-greedy loop"
    options = {"rounds": 50, "number": 2, "clock": clock}
    name = clock.__name__
    compare(f"{title}, ours / TF-Agents' environment, {name}", neural_loop(ours), theirs, **options)
    nothing = neural_loop(NothingDrawn())
    compare(f"{title}, nothing drawn / TF-Agents', {name}", nothing, theirs, **options)


def in_one_graph(environment, num_steps):
    """Returns a function that drives and trains, step by step, in one graph."""
    agent = neural_agent(environment.time_step_spec(), environment.action_spec())
    drive_and_train = training(environment, agent)

    @tf.function
    def loop():
        for _ in tf.range(num_steps):
            drive_and_train()

    return loop


@each_clock
@pytest.mark.parametrize(
    ("sizes", "goal"), [((16, 7, 4, 5), 0.63), ((B, K, G, P), 0.4)], ids=["small", "large"]
)
def test_the_neural_loop_in_one_graph_beside_that_of_tf_agents(compare, sizes, goal, clock):
    samplers, _, theirs = per_arm(*sizes)
    ours = in_one_graph(drop_ins.as_tf_environment(samplers), 20)
    other = in_one_graph(tf_py_environment.TFPyEnvironment(theirs), 20)
    title = f"neural epsilon-greedy in one graph, {sizes} / TF-Agents', {clock.__name__}"
    compare(title, ours, other, rounds=11, clock=clock, goal=goal)


@each_clock
@pytest.mark.parametrize("sizes", [(16, 7, 4, 5), (B, K, G, P)], ids=str)
def test_the_neural_loop_of_as_policy_beside_that_of_tf_agents(compare, sizes, clock):
    samplers, _, theirs = per_arm(*sizes)
    agent = neural_agent(*drop_ins.tensor_specs(samplers))
    policy = drop_ins.as_policy(agent, samplers.batch_size, seed=1)
    driver = StepDriver(samplers, policy, [policy], num_steps=10)
    title = f"neural epsilon-greedy loop by as_policy, {sizes} / TF-Agents', {clock.__name__}"
    loop = neural_loop(theirs)
    compare(title, driver.run, loop, rounds=21, scale=1 / 10, clock=clock, goal=1.1)
