"""What the environments that TF-Agents has, too, cost beside those of TF-Agents."""

import importlib
import itertools

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    PiecewiseBernoulliPyEnvironment,
    StationaryStochasticPyEnvironment,
    StationaryStochasticStructuredPyEnvironment,
    WheelPyEnvironment,
)
from bandit_envs.rewards import FlatReward, LinearActionReward, LinearReward, sliding_thetas
from bandit_envs.sampling import Integers, Normal
from tests.benchmarks.pairing import paired_ratio

MEANS = np.linspace(0.1, 0.9, 9)
PIECES = np.stack([MEANS, MEANS[::-1]])

UPSTREAM = {
    "Bernoulli": (
        lambda size: BernoulliPyEnvironment(MEANS, size, seed=0),
        lambda size: upstream("bernoulli_py_environment").BernoulliPyEnvironment(MEANS, size),
    ),
    "piecewise Bernoulli": (
        lambda size: PiecewiseBernoulliPyEnvironment(PIECES, itertools.repeat(100), size, seed=0),
        lambda size: upstream("piecewise_bernoulli_py_environment").PiecewiseBernoulliPyEnvironment(
            PIECES, itertools.repeat(100), size
        ),
    ),
}
"""Our environment, and TF-Agents'."""


def upstream(name):
    pytest.importorskip("tf_agents")
    return importlib.import_module(f"tf_agents.bandits.environments.{name}")


def stepping(env):
    """Returns a function that takes a step of `env`."""
    env.reset()
    action = np.random.default_rng(0).integers(5, size=env.batch_size, dtype=np.int32)
    return lambda: env.step(action)


@pytest.mark.parametrize("batch_size", [1, 32, 1000, 20_000])
@pytest.mark.parametrize("name", UPSTREAM)
def test_a_step_never_costs_more_than_that_of_tf_agents(expect, name, batch_size):
    ours, theirs = UPSTREAM[name]
    ratio = paired_ratio(
        stepping(ours(batch_size)),
        stepping(theirs(batch_size)),
        rounds=200,
        number=20_000 // batch_size // 10 + 1 if batch_size > 1 else 200,
    )
    expect(f"{name} step, batch {batch_size} / TF-Agents'", ratio, 1.0)


# At 100 rows, a bare loop of the same calls of NumPy takes 1/21; the random numbers alone, 1/54.
@pytest.mark.parametrize(("batch_size", "bound"), [(100, 1 / 15), (1000, 1 / 20)])
def test_a_stationary_step_is_far_cheaper_than_that_of_tf_agents(expect, batch_size, bound):
    theirs, utilities = (
        upstream("stationary_stochastic_py_environment"),
        upstream("environment_utilities"),
    )
    thetas = sliding_thetas(15, 5)
    reference = theirs.StationaryStochasticPyEnvironment(
        lambda: utilities.context_sampling_fn(batch_size, 15),
        utilities.sliding_linear_reward_fn_generator(15, 5, 0.1),
        batch_size=batch_size,
    )
    env = StationaryStochasticPyEnvironment(
        Integers(15, -10, 10), LinearActionReward(thetas, 0.1), batch_size=batch_size, seed=0
    )
    ratio = paired_ratio(stepping(env), stepping(reference), rounds=30, number=5000 // batch_size)
    expect(f"stationary stochastic step, batch {batch_size} / TF-Agents'", ratio, bound)


def user():
    return {"user": np.random.normal(size=4).astype(np.float32)}


def item():
    return {
        "item": np.random.normal(size=5).astype(np.float32),
        "price": np.random.normal(size=1).astype(np.float32),
    }


def reward(user, item):
    return np.random.normal(user["user"].sum() + item["item"].sum() + item["price"][0], 1.0)


def test_a_structured_step_costs_a_twentieth_of_tf_agents(expect):
    theirs = upstream("stationary_stochastic_structured_py_environment")
    reference = theirs.StationaryStochasticStructuredPyEnvironment(user, item, 10, reward, 100)
    env = StationaryStochasticStructuredPyEnvironment(
        {"user": Normal(4)},
        {"item": Normal(5), "price": Normal(1)},
        10,
        FlatReward(LinearReward(np.ones(10))),
        100,
        seed=0,
    )
    ratio = paired_ratio(stepping(env), stepping(reference), rounds=40, number=1)
    expect("structured step, batch 100 / TF-Agents'", ratio, 1 / 20)


def test_functions_cost_no_more_than_with_tf_agents(expect):
    theirs = upstream("stationary_stochastic_structured_py_environment")
    arguments = (user, item, 10, reward, 100)
    reference = theirs.StationaryStochasticStructuredPyEnvironment(*arguments)
    env = StationaryStochasticStructuredPyEnvironment(*arguments)
    ratio = paired_ratio(stepping(env), stepping(reference), rounds=40, number=1)
    expect("structured step with functions, batch 100 / TF-Agents'", ratio, 1.0)
    theirs, utilities = (
        upstream("stationary_stochastic_py_environment"),
        upstream("environment_utilities"),
    )
    arguments = (
        lambda: utilities.context_sampling_fn(100, 15),
        utilities.sliding_linear_reward_fn_generator(15, 5, 0.1),
        None,
        100,
    )
    reference = theirs.StationaryStochasticPyEnvironment(*arguments)
    env = StationaryStochasticPyEnvironment(*arguments)
    ratio = paired_ratio(stepping(env), stepping(reference), rounds=60, number=5)
    expect("stationary stochastic step with functions, batch 100 / TF-Agents'", ratio, 1.0)


@pytest.mark.parametrize("batch_size", [1, 100, 20_000])
def test_a_wheel_costs_no_more_than_that_of_tf_agents(expect, batch_size):
    theirs = upstream("wheel_py_environment")
    arguments = (0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01, batch_size)
    reference, env = theirs.WheelPyEnvironment(*arguments), WheelPyEnvironment(*arguments)
    ratio = paired_ratio(
        stepping(env), stepping(reference), rounds=40, number=max(1, 100 // batch_size)
    )
    expect(f"wheel step, batch {batch_size} / TF-Agents'", ratio, 1.0)
