import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment, tf_py_environment, utils
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs import KArmedTestbed, StationaryStochasticPerArmPyEnvironment
from bandit_envs.adapters.tf_agents import as_tf_agents
from bandit_envs.sampling import BatchFunction, Integers
from tests.adapters.tf_agents_examples import B, K, k_armed, per_arm

ENVIRONMENTS = {
    "testbed": k_armed,
    "testbed in float64": lambda: k_armed(dtype=np.float64),
    "testbed with a horizon": lambda: k_armed(horizon=3),
    "testbed of one row": lambda: k_armed(batch_size=1),
    "per-arm": per_arm,
    "per-arm with a horizon": lambda: per_arm(horizon=3),
    "per-arm, integers": lambda: StationaryStochasticPerArmPyEnvironment(
        lambda: [1, 2], lambda: [3, 4], K, sum, batch_size=B
    ),
}


@pytest.fixture(params=ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def env(request):
    return request.param()


def tensors_equal(time_step, other):
    return all(
        np.array_equal(leaf, other_leaf)
        for leaf, other_leaf in zip(tf.nest.flatten(time_step), tf.nest.flatten(other))
    )


def test_a_stream_becomes_a_bandit_and_an_env_with_horizon_an_environment(env):
    adapted = as_tf_agents(env)
    assert isinstance(adapted, py_environment.PyEnvironment)
    is_bandit = isinstance(adapted, bandit_py_environment.BanditPyEnvironment)
    assert is_bandit == (env.horizon is None)


def test_tf_agents_validates_it(env):
    utils.validate_py_environment(as_tf_agents(env), episodes=10)


def test_the_specs_are_those_of_tf_agents_and_say_the_same(env):
    adapted = as_tf_agents(env)
    assert adapted.action_spec() == array_spec.BoundedArraySpec((), np.int32, 0, K - 1, "action")
    ours = tf.nest.flatten((env.observation_spec(), env.reward_spec()))
    theirs = tf.nest.flatten((adapted.observation_spec(), adapted.reward_spec()))
    for spec, converted in zip(ours, theirs):
        assert isinstance(converted, array_spec.ArraySpec)
        assert (converted.shape, converted.dtype) == (spec.shape, spec.dtype)
        assert converted.name == spec.name
    assert adapted.time_step_spec().reward == adapted.reward_spec()
    tensor_spec.from_spec(adapted.time_step_spec())


def test_bounds_of_an_observation_are_kept():
    spec = as_tf_agents(per_arm(Integers(1, 1, K))).observation_spec()["num_actions"]
    assert spec == array_spec.BoundedArraySpec((), np.int32, 1, K)


def test_batch_size_and_name_are_kept(env):
    adapted = as_tf_agents(env)
    assert adapted.batched
    assert (adapted.batch_size, adapted.name) == (env.batch_size, env.name)
    assert adapted.wrapped_env() is env


def test_its_steps_are_those_of_the_environment(env):
    adapted, same = as_tf_agents(copy.deepcopy(env)), env
    for _ in range(5):
        action = np.arange(env.batch_size)
        time_step = adapted.step(action)
        assert isinstance(time_step, ts.TimeStep)
        assert tensors_equal(time_step, same.step(action))
        assert adapted.current_time_step() is time_step


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_tensors_have_exactly_the_dtypes_and_shapes_of_the_spec(env, in_graph):
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    step = tf.function(environment.step) if in_graph else environment.step
    action = tf.zeros(env.batch_size, tf.int32)
    time_steps = [environment.reset(), *(step(action) for _ in range(4))]
    spec = tf.nest.flatten(environment.time_step_spec())
    for time_step in time_steps:
        for tensor, leaf in zip(tf.nest.flatten(time_step), spec):
            assert tensor.dtype == leaf.dtype
            assert tensor.shape == (env.batch_size, *leaf.shape)
            assert tensor.numpy().dtype == leaf.dtype.as_numpy_dtype


def test_an_episode_ends_and_starts_again_under_tf_agents():
    adapted = as_tf_agents(k_armed(horizon=2))
    time_steps = [adapted.step(np.zeros(B, int)) for _ in range(6)]
    kinds = [int(time_step.step_type[0]) for time_step in time_steps]
    assert kinds == [0, 1, 2, 0, 1, 2]
    assert adapted.should_reset(time_steps[2])
    assert not adapted.should_reset(time_steps[3])


def test_a_stream_is_never_reset_by_a_step():
    adapted = as_tf_agents(k_armed())
    assert adapted.reset().is_first().all()
    for _ in range(3):
        time_step = adapted.step(np.zeros(B, int))
        assert time_step.is_last().all()
        assert not adapted.should_reset(time_step)


def test_the_hooks_of_a_bandit_are_there():
    adapted = as_tf_agents(k_armed(reward_std=0.0))
    observation = adapted.reset().observation
    np.testing.assert_array_equal(adapted._observe(), observation)
    expected = adapted.wrapped_env().expected_rewards()
    np.testing.assert_array_equal(adapted._apply_action([0, 1]), expected[[0, 1], [0, 1]])
    assert adapted._empty_observation().shape == observation.shape[1:]


def test_an_environment_that_has_been_stepped_goes_on_where_it_is():
    env = k_armed()
    time_step = env.reset()
    adapted = as_tf_agents(env)
    assert tensors_equal(adapted.current_time_step(), time_step)
    assert adapted.step(np.zeros(B, int)).is_last().all()


def test_seed_state_and_info_pass_through():
    adapted = as_tf_agents(k_armed())
    assert adapted.seed(5) == [5]
    adapted.reset()
    state = adapted.get_state()
    first = [adapted.step(np.zeros(B, int)) for _ in range(3)]
    info = adapted.get_info()
    assert set(info) == {"expected_reward", "optimal_reward", "optimal_action"}
    adapted.set_state(state)
    assert adapted.current_time_step().is_first().all()
    again = [adapted.step(np.zeros(B, int)) for _ in range(3)]
    assert all(tensors_equal(one, other) for one, other in zip(first, again))


def test_a_state_without_time_step_can_be_returned_to():
    adapted = as_tf_agents(k_armed())
    state = adapted.get_state()
    adapted.reset()
    adapted.set_state(state)
    with pytest.raises(ValueError, match="not initialized"):
        adapted.current_time_step()
    assert adapted.step(np.zeros(B, int)).is_first().all()


def test_render_and_close_pass_through():
    class Shown(KArmedTestbed):
        closed = False

        def render(self, mode="rgb_array", row=0):
            return mode

        def close(self):
            self.closed = True

    env = Shown(K)
    with as_tf_agents(env) as adapted:
        assert adapted.render("ansi") == "ansi"
    assert env.closed


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: k_armed(horizon=3)])
def test_it_survives_pickle_and_deepcopy(make, duplicate):
    adapted = as_tf_agents(make())
    adapted.reset()
    other = duplicate(adapted)
    assert type(other) is type(adapted)
    for _ in range(4):
        assert tensors_equal(adapted.step(np.ones(B, int)), other.step(np.ones(B, int)))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: k_armed(horizon=3)])
