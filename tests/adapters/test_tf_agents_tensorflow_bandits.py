"""The replacements of TF-Agents' environments of TensorFlow, by the assertions of its tests."""

import itertools

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.environments import classification_environment, dataset_utilities
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.drivers import dynamic_step_driver
from tf_agents.policies import random_tf_policy
from tf_agents.specs import tensor_spec

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.datasets.published import mushroom_rewards
from bandit_envs.testing import assert_identical
from tests.statistical import is_near

tfd = tfp.distributions

SIZES = [(5, 3, 1), (3, 5, 2)]
"""Features, actions, rows."""


def normal(*shape):
    return tfd.Normal(tf.zeros(shape), tf.ones(shape))


def drifting(dim, actions, batch_size, drift=0.1, seed=0):
    return adapter.DriftingLinearEnvironment(
        normal(batch_size, dim),
        normal(dim, actions),
        tfd.Normal(drift, drift),
        normal(actions),
        seed=seed,
    )


def piecewise(dim, actions, batch_size, interval=4, seed=0):
    return adapter.PiecewiseStochasticEnvironment(
        normal(batch_size, dim),
        tfd.Deterministic(interval),
        normal(dim, actions),
        normal(actions),
        seed=seed,
    )


def parameters_of_steps(environment, num_steps):
    """Takes steps after resets; returns the weights [d, K] and the additive rewards of each."""
    bandit = environment.environment_dynamics.bandit
    weights = []
    additive = []
    for step in range(num_steps):
        context = environment.reset().observation.numpy()
        weights.append(bandit.weights)
        rewards = environment.step(tf.zeros([environment.batch_size], tf.int32)).reward
        additive.append(rewards.numpy() - (context @ weights[-1])[:, 0])
        assert int(environment._env_time) == (step + 1) * environment.batch_size
    return weights, additive


@pytest.mark.parametrize("size", SIZES)
def test_weights_without_drift_stay_and_the_additive_reward_varies(size):
    weights, additive = parameters_of_steps(drifting(*size, drift=0.0), 10)
    for later in weights:
        np.testing.assert_allclose(later, weights[0])
    assert (np.abs(np.diff(additive, axis=0)) > 1e-4).all()


@pytest.mark.parametrize("size", SIZES)
def test_weights_drift_and_keep_their_norm_and_all_rows_share_the_additive_reward(size):
    weights, additive = parameters_of_steps(drifting(*size, drift=1.0), 10)
    norms = np.linalg.norm(weights, axis=(1, 2))
    np.testing.assert_allclose(norms, norms[0], rtol=1e-6)
    assert all((before != after).any() for before, after in itertools.pairwise(weights))
    assert (np.abs(np.diff(additive, axis=0)) > 1e-4).all()
    np.testing.assert_allclose(np.ptp(additive, axis=1), 0.0, atol=1e-5)


@pytest.mark.parametrize("size", SIZES)
def test_weights_and_additive_rewards_change_with_the_piece_only(size):
    interval = 4
    weights, additive = parameters_of_steps(piecewise(*size, interval), 10)
    steps_of_piece = interval // size[-1]
    for step in range(1, 10):
        same_weights = np.isclose(weights[step], weights[step - 1])
        same_additive = np.isclose(additive[step], additive[step - 1], atol=1e-5)
        if step % steps_of_piece:
            assert same_weights.all()
            assert same_additive.all()
        else:
            assert not same_weights.any()
            assert not same_additive.any()


@pytest.mark.parametrize("size", [(5, 3, 1), (7, 5, 32)])
def test_the_action_spec_ends_with_the_last_action(size):
    assert piecewise(*size, 3).action_spec().maximum == size[1] - 1


