import copy
import importlib.metadata
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment, tf_py_environment, utils
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    KArmedTestbed,
    OutcomeStream,
    OutcomeTableBandit,
    PiecewiseBernoulliPyEnvironment,
    RandomPolicy,
    StationaryStochasticPerArmPyEnvironment,
    StationaryStochasticPyEnvironment,
    StepDriver,
)
from bandit_envs.adapters.tf_agents import (
    TFAgentsBanditEnvironment,
    as_tf_agents,
    optimal_action_fn,
    optimal_reward_fn,
    tensor_specs,
)
from bandit_envs.adapters.tf_agents.versions import check_versions
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import LinearActionReward
from bandit_envs.sampling import BatchFunction, Integers, Normal
from bandit_envs.wrappers import (
    AffineReward,
    Budget,
    DelayedRewards,
    OneProblem,
    RandomActionMask,
)

from .examples import B, Countdown, K, Mine, Slates, TwoRewards, k_armed, per_arm, twice_wrapped

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
    "slates": lambda: Slates(batch_size=B),
    "two rewards": lambda: TwoRewards(batch_size=B),
    "outcomes": lambda: OutcomeTableBandit(np.ones((4, 2)), np.eye(4), batch_size=B),
    "outcomes with a budget": lambda: Budget(
        OutcomeStream(np.ones((2 * B, 2)), *2 * [np.ones((2 * B, K))], batch_size=B), 2.0
    ),
    "a user's own": lambda: Mine([0.1, 0.9], batch_size=B),
}


@pytest.fixture(params=ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def env(request):
    return request.param()


def tensors_equal(time_step, other):
    return all(
        np.array_equal(leaf, other_leaf)
        for leaf, other_leaf in zip(tf.nest.flatten(time_step), tf.nest.flatten(other))
    )


def test_a_bandit_without_a_horizon_becomes_one_and_any_other_an_environment(env):
    adapted = as_tf_agents(env)
    assert isinstance(adapted, py_environment.PyEnvironment)
    is_bandit = isinstance(adapted, bandit_py_environment.BanditPyEnvironment)
    assert is_bandit == (env.horizon is None)


def test_tf_agents_validates_it(env):
    utils.validate_py_environment(as_tf_agents(env), episodes=10)


def test_the_specs_are_those_of_tf_agents_and_say_the_same(env):
    adapted = as_tf_agents(env)
    ours = tf.nest.flatten((env.observation_spec(), env.action_spec(), env.reward_spec()))
    theirs = tf.nest.flatten(
        (adapted.observation_spec(), adapted.action_spec(), adapted.reward_spec())
    )
    for spec, converted in zip(ours, theirs):
        assert isinstance(converted, array_spec.ArraySpec)
        assert (converted.shape, converted.dtype) == (spec.shape, spec.dtype)
        assert converted.name == spec.name
    assert adapted.time_step_spec().reward == adapted.reward_spec()
    tensor_spec.from_spec(adapted.time_step_spec())


def some_action(env):
    return np.zeros((env.batch_size, *env.action_spec().shape), np.int32)


def test_its_steps_are_those_of_the_environment(env):
    adapted, same = as_tf_agents(copy.deepcopy(env)), env
    assert (adapted.batched, adapted.batch_size, adapted.name) == (True, env.batch_size, env.name)
    for _ in range(5):
        time_step = adapted.step(some_action(env))
        assert isinstance(time_step, ts.TimeStep)
        assert tensors_equal(time_step, same.step(some_action(env)))
        assert tensors_equal(time_step, adapted.current_time_step())


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_tensors_have_exactly_the_dtypes_and_shapes_of_the_spec(env, in_graph):
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    step = tf.function(environment.step) if in_graph else environment.step
    action = tf.constant(some_action(env))
    time_steps = [environment.reset(), *(step(action) for _ in range(4))]
    spec = tf.nest.flatten(environment.time_step_spec())
    for time_step in time_steps:
        for tensor, leaf in zip(tf.nest.flatten(time_step), spec):
            assert tensor.dtype == leaf.dtype
            assert tensor.shape == (env.batch_size, *leaf.shape)
            assert tensor.numpy().dtype == leaf.dtype.as_numpy_dtype


@pytest.mark.parametrize(
    ("horizon", "kinds"), [(2, [0, 1, 2, 0, 1, 2]), (None, [0, 2, 2, 2, 2, 2])]
)
def test_only_an_episode_with_a_horizon_ends_and_starts_again(horizon, kinds):
    adapted = as_tf_agents(k_armed(horizon=horizon))
    time_steps = [adapted.step(np.zeros(B, int)) for _ in range(6)]
    assert [int(time_step.step_type[0]) for time_step in time_steps] == kinds
    assert adapted.should_reset(time_steps[2]) == (horizon == 2)


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


@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: k_armed(horizon=9)])
def test_what_it_returns_cannot_be_written_to(make):
    adapted = as_tf_agents(make())
    for _ in range(3):
        for time_step in (adapted.step(np.ones(B, int)), adapted.current_time_step()):
            for leaf in tf.nest.flatten(time_step):
                with pytest.raises(ValueError, match="read-only"):
                    leaf[...] = 0


