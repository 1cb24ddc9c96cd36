"""What the contextual bandits cost, beside their random numbers and TF-Agents' classes."""

import importlib
import os

import numpy as np
import pytest

from bandit_envs import (
    KArmedTestbed,
    StationaryStochasticPyEnvironment,
    StationaryStochasticStructuredPyEnvironment,
    WheelPyEnvironment,
)
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import FlatReward, LinearActionReward, LinearReward, sliding_thetas
from bandit_envs.sampling import Integers, Normal, Threaded
from tests.benchmarks.pairing import Ratio, _seconds, paired_ratio


def normals(rng, *shape):
    return rng.standard_normal(shape, np.float32)


# The random numbers of a step of B rows, in the environments' default sizes.
DRAWS = {
    "wheel": lambda rng, B: (rng.random((2, B), np.float32), normals(rng, B)),
    "stationary_stochastic": lambda rng, B: (normals(rng, B, 15), normals(rng, B)),
    "structured": lambda rng, B: (
        normals(rng, B, 4),
        normals(rng, B, 4),
        normals(rng, B, 10, 5),
        rng.random((B, 10, 1), np.float32),
        normals(rng, B),
    ),
    "drifting_linear": lambda rng, B: (
        normals(rng, B, 15),
        normals(rng, B),
        rng.random(),
        rng.standard_normal(),
    ),
    "piecewise_linear": lambda rng, B: normals(rng, B, 15),
}


def stepping(env):
    """Returns a function that takes a step of `env`."""
    env.reset()
    action = np.random.default_rng(0).integers(5, size=env.batch_size, dtype=np.int32)
    return lambda: env.step(action)


def filling(name, batch_size):
    rng = np.random.default_rng(0)
    return lambda: DRAWS[name](rng, batch_size)


@pytest.mark.parametrize("name", DRAWS)
def test_a_step_of_a_large_batch_costs_little_more_than_its_random_numbers(expect, name):
    env = find_environment(name).make(batch_size=20_000, seed=0)
    ratio = paired_ratio(stepping(env), filling(name, 20_000), rounds=60, number=2)
    expect(f"{name} step, batch 20,000 / its random numbers", ratio, 1.6)


# The testbed's overhead is 8 microseconds; one pass over a thousand numbers takes half of one. In
# parentheses: what the same calls of NumPy cost in a bare loop, in the same unit.
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("wheel", 3.3),  # (2.2) 25 passes: roots, sines, cosines, quadrants, means and noise
        ("stationary_stochastic", 2.8),  # (1.7) the product with the weights takes 5 microseconds
        ("drifting_linear", 3.2),  # (2.2) the same, and rotating the weights takes 2
        ("piecewise_linear", 2.8),  # (1.7)
        ("structured", 7.0),  # (3.0) four products, and 70 calls of Python functions
    ],
)
def test_the_overhead_of_a_step_beside_that_of_the_testbed(expect, name, bound):
    """The cost of a step without its random numbers, in steps of the testbed without theirs."""
    rng = np.random.default_rng(0)
    functions = (
        stepping(find_environment(name).make(batch_size=1000, seed=0)),
        filling(name, 1000),
        stepping(KArmedTestbed(5, batch_size=1000, seed=0)),
        lambda: normals(rng, 1000),
    )
    step, fill, testbed, noise = fastest(functions, rounds=400, number=5)
    ratio = (step - fill) / (testbed - noise)
    expect(f"{name} overhead, batch 1000 / the testbed's", Ratio(ratio, ratio, ratio), bound)


def fastest(functions, rounds, number):
    """Returns the fastest timing of each function: differences of medians drown in other loads."""
    timings = [[_seconds(function, number) for function in functions] for _ in range(rounds)]
    return [min(column) for column in zip(*timings)]


def available_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.skipif(available_cores() < 2, reason="needs two cores")
def test_a_large_draw_on_two_threads(expect):
    left, right = np.random.default_rng(0), np.random.default_rng(0)
    normal = Normal(50)
    threaded = Threaded(normal, 2)
    draws = (lambda: threaded(left, (100, 70)), lambda: normal(right, (100, 70)))
    two, one = fastest(draws, rounds=400, number=1)
    ratio = Ratio(two / one, two / one, two / one)
    expect("Threaded(Normal(50)), batch 100, 70 arms, 2 threads / Normal(50)", ratio, 0.6)


def upstream(name):
    pytest.importorskip("tf_agents")
    return importlib.import_module(f"tf_agents.bandits.environments.{name}")


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