class Counting(adapter.EnvironmentDynamics):
    """Observations grow with time, in samples, and rewards are their entries less the time."""

    def __init__(self):
        self.calls = tf.Variable(0, dtype=tf.int32)

    @property
    def batch_size(self):
        return 2

    @property
    def observation_spec(self):
        return tensor_spec.TensorSpec([3], tf.float32, "observation_spec")

    @property
    def action_spec(self):
        return tensor_spec.BoundedTensorSpec((), tf.int32, 0, 5, "action")

    def observation(self, env_time):
        return tf.constant([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0]]) + tf.cast(env_time, tf.float32)

    def reward(self, observation, env_time):
        self.calls.assign_add(1)
        table = tf.concat([observation, tf.zeros([2, 2])], axis=1)
        return table - tf.cast(env_time, tf.float32)


@pytest.mark.parametrize("make", [drifting, piecewise])
def test_steps_in_a_graph_are_those_of_eager_mode(make):
    eager = make(3, 4, 2)
    compiled = make(3, 4, 2)
    step = tf.function(compiled.step)
    for action in itertools.islice(itertools.cycle([[0, 3], [2, 2], [1, 0]]), 8):
        expected = eager.step(tf.constant(action))
        found = step(tf.constant(action))
        for leaf, expected_leaf in zip(tf.nest.flatten(found), tf.nest.flatten(expected)):
            assert leaf.shape == expected_leaf.shape
            np.testing.assert_array_equal(leaf, expected_leaf)
        assert int(compiled._env_time) == int(eager._env_time)


def test_a_graph_knows_the_shapes_of_a_time_step():
    environment = drifting(3, 4, 2)

    @tf.function
    def step():
        time_step = environment.step(tf.zeros([2], tf.int32))
        assert time_step.reward.shape == (2,)
        assert time_step.observation.shape == (2, 3)
        assert environment.current_time_step().observation.shape == (2, 3)
        assert environment.reset().observation.shape == (2, 3)

    step()


def test_users_own_dynamics_go_on_through_resets():
    environment = adapter.NonStationaryStochasticEnvironment(Counting())
    for step in range(10):
        observation = environment.reset().observation
        np.testing.assert_allclose(observation, np.array([[1, 2, 3], [0, 4, 5]]) + 2 * step)
        reward = environment.step(tf.zeros([2])).reward
        np.testing.assert_allclose(reward, [1, 0])
        assert int(environment._env_time) == 2 * (step + 1)


def test_the_variables_of_users_own_dynamics_are_in_a_saved_state():
    dynamics = Counting()
    environment = adapter.NonStationaryStochasticEnvironment(dynamics)
    environment.reset()
    environment.step(tf.zeros([2]))
    saved = environment.pyenv.get_state()
    for _ in range(3):
        environment.step(tf.zeros([2]))
    assert int(dynamics.calls) == 4
    environment.pyenv.set_state(saved)
    environment.step(tf.zeros([2]))
    assert int(dynamics.calls) == 2


def drifting_by_tensorflow(dim, actions, batch_size):
    def gumbel(*shape):
        return tfd.Gumbel(tf.zeros(shape), tf.ones(shape))

    return adapter.DriftingLinearEnvironment(
        gumbel(batch_size, dim), gumbel(dim, actions), gumbel(), gumbel(actions), seed=0
    )


def labelled(dim, actions, batch_size):
    contexts = tf.random.stateless_normal([7, dim], [0, 1])
    examples = tf.data.Dataset.from_tensor_slices((contexts, tf.range(7) % 2))
    rewards = tfd.Independent(normal(2, actions), 2)
    return adapter.ClassificationBanditEnvironment(examples, rewards, batch_size, seed=0)


@pytest.mark.parametrize("make", [drifting, piecewise, drifting_by_tensorflow, labelled])
def test_a_saved_state_repeats_the_run(make):
    env = make(3, 4, 2).pyenv
    env.reset()
    saved = env.get_state()
    actions = np.array([1, 3], np.int32)
    steps = [env.step(actions) for _ in range(6)]
    env.set_state(saved)
    assert_identical([env.step(actions) for _ in range(6)], steps)