def run_of(adapted):
    adapted.seed(5)
    time_steps = [adapted.step([0] * B) for _ in range(4)]
    return [np.concatenate([np.ravel(leaf) for leaf in tf.nest.flatten(t)]) for t in time_steps]


@pytest.mark.parametrize("name", ["testbed", "drifting_linear", "piecewise_linear", "adversarial"])
def test_seeding_anew_starts_everything_anew(name):
    adapted = as_tf_agents(find_environment(name).make(batch_size=B, seed=0))
    first = run_of(adapted)
    assert first[0][0] == 0  # the first step resets
    np.testing.assert_array_equal(run_of(adapted), first)


def test_a_bad_action_is_refused_and_nothing_changes():
    always_two = BatchFunction(lambda rng, size: np.full((*size, 1), 2), 1, np.int32)
    for env, actions in (
        (k_armed(), ([0, K], [-1, 0], [0, 1, 2], [0.0, 1.0])),
        (per_arm(always_two), ([0, 2], [4, 0])),  # not available
    ):
        adapted = as_tf_agents(env)
        adapted.reset()
        before = pickle.dumps(adapted.get_state())
        for action in actions:
            with pytest.raises((TypeError, ValueError), match="action"):
                adapted.step(np.array(action))
        assert pickle.dumps(adapted.get_state()) == before


@pytest.mark.parametrize("env", [None, "testbed", as_tf_agents(k_armed())])
def test_what_is_no_environment_of_this_package_is_refused(env):
    with pytest.raises(TypeError, match="env"):
        as_tf_agents(env)


@pytest.mark.parametrize("wrap", [lambda env: env, tf_py_environment.TFPyEnvironment])
def test_an_environment_that_is_adapted_already_is_named_where_none_is_expected(wrap):
    adapted = wrap(as_tf_agents(k_armed()))
    name = type(adapted).__name__
    with pytest.raises(TypeError, match=f"env is a {name}, which is .* of TF-Agents already"):
        as_tf_agents(adapted)
    with pytest.raises(TypeError, match=rf"env is a {name}, .* such as its wrapped_env\(\)"):
        StepDriver(adapted, RandomPolicy(num_actions=K, batch_size=B))


