"""The replacements of TF-Agents' environments."""

import copy
import importlib
import inspect
import itertools
import pickle

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
import tensorflow as tf

from bandit_envs.adapters.tf_agents import environments
from bandit_envs.environments.registry import ENVIRONMENTS

B = 4

MODULES = {
    "bernoulli": "bernoulli_py_environment",
    "piecewise_bernoulli": "piecewise_bernoulli_py_environment",
    "per_arm": "stationary_stochastic_per_arm_py_environment",
    "stationary_stochastic": "stationary_stochastic_py_environment",
    "structured": "stationary_stochastic_structured_py_environment",
    "ranking": "ranking_environment",
    "positional_bias": "ranking_environment",
    "wheel": "wheel_py_environment",
}
"""By id: TF-Agents' module."""


def contexts():
    return np.random.randint(-10, 10, [B, 3]).astype(np.float32)


def user():
    return {"id": np.array(["a", "b"]), "age": np.array(30)}


def item():
    return np.random.normal(size=3)


def pay(*features):
    return 2.0


def user_vector():
    return np.random.normal(size=3)


def two():
    return np.int32(2)


def relevance(user, item):
    return 0.5


ARGUMENTS = {
    "bernoulli": lambda: ([0.1, 0.9], B),
    "piecewise_bernoulli": lambda: ([[0.0, 1.0], [1.0, 0.0]], itertools.repeat(2), B),
    "per_arm": lambda: (user_vector, item, 2, pay, two, B),
    "stationary_stochastic": lambda: (contexts, [np.sum, np.prod], None, B),
    "structured": lambda: (user, item, 2, pay, B),
    "wheel": lambda: (0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01, B),
}
SLATES = {
    "ranking": lambda: (user_vector, item, 7, 3, np.eye(3), 1, 1, False, None, B),
    "positional_bias": lambda: (user_vector, item, relevance, 7, [0.9, 0.5, 0.1], B),
}


def upstream(name):
    """Returns TF-Agents' module of an id."""
    return importlib.import_module(f"tf_agents.bandits.environments.{MODULES[name]}")


def downstream(name):
    """Returns our module of an id."""
    return importlib.import_module(f"{environments.__name__}.{MODULES[name]}")


def classes(name):
    """Returns our class of an id, and TF-Agents'."""
    class_name = ENVIRONMENTS[name].upstream
    return [getattr(module, class_name) for module in (downstream(name), upstream(name))]


def make(name, **keywords):
    return classes(name)[0](*ARGUMENTS[name](), **keywords)


@pytest.mark.parametrize("name", MODULES)
def test_it_has_the_constructor_of_tf_agents_with_a_seed_added(name):
    ours, theirs = (list(inspect.signature(each).parameters.values()) for each in classes(name))
    for our, their in zip(ours, theirs):
        assert our.name == their.name
        assert their.default in (their.empty, our.default)
    added = [parameter.name for parameter in ours[len(theirs) :]]
    assert "seed" in added
    assert "horizon" not in added


@pytest.mark.parametrize("name", [*ARGUMENTS, *SLATES])
def test_its_time_steps_are_as_those_of_tf_agents(name):
    ours, theirs = (each(*{**ARGUMENTS, **SLATES}[name]()) for each in classes(name))
    action = np.array([[0, 1, 1]] * B if name in SLATES else [1] * B)
    assert ours.action_spec() == theirs.action_spec()
    assert ours.observation_spec() == theirs.observation_spec()
    for our, their in ((ours.reset(), theirs.reset()), [e.step(action) for e in (ours, theirs)]):
        tf.nest.assert_same_structure(our, their)
        for our_leaf, their_leaf in zip(tf.nest.flatten(our), tf.nest.flatten(their)):
            assert (our_leaf.dtype, our_leaf.shape) == (their_leaf.dtype, their_leaf.shape)
        np.testing.assert_array_equal(our.step_type, their.step_type)
        np.testing.assert_array_equal(our.discount, their.discount)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_gin_configures_it_under_its_name(name):
    class_name = ENVIRONMENTS[name].upstream
    gin.parse_config(f"{class_name}.batch_size = {B}\n{class_name}.seed = 0")
    try:
        arguments = ARGUMENTS[name]()
        env = classes(name)[0](*arguments[: arguments.index(B)])
    finally:
        gin.clear_config()
    assert env.reset().is_first().shape == (B,)


def test_the_global_seed_of_numpy_does_not_repeat_a_run_and_its_own_seed_does():
    def rewards(**keywords):
        np.random.seed(0)
        env = environments.bernoulli_py_environment.BernoulliPyEnvironment([0.5], 200, **keywords)
        env.reset()
        return env.step([0] * 200).reward.tolist()

    assert rewards() != rewards()
    assert rewards(seed=0) == rewards(seed=0)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("name", ["bernoulli", "per_arm", "structured", "wheel"])
def test_it_survives_pickle_and_deepcopy(name, duplicate):
    env = make(name, seed=0)
    env.reset()
    other = duplicate(env)
    assert type(other) is classes(name)[0]
    reward, same = (each.step([1] * B).reward for each in (env, other))
    assert reward.shape == (B,)
    if name in ("bernoulli", "wheel"):
        np.testing.assert_array_equal(reward, same)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_refuses_a_wrong_number_of_actions_in_the_words_of_tf_agents(name):
    env = make(name)
    env.reset()
    with pytest.raises(ValueError, match=r"Number of actions must match batch size\."):
        env.step([0, 1])


def test_one_action_is_taken_in_all_rows_of_a_piecewise_bandit():
    env = make("piecewise_bernoulli")
    env.reset()
    rewards = [env.step([1]).reward.tolist() for _ in range(4)]
    assert rewards == [[1.0] * B] * 2 + [[0.0] * B] * 2


def test_the_optima_of_the_wheel_are_functions_beside_it():
    observation = np.array([[0.1, 0.1], [0.9, 0.1], [-0.9, 0.0]])
    theirs = upstream("wheel")
    no_axis = np.where(observation == 0.0, 0.01, observation)  # TF-Agents refuses zeros
    for function, arguments in (
        ("compute_optimal_action", (0.5,)),
        ("compute_optimal_reward", (0.5, 1.2, 50.0)),
    ):
        ours = getattr(downstream("wheel"), function)(observation, *arguments)
        np.testing.assert_array_equal(ours, getattr(theirs, function)(no_axis, *arguments))