@pytest.mark.parametrize("make", [drifting, piecewise])
def test_regret_in_a_graph_is_that_of_each_step(make):
    environment = make(4, 3, 5)
    dynamics = environment.environment_dynamics
    bandit = dynamics.bandit
    regret = tf_metrics.RegretMetric(dynamics.compute_optimal_reward)
    found = []
    expected = []

    def record(reward, reported):
        info = bandit.get_info()
        means = info["optimal_reward"]
        expected.append(np.mean(means - reward))
        found.append(reported)

    def observe(trajectory):
        with tf.control_dependencies([regret(trajectory).reward]):
            return tf.numpy_function(record, [trajectory.reward, regret.result()], [])

    policy = random_tf_policy.RandomTFPolicy(
        environment.time_step_spec(), environment.action_spec()
    )
    driver = dynamic_step_driver.DynamicStepDriver(environment, policy, [observe], num_steps=500)
    driver.run()
    assert len(found) == 100
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_optimum_has_the_additive_reward_which_tf_agents_forgets():
    environment = adapter.PiecewiseStochasticEnvironment(
        tfd.Normal(tf.zeros([2, 3]), 1e-3 * tf.ones([2, 3])),
        tfd.Deterministic(100),
        normal(3, 2),
        tfd.Deterministic(tf.constant([0.0, 9.0])),
    )
    observation = environment.reset().observation
    environment.step(tf.constant([0, 1]))
    dynamics = environment.environment_dynamics
    np.testing.assert_array_equal(dynamics.compute_optimal_action(observation), [1, 1])
    np.testing.assert_allclose(dynamics.compute_optimal_reward(observation), 9.0, atol=0.1)


def deterministic(table):
    return tfd.Independent(tfd.Deterministic(loc=table), reinterpreted_batch_ndims=2)


def remainders(count=128):
    """The numbers below `count`, with their remainders by 3 as labels."""
    context = tf.reshape(tf.range(count), [count, 1])
    return tf.data.Dataset.from_tensor_slices((context, tf.math.mod(context, 3)))


@pytest.mark.parametrize(
    ("context", "labels", "batch_size"),
    [
        (np.array([[0], [1]]), np.array([0, 1]), 1),
        (np.arange(100).reshape(10, 10), np.arange(10), 23),
    ],
)
def test_observations_are_examples(context, labels, batch_size):
    examples = tf.data.Dataset.from_tensor_slices((context, labels))
    environment = adapter.ClassificationBanditEnvironment(
        examples.repeat().shuffle(4 * batch_size), deterministic(tf.eye(len(labels))), batch_size
    )
    for _ in range(10):
        observation = environment.reset().observation.numpy()
        assert observation.shape == (batch_size, context.shape[1])
        assert all((row == context).all(axis=1).any() for row in observation)


def test_labels_are_rewarded_and_known_as_optimal_after_the_step():
    environment = adapter.ClassificationBanditEnvironment(
        remainders().shuffle(128), deterministic(tf.eye(3)), 32
    )
    for wrong in (0, 1):
        for _ in range(5):
            observation = environment.reset().observation
            labels = tf.math.mod(observation, 3)[:, 0]
            reward = environment.step(tf.math.mod(labels + wrong, 3)).reward
            np.testing.assert_array_equal(reward, np.full(32, 1.0 - wrong))
            np.testing.assert_array_equal(environment.compute_optimal_action(), labels)
            np.testing.assert_array_equal(environment.compute_optimal_reward(), np.ones(32))


def test_actions_with_a_dimension_of_one_are_those_without():
    environment = adapter.ClassificationBanditEnvironment(remainders(), deterministic(tf.eye(3)), 3)
    for shape in ((3,), (3, 1)):
        labels = tf.math.mod(environment.reset().observation, 3)
        reward = environment.step(tf.reshape(labels, shape)).reward
        np.testing.assert_array_equal(reward, np.ones(3))


