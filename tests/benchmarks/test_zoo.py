"""What the environments cost, beside their random numbers, the testbed and TF-Agents' classes."""

import importlib
import itertools

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    KArmedBandit,
    KArmedTestbed,
    PiecewiseBernoulliPyEnvironment,
    rewards,
)
from tests.benchmarks.pairing import overhead_ratio, paired_ratio

MEANS = np.linspace(0.1, 0.9, 9)
PIECES = np.stack([MEANS, MEANS[::-1]])
NORMAL, UNIFORM = np.float32, np.float64
"""The dtypes of the normal and of the uniform numbers that steps draw."""

ENVIRONMENTS = {
    # A uniform number takes 2.3 ns; to look up its action's mean 0.7 ns, to compare and convert it
    # 0.35 ns, to copy and check the action 0.4 ns, and a step's fixed costs 0.3 ns: 1.75 times the
    # number, while everything is in the processor's cache. A bare loop of these calls takes 1.64.
    "Bernoulli": (lambda size: BernoulliPyEnvironment(MEANS, size, seed=0), UNIFORM, 2.0),
    "piecewise Bernoulli": (
        lambda size: PiecewiseBernoulliPyEnvironment(PIECES, 100, size, seed=0),
        UNIFORM,
        2.0,
    ),
    "normal arms": (
        lambda size: KArmedBandit(rewards.Normal(MEANS, MEANS), size, seed=0),
        NORMAL,
        1.6,
    ),
}
"""An environment, the dtype of the one number that it draws for each row, and a bound."""

UPSTREAM = {
    "Bernoulli": (
        lambda size: BernoulliPyEnvironment(MEANS, size, seed=0),
        lambda classes, size: classes["bernoulli"].BernoulliPyEnvironment(MEANS, size),
    ),
    "piecewise Bernoulli": (
        lambda size: PiecewiseBernoulliPyEnvironment(PIECES, itertools.repeat(100), size, seed=0),
        lambda classes, size: classes["piecewise_bernoulli"].PiecewiseBernoulliPyEnvironment(
            PIECES, itertools.repeat(100), size
        ),
    ),
}
"""Our environment, and TF-Agents'."""


def stepping(env):
    """Returns a function that takes a step of `env`."""
    env.reset()
    size = env.batch_size
    action = np.random.default_rng(0).integers(9, size=size, dtype=np.int32)
    return lambda: env.step(action)


def drawing(size, dtype):
    """Returns a function that draws one number for each row."""
    rng, out = np.random.default_rng(0), np.empty(size, dtype)
    draw = rng.random if dtype == UNIFORM else rng.standard_normal
    return lambda: draw(out=out, dtype=dtype)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_step_of_many_rows_costs_little_more_than_its_random_numbers(expect, name):
    make, dtype, bound = ENVIRONMENTS[name]
    ratio = paired_ratio(stepping(make(20_000)), drawing(20_000, dtype), rounds=400, number=10)
    expect(f"{name} step, batch 20000 / its random numbers", ratio, bound)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_overhead_of_a_step_is_at_most_twice_that_of_the_testbed(expect, name):
    make, dtype, _ = ENVIRONMENTS[name]
    ratio = overhead_ratio(
        (stepping(make(1000)), drawing(1000, dtype)),
        (stepping(KArmedTestbed(9, batch_size=1000, seed=0)), drawing(1000, NORMAL)),
        rounds=400,
        number=100,
    )
    expect(f"{name} step, batch 1000, overhead / testbed's overhead", ratio, 2.0)


@pytest.fixture
def classes():
    """The modules of TF-Agents' environments, by the middle of their names."""
    pytest.importorskip("tf_agents.bandits.environments.bernoulli_py_environment")
    return {
        name: importlib.import_module(f"tf_agents.bandits.environments.{name}_py_environment")
        for name in ("bernoulli", "piecewise_bernoulli")
    }


@pytest.mark.parametrize("batch_size", [1, 32, 1000, 20_000])
@pytest.mark.parametrize("name", UPSTREAM)
def test_a_step_never_costs_more_than_that_of_tf_agents(expect, classes, name, batch_size):
    ours, theirs = UPSTREAM[name]
    ratio = paired_ratio(
        stepping(ours(batch_size)),
        stepping(theirs(classes, batch_size)),
        rounds=200,
        number=20_000 // batch_size // 10 + 1 if batch_size > 1 else 200,
    )
    expect(f"{name} step, batch {batch_size} / TF-Agents'", ratio, 1.0)