class Halves(BanditPyEnvironment):
    """Shows a number and a mask of the actions on its side of the middle; action a pays a."""

    def __init__(self, **keywords):
        spec = {
            "mask": ArraySpec((K,), np.bool_, "mask"),
            "number": ArraySpec((), np.float32, "number"),
            "flag": ArraySpec((), np.bool_, "flag"),
        }
        super().__init__(spec, K, **{"batch_size": B, "seed": 0, **keywords})

    def _initial_state(self, rng):
        return rng.normal(size=self.batch_size).astype(np.float32)

    def _next_state(self, rng, number, action):
        return self._initial_state(rng)

    def _observe(self, number):
        return {"mask": self._available(number), "number": number, "flag": number > 0}

    def _available(self, number):
        return (np.arange(K) < K // 2) == (number < 0)[:, np.newaxis]

    def _state_of(self, observation):
        return observation["number"]

    def _expected_rewards(self, number):
        return np.tile(np.arange(K, dtype=np.float32), (len(number), 1))

    def _draw_rewards(self, rng, number, action):
        return action.astype(np.float32)


MASKED = {
    "a mask of its own": Halves,
    "a mask of its own, and a horizon": lambda: Halves(horizon=3),
    "a wrapper's mask": lambda: RandomActionMask(k_armed(), 0.5),
    "a wrapper's mask of items": lambda: RandomActionMask(per_arm(), 0.5),
}


@pytest.mark.filterwarnings("ignore:.* has a horizon")
@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_masks_are_of_int32_as_those_of_tf_agents(make):
    env, adapted = make(), as_tf_agents(make())
    spec = adapted.observation_spec()["mask"]
    assert (spec.shape, spec.dtype, spec.name) == ((K,), np.int32, "mask")
    steps = [(env.reset(), adapted.reset())]
    for _ in range(4):
        action = env.current_time_step().observation["mask"].argmax(axis=1)
        steps.append((env.step(action), adapted.step(action)))
    for time_step, seen in steps:
        assert seen.observation["mask"].dtype == np.int32
        assert np.array_equal(seen.observation["mask"], time_step.observation["mask"])
        assert not seen.observation["mask"].flags.writeable
        others = [key for key in seen.observation if key != "mask"]
        for key in others:
            assert seen.observation[key].dtype == time_step.observation[key].dtype
    assert tensors_equal(adapted.current_time_step(), steps[-1][1])
    adapted.set_state(adapted.get_state())
    assert tensors_equal(adapted.current_time_step(), steps[-1][1])


def test_a_subclass_of_an_adapted_bandit_sees_masks_of_int32():
    class Mine(TFAgentsBanditEnvironment):
        def _apply_action(self, action):
            return 2.0 * super()._apply_action(action)

    adapted = Mine(Halves())
    mask = adapted.reset().observation["mask"]
    time_step = adapted.step(mask.argmax(axis=1))
    assert time_step.reward.tolist() == (2.0 * mask.argmax(axis=1)).tolist()
    assert time_step.observation["mask"].dtype == np.int32
    assert adapted._observe()["mask"].dtype == np.int32


@pytest.mark.parametrize("make", [Halves, lambda: RandomActionMask(Halves(), 0.5)])
def test_baselines_of_a_bandit_with_masks_are_what_is_optimal(make):
    env = make()
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    optimal_reward, optimal_action = optimal_reward_fn(environment), optimal_action_fn(environment)
    observation = environment.reset().observation
    np.testing.assert_array_equal(optimal_reward(observation), env.optimal_reward())
    np.testing.assert_array_equal(optimal_action(observation), env.optimal_action())


def test_a_bandit_with_a_horizon_is_not_for_bandit_agents():
    with pytest.warns(UserWarning, match="k-armed testbed has a horizon, so bandit agents"):
        as_tf_agents(k_armed(horizon=3))
    with pytest.raises(ValueError, match="expected a bandit of bandit_envs without a horizon"):
        TFAgentsBanditEnvironment(k_armed(horizon=3))


@pytest.mark.parametrize("delay", [0, 3])
def test_delayed_rewards_are_not_for_agents_of_tf_agents(delay):
    with pytest.warns(UserWarning, match="rewards of .* come later, but agents of TF-Agents"):
        as_tf_agents(DelayedRewards(k_armed(batch_size=1), delay))


def test_a_warning_says_that_agents_learn_one_model_from_several_problems():
    with pytest.warns(UserWarning, match="2 rows of k-armed testbed .* OneProblem"):
        as_tf_agents(k_armed())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_tf_agents(OneProblem(k_armed()))
        as_tf_agents(k_armed(batch_size=1))
        as_tf_agents(per_arm())


HAS_KERAS_3 = tf.__version__ >= "2.16"
"""Whether TensorFlow has Keras 3, unless TF_USE_LEGACY_KERAS is set."""


def said(word):
    """Returns what the check says of a word."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_versions()
    return [str(each.message) for each in caught if word in str(each.message)]


def test_importing_it_warns_of_keras_3(tmp_path, monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    if not HAS_KERAS_3:
        assert said("KERAS") == []
        return
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    script = tmp_path / "users_script.py"
    script.write_text("import bandit_envs.adapters.tf_agents.examples\n")
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "users_script.py:1: UserWarning: networks and neural agents" in done.stderr
    assert "TF_USE_LEGACY_KERAS" in done.stderr


def test_keras_2_is_refused_where_it_is_asked_for_and_not_there(monkeypatch):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    if HAS_KERAS_3:
        assert said("KERAS") == []
        return
    with pytest.raises(ImportError, match="TF_USE_LEGACY_KERAS is set without tf_keras; unset it"):
        check_versions()


@pytest.mark.parametrize("version", ["4.5.0", "4.6.0", "4.16.0"])
def test_it_says_which_typing_extensions_break_tensorflow(version, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    is_broken = not HAS_KERAS_3 and version != "4.5.0"
    found = said("typing_extensions")
    assert len(found) == is_broken
    for text in found:
        assert f"TensorFlow {tf.__version__} fails with typing_extensions {version}" in text
        assert "pip install typing-extensions==4.5.0" in text


@pytest.mark.parametrize("adapt", [as_tf_agents, lambda env: env], ids=["adapted", "as it is"])
@pytest.mark.parametrize("num_actions", [None, Integers(1, 1, K + 1)])
def test_baselines_are_functions_of_an_observation_that_determines_them(adapt, num_actions):
    env = adapt(per_arm(num_actions))
    optimal_reward, optimal_action = optimal_reward_fn(env), optimal_action_fn(env)
    other = per_arm(num_actions, batch_size=7, seed=1)
    observation = tf.nest.map_structure(tf.constant, other.reset().observation)
    for function in (lambda fn: fn, tf.function):
        rewards, actions = (function(fn)(observation) for fn in (optimal_reward, optimal_action))
        np.testing.assert_allclose(rewards, other.optimal_reward(), rtol=1e-6)
        np.testing.assert_array_equal(actions, other.optimal_action())
        assert (rewards.dtype, actions.dtype) == (tf.float32, tf.int32)


@pytest.mark.parametrize("make", [k_armed, lambda: AffineReward(k_armed(), scale=3.0)])
def test_baselines_of_any_other_bandit_are_what_is_optimal_at_a_step(make):
    env = make()
    optimal_reward, optimal_action = optimal_reward_fn(env), optimal_action_fn(env)
    for time_step in (env.reset(), env.step([0] * B), env.step([1] * B), env.reset()):
        observation = tf.constant(time_step.observation)
        expected = env.optimal_reward().astype(np.float32)  # a wrapper's means are float64
        np.testing.assert_array_equal(optimal_reward(observation), expected)
        np.testing.assert_array_equal(optimal_action(observation), env.optimal_action())


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: k_armed(drift_std=1.0),
        lambda: twice_wrapped(per_arm()),
        lambda: find_environment("drifting_linear").make(drift_std=1.0, batch_size=B, seed=0),
        lambda: find_environment("piecewise_linear").make(interval=2, batch_size=B, seed=0),
        lambda: find_environment("piecewise_bernoulli").make(steps=9, batch_size=B, seed=0),
        lambda: RandomActionMask(k_armed(), 0.5),
        lambda: find_environment("ranking").make(batch_size=B, seed=0),
    ],
    ids=["testbed", "wrapped", "drifting", "piecewise", "piecewise Bernoulli", "masked", "slates"],
)
def test_baselines_of_what_changes_are_those_of_the_step_that_was_taken(make, in_graph):
    env = make()
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    reward_fn, action_fn = optimal_reward_fn(env), optimal_action_fn(env)

    def after_a_step(action, observation):
        environment.step(action)
        return reward_fn(observation), action_fn(observation)

    run = tf.function(after_a_step) if in_graph else after_a_step
    observation = environment.reset().observation
    for _ in range(6):
        expected = env.optimal_reward(), env.optimal_action()
        optima = run(tf.constant(env.optimal_action()), observation)
        np.testing.assert_allclose(optima[0], expected[0], rtol=1e-6)
        np.testing.assert_array_equal(optima[1], expected[1])
        observation = environment.current_time_step().observation


@pytest.mark.parametrize(
    "make",
    [
        lambda: find_environment("drifting_linear").make(drift_std=1.0, batch_size=B, seed=0),
        lambda: PiecewiseBernoulliPyEnvironment([[0.1, 0.9], [0.2, 0.5]], 1, B, seed=0),
        lambda: RandomActionMask(k_armed(drift_std=1.0), 0.5),
    ],
    ids=["drifting", "piecewise Bernoulli", "masked"],
)
def test_a_graph_may_ask_for_the_optimum_of_a_step_before_it_is_taken(make):
    env = make()
    adapted, function = as_tf_agents(env), tf.function(optimal_reward_fn(env))
    observation = tf.nest.map_structure(tf.constant, adapted.reset().observation)
    for is_early in (True, True, False, False, True, False, True, True):
        expected = env.optimal_reward()
        found = function(observation) if is_early else None
        time_step = adapted.step(env.optimal_action())
        found = function(observation) if found is None else found
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        observation = tf.nest.map_structure(tf.constant, time_step.observation)


@pytest.mark.parametrize("baseline", [optimal_reward_fn, optimal_action_fn])
def test_a_baseline_of_what_has_none_is_refused(baseline):
    with pytest.raises(NotImplementedError):
        baseline(per_arm(reward=lambda vector: vector.sum()))
    with pytest.raises(ValueError, match="horizon"):
        baseline(k_armed(horizon=3))
    with pytest.raises(TypeError, match="env"):
        baseline(None)


@pytest.mark.parametrize("baseline", [optimal_reward_fn, optimal_action_fn])
def test_a_baseline_of_vectors_of_rewards_is_refused(baseline):
    model = LinearActionReward(np.ones((3, 2, 2)))
    with pytest.raises(NotImplementedError):
        baseline(StationaryStochasticPyEnvironment(Normal(2), model))


def test_a_baseline_takes_an_environment_of_tensorflow():
    env = per_arm()
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    observation = environment.reset().observation
    np.testing.assert_array_equal(optimal_reward_fn(environment)(observation), env.optimal_reward())
    np.testing.assert_array_equal(optimal_action_fn(environment)(observation), env.optimal_action())


def test_a_baseline_leaves_the_environment_as_it_is_though_a_generator_is_not_copied():
    def durations():
        while True:
            yield 2

    env = PiecewiseBernoulliPyEnvironment([[0.0, 1.0], [1.0, 0.5]], durations(), B, seed=0)
    env.reset()
    env.step([0] * B)
    reward_fn, action_fn = optimal_reward_fn(env), optimal_action_fn(env)
    found = []
    for _ in range(4):
        observation = env.step([0] * B).observation
        found.append((reward_fn(observation).numpy()[0], action_fn(observation).numpy()[0]))
    assert found == [(1.0, 1), (1.0, 0), (1.0, 0), (1.0, 1)]


class Ends(Countdown):
    """Says itself whether a step resets, and has a discount of its own."""

    def __init__(self, starts, handle_auto_reset):
        super().__init__(starts)
        self._handle_auto_reset = handle_auto_reset

    def discount_spec(self):
        return BoundedArraySpec((), np.float32, 0.0, 2.0, "mine")


@pytest.mark.parametrize("handles", [False, True])
def test_an_environment_says_itself_whether_a_step_resets(handles):
    def steps(env):
        env.reset()
        action = {"push": np.zeros((2, 2), np.float32), "choice": np.ones(2, np.int32)}
        return [env.step(action).step_type.tolist() for _ in range(4)]

    env = Ends([2, 2], handles)
    adapted = as_tf_agents(Ends([2, 2], handles))
    assert not isinstance(adapted, bandit_py_environment.BanditPyEnvironment)
    found = steps(env)
    assert found == [[1, 1], [2, 2], [0, 0] if handles else [2, 2], [1, 1] if handles else [2, 2]]
    assert steps(adapted) == found
    for spec in (adapted.discount_spec(), adapted.time_step_spec().discount):
        assert (spec.maximum, spec.name) == (2.0, "mine")
    tf_environment = tf_py_environment.TFPyEnvironment(adapted)
    for time_step_spec in (tf_environment.time_step_spec(), tensor_specs(env)[0]):
        assert time_step_spec.discount.name == "mine"
    assert env.time_step_spec().discount == env.discount_spec()
    assert adapted.should_reset(adapted.current_time_step()) == env.should_reset(
        env.current_time_step()
    )