def test_rewards_are_drawn_from_the_distribution_of_the_label_and_the_action():
    means = np.array([[0.2, 0.9], [0.5, 0.0]], np.float32)
    environment = adapter.ClassificationBanditEnvironment(
        tf.data.Dataset.from_tensor_slices((np.zeros((2, 1), np.float32), np.array([0, 1]))),
        tfd.Independent(tfd.Bernoulli(probs=means, dtype=tf.float32), 2),
        4000,
        seed=0,
    )
    for action in (0, 1):
        environment.reset()
        rewards = environment.step(tf.fill([4000], action)).reward.numpy().reshape(-1, 2)
        np.testing.assert_allclose(rewards.mean(axis=0), means[:, action], atol=0.05)


def test_examples_come_in_the_order_of_the_data_set_and_a_saved_state_repeats_it():
    environment = adapter.ClassificationBanditEnvironment(remainders(), deterministic(tf.eye(3)), 4)
    assert environment.reset().observation[:, 0].numpy().tolist() == [0, 1, 2, 3]
    saved = environment.pyenv.get_state()
    step = environment.step(tf.zeros([4], tf.int32))
    assert step.observation[:, 0].numpy().tolist() == [4, 5, 6, 7]
    environment.step(tf.zeros([4], tf.int32))
    environment.pyenv.set_state(saved)
    again = environment.step(tf.zeros([4], tf.int32))
    np.testing.assert_array_equal(again.observation, step.observation)


def test_batches_are_read_in_order_beyond_those_that_are_read_at_once():
    environment = adapter.ClassificationBanditEnvironment(
        remainders(1000), deterministic(tf.eye(3)), 3, repeat_dataset=False
    )
    found = [environment.reset().observation.numpy()[:, 0]]
    env = environment.pyenv
    action = np.zeros(3, np.int32)
    for step in range(332):
        if step in (63, 64, 200):
            saved = env.get_state()
            env.step(action)
            env.step(action)
            env.set_state(saved)
        found.append(env.step(action).observation[:, 0])
    assert np.concatenate(found).tolist() == list(range(999))
    with pytest.raises(tf.errors.OutOfRangeError):
        env.step(action)


def test_batches_of_many_bytes_are_read_one_by_one():
    read = []

    def note(position):
        read.append(int(position))
        return np.zeros(2**20, np.float32)

    def example(position):
        context = tf.ensure_shape(tf.numpy_function(note, [position], tf.float32), [2**20])
        return context, position % 3

    examples = tf.data.Dataset.range(20).map(example)
    environment = adapter.ClassificationBanditEnvironment(examples, deterministic(tf.eye(3)), 2)
    environment.reset()
    assert len(read) < 8


def test_a_data_set_that_is_not_repeated_ends():
    environment = adapter.ClassificationBanditEnvironment(
        remainders(9), deterministic(tf.eye(3)), 4, repeat_dataset=False, prefetch_size=2
    )
    environment.reset()
    environment.step(tf.zeros([4], tf.int32))
    with pytest.raises(tf.errors.OutOfRangeError):
        environment.step(tf.zeros([4], tf.int32))


