"""What the registry says of each environment is true."""

import inspect

import numpy as np
import pytest

from bandit_envs import RandomPolicy, RandomSlatePolicy, StepDriver, environments, wrappers
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment
from bandit_envs.nests import flatten
from bandit_envs.policies import RandomNumberPolicy
from bandit_envs.specs import SlateSpec, is_continuous

entries = pytest.mark.parametrize("entry", ENVIRONMENTS.values(), ids=ENVIRONMENTS)


def make(entry):
    try:
        return entry.make(batch_size=3, seed=0)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


@entries
def test_an_entry_says_which_class_it_makes(entry):
    assert type(make(entry)) is entry.environment
    name = entry.environment.__name__
    exported = [vars(room).get(name) for room in (environments, wrappers)]
    assert entry.environment in exported, f"neither environments nor wrappers exports {name}"


@entries
def test_rows_are_independent_or_users_whom_observations_tell_apart_as_the_entry_says(entry):
    env = make(entry)
    assert entry.independent_rows is env.independent_rows
    if entry.id != "one_problem":  # whose users all look alike
        assert entry.has_context is not entry.independent_rows
    observed = set()
    env.reset()
    for _ in range(20):
        time_step = env.step(env.optimal_action())
        leaves = flatten(time_step.observation)
        observed |= {tuple(leaf[row].tobytes() for leaf in leaves) for row in range(3)}
    assert (len(observed) > 1) is entry.has_context


@entries
def test_equal_observations_mean_equal_rewards_where_the_entry_says_stationary(entry):
    env = make(entry)
    spec = env.action_spec()
    policy_class = RandomPolicy
    if isinstance(spec, SlateSpec):
        policy_class = RandomSlatePolicy
    elif is_continuous(spec):
        policy_class = RandomNumberPolicy
    has_table = policy_class is RandomPolicy
    policy = policy_class(**policy_class.arguments_for(env), seed=1)
    driver = StepDriver(env, policy, num_steps=1)
    met = {}
    is_stationary = True
    for _ in range(250):
        time_step = driver.run()
        values = env.expected_rewards() if has_table else env.optimal_reward()
        for row, value in enumerate(values):
            observed = row if entry.independent_rows else 0
            key = observed, *(leaf[row].tobytes() for leaf in flatten(time_step.observation))
            is_stationary &= np.array_equal(met.setdefault(key, value), value)
    assert is_stationary or not entry.stationary
    if (
        not entry.has_context and entry.stationary is not None
    ):  # observations repeat, so that changes show
        assert is_stationary is entry.stationary


@pytest.mark.parametrize("name", ["drifting_linear", "piecewise_linear"])
def test_weights_of_contextual_bandits_that_are_not_stationary_change(name):
    assert not ENVIRONMENTS[name].stationary
    env = ENVIRONMENTS[name].make(seed=0)
    env.reset()
    before = env.weights.copy()
    for _ in range(201):
        env.step(np.zeros(env.batch_size, np.int32))
    assert not np.array_equal(env.weights, before)


def test_upstream_names_the_class_and_keeps_its_first_parameters():
    named = [entry for entry in ENVIRONMENTS.values() if entry.upstream]
    assert {entry.upstream for entry in named} == {
        name for name in dir(environments) if name.endswith("Environment")
    }
    for entry in named:
        assert entry.upstream == entry.environment.__name__
        assert "batch_size" in inspect.signature(entry.environment).parameters


def test_ids_for_gymnasium_differ_and_keep_one_form():
    ids = [entry.gymnasium_id for entry in ENVIRONMENTS.values()]
    assert len(set(ids)) == len(ids)
    assert all(id_.startswith("bandit_envs/") and id_.endswith("-v0") for id_ in ids)


def test_an_entry_of_a_users_class_says_what_the_class_says():
    found = find_environment("bandit_envs.environments.contexts.wheel:WheelPyEnvironment")
    registered = ENVIRONMENTS["wheel"]
    assert found.environment is registered.environment
    assert found.independent_rows is registered.independent_rows
    assert found.has_context is registered.has_context
    assert (found.stationary, found.upstream, found.gymnasium_id) == (None, None, None)