def test_what_a_copy_hands_out_cannot_be_written(make, duplicate):
    adapted = as_tf_agents(make())
    adapted.reset()
    adapted.step(np.ones(B, int))
    other = duplicate(adapted)
    assert tensors_equal(other.current_time_step(), adapted.current_time_step())
    for leaf in tf.nest.flatten(other.current_time_step()):
        with pytest.raises(ValueError, match="read-only"):
            leaf[...] = 0
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            leaf.flags.writeable = True


def test_a_bad_action_is_refused_and_nothing_changes():
    adapted = as_tf_agents(k_armed())
    time_step = adapted.reset()
    before = pickle.dumps(adapted.get_state())
    for action in ([0, K], [-1, 0], [0, 1, 2], [0.0, 1.0]):
        with pytest.raises((TypeError, ValueError), match="action"):
            adapted.step(np.array(action))
    assert pickle.dumps(adapted.get_state()) == before
    assert adapted.current_time_step() is time_step


@pytest.mark.parametrize("env", [None, "testbed", as_tf_agents(k_armed())])
def test_what_is_no_environment_of_this_package_is_refused(env):
    with pytest.raises(TypeError, match="expected a PyEnvironment of bandit_envs"):
        as_tf_agents(env)


def test_an_unavailable_arm_is_refused_here_as_everywhere():
    always_two = BatchFunction(lambda rng, size: np.full((*size, 1), 2), 1, np.int32)
    adapted = as_tf_agents(per_arm(always_two))
    adapted.reset()
    with pytest.raises(ValueError, match=r"action\[1\] is 2; expected 0 <= action < 2"):
        adapted.step(np.array([0, 2]))