def test_a_data_set_is_shuffled_on_request_only():
    ordered = np.arange(64)
    for buffer_size in (None, 64):
        environment = adapter.ClassificationBanditEnvironment(
            remainders(64), deterministic(tf.eye(3)), 64, None, buffer_size, seed=7
        )
        found = environment.reset().observation[:, 0].numpy()
        assert np.array_equal(found, ordered) == (buffer_size is None)
        np.testing.assert_array_equal(np.sort(found), ordered)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: adapter.ClassificationBanditEnvironment(remainders(), normal(3), 4),
            "reward_distribution must have event shape of rank 2",
        ),
        (
            lambda: adapter.ClassificationBanditEnvironment(
                tf.data.Dataset.range(4), deterministic(tf.eye(3)), 4
            ),
            "Dataset must have exactly two outputs",
        ),
        (
            lambda: adapter.DriftingLinearEnvironment(
                normal(2, 3), normal(4, 5), tfd.Normal(0.0, 1.0), normal(5)
            ),
            "Observation to reward has",
        ),
        (
            lambda: adapter.PiecewiseStochasticEnvironment(
                normal(3), tfd.Deterministic(4), normal(3, 5), normal(5)
            ),
            "`observation_distribution` must have batch shape with length 2",
        ),
        (
            lambda: adapter.RandomBanditEnvironment(normal(3, 4), normal(3)),
            "`observation_distribution` must have batch shape with length 1",
        ),
        (
            lambda: adapter.RandomBanditEnvironment(normal(3), normal(3, 4)),
            "`reward_distribution` must have batch shape with length 1",
        ),
        (
            lambda: adapter.RandomBanditEnvironment(
                normal(3), tfd.Independent(normal(3, 4), reinterpreted_batch_ndims=1)
            ),
            r"`reward_distribution` must have event_shape \(\)",
        ),
        (
            lambda: adapter.RandomBanditEnvironment(normal(3), normal(1)),
            "must have the same batch shape",
        ),
    ],
)
def test_distributions_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: adapter.NonStationaryStochasticEnvironment(3), "environment_dynamics is 3"),
        (
            lambda: adapter.RandomBanditEnvironment(np.zeros(3), normal(3)),
            "expected a distribution of TensorFlow Probability",
        ),
        (
            lambda: adapter.BernoulliActionMaskTFEnvironment(3, lambda x, y: (x, y), 0.5),
            "original_environment is 3; expected an environment of bandit_envs",
        ),
        (lambda: adapter.from_tf_agents(3), "env is 3; expected a PyEnvironment"),
    ],
)
def test_arguments_of_other_types_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def random_environment(shape, action_shape, batch_size):
    observations = tfd.Independent(normal(batch_size, *shape))
    action_spec = tensor_spec.TensorSpec(action_shape, tf.float32)
    return adapter.RandomBanditEnvironment(observations, normal(batch_size), action_spec, seed=0)


@pytest.mark.parametrize(
    ("shape", "action_shape", "batch_size"), [((), (), 1), ((3, 4, 5, 6), (2, 3, 4), 32)]
)
def test_random_observations_and_rewards_have_their_shapes_and_vary(
    shape, action_shape, batch_size
):
    environment = random_environment(shape, action_shape, batch_size)
    action = tf.zeros([batch_size, *action_shape])
    found = [(environment.reset().observation, environment.step(action).reward) for _ in range(2)]
    (first_seen, first_reward), (seen, reward) = found
    assert seen.shape == (batch_size, *shape)
    assert reward.shape == (batch_size,)
    assert not np.allclose(first_seen, seen)
    assert not np.allclose(first_reward, reward)


def test_actions_of_any_shape_are_taken_where_rewards_do_not_depend_on_them():
    environment = random_environment((3,), (2, 3, 4), 32)
    environment.reset()
    assert environment.step(tf.zeros([32])).reward.shape == (32,)
    with pytest.raises(ValueError, match=r"shape \(31,\)"):
        environment.step(tf.zeros([31]))


def masked(batch_size, num_actions, probability):
    action_spec = tensor_spec.BoundedTensorSpec((), tf.int32, 0, num_actions - 1)
    observations = tfd.Independent(normal(batch_size, 2), reinterpreted_batch_ndims=1)
    environment = adapter.RandomBanditEnvironment(observations, normal(batch_size), action_spec)
    return adapter.BernoulliActionMaskTFEnvironment(environment, lambda x, y: (x, y), probability)


@pytest.mark.parametrize(("batch_size", "num_actions"), [(7, 4), (10, 3)])
def test_masks_join_the_observation_and_allowed_actions_are_rewarded(batch_size, num_actions):
    environment = masked(batch_size, num_actions, 0.5)
    context, mask = environment.reset().observation
    assert context.shape == (batch_size, 2)
    assert mask.shape == (batch_size, num_actions)
    assert mask.dtype == tf.int32
    assert (tf.reduce_max(mask, axis=1).numpy() == 1).all()
    assert environment.time_step_spec().observation[1].shape == (num_actions,)
    assert environment.step(tf.argmax(mask, axis=1)).reward.shape == (batch_size,)


@pytest.mark.parametrize(("batch_size", "num_actions"), [(7, 4), (10, 3)])
def test_exactly_one_action_is_allowed_if_the_probability_is_zero_and_others_are_refused(
    batch_size, num_actions
):
    environment = masked(batch_size, num_actions, 0.0)
    _, mask = environment.reset().observation
    np.testing.assert_array_equal(tf.reduce_sum(mask, axis=1), np.ones(batch_size))
    wrong = tf.argmin(mask, axis=1)
    for kind in (tf.errors.InvalidArgumentError, ValueError):
        with pytest.raises(kind, match="available"):
            environment.step(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="available"):
        tf.function(environment.step)(wrong)


def test_actions_of_other_sizes_are_refused_beside_masks_as_elsewhere():
    environment = masked(4, 3, 0.5)
    environment.reset()
    with pytest.raises(ValueError, match=r"shape \(3,\); expected \(4,\)"):
        environment.step(tf.zeros([3], tf.int32))


def test_extra_actions_are_masked_beside_the_observation():
    env = adapter.StationaryStochasticPyEnvironment(
        lambda: np.ones((2, 3), np.float32), [lambda x: 0.0, lambda x: 1.0], batch_size=2
    )
    wrapped = adapter.ExtraDisabledActionsWrapper(env, 3)
    context, mask = wrapped.reset().observation
    assert context.shape == (2, 3)
    assert mask.tolist() == [[1, 1, 0, 0, 0]] * 2
    assert mask.dtype == np.int64
    assert wrapped.action_spec().maximum == 4
    assert wrapped.step(np.array([1, 0])).reward.tolist() == [1.0, 0.0]


def test_rewards_of_mushrooms_and_features_of_categories_are_those_of_tf_agents():
    rewards = adapter.mushroom_reward_distribution(0.0, 5.0, -35.0, 5.0, 0.5)
    theirs = dataset_utilities.mushroom_reward_distribution(0.0, 5.0, -35.0, 5.0, 0.5)
    assert type(rewards) is type(theirs)
    np.testing.assert_allclose(rewards.mean(), theirs.mean())
    often_bad = adapter.mushroom_reward_distribution(0.0, 5.0, -35.0, 4.0, 0.9)
    np.testing.assert_allclose(often_bad.mean()[0, 1], 0.9 * -35.0 + 0.1 * 4.0, rtol=1e-6)
    table = mushroom_rewards(0.0, 5.0, -35.0, 4.0, 0.9)
    np.testing.assert_allclose(often_bad.mean(), table.mean, rtol=1e-6)
    drawn = often_bad.sample(4000, seed=1).numpy()
    assert set(np.unique(drawn[:, 0, 1])) == {-35.0, 4.0}
    assert is_near(drawn[:, 0, 1] == -35.0, 0.9)


@pytest.mark.parametrize(
    "environment_class",
    [
        adapter.ClassificationBanditEnvironment,
        classification_environment.ClassificationBanditEnvironment,
    ],
)
def test_rewards_of_mushrooms_are_taken_by_our_environment_and_by_that_of_tf_agents(
    environment_class,
):
    rewards = adapter.mushroom_reward_distribution(0.0, 5.0, -35.0, 4.0, 1.0)
    contexts = np.zeros((2, 1), np.float32)
    examples = tf.data.Dataset.from_tensor_slices((contexts, np.arange(2, dtype=np.int32)))
    environment = environment_class(examples, rewards, 2)
    environment.reset()
    assert environment.step(tf.ones([2], tf.int32)).reward.numpy().tolist() == [-35.0, 5.0]
