"""What a step of an environment costs, beside a bare loop and beside a step of the testbed."""

import numpy as np
import pytest

from bandit_envs import KArmedTestbed
from bandit_envs.environments.registry import ENVIRONMENTS
from tests.benchmarks import bare_loops

GOALS = {1: 3.3, 2000: 1.9, 20_000: 1.4}
"""What a step of the testbed costs at most in bare loops, by the size of the batch."""

LOOPS = {
    "k_armed": bare_loops.k_armed,
    "bernoulli": bare_loops.bernoulli,
    "stationary_stochastic": bare_loops.stationary_stochastic,
    "wheel": bare_loops.wheel,
}
"""Bare loops of environments with their default arguments."""

SMALLER = {
    "per_arm": {"global_dim": 5, "arm_dim": 5, "max_num_actions": 5},
    "neural_context": {"dim": 5},
}
"""Arguments of the environments whose default observations are large."""


def actions(env):
    """Returns random actions; for slates, some slate in every row."""
    rng = np.random.default_rng(0)
    spec = env.action_spec()
    if spec.shape == ():
        return rng.integers(spec.maximum + 1, size=env.batch_size, dtype=np.int32)
    slate = np.arange(spec.shape[0], dtype=np.int32)
    return np.tile(slate, (env.batch_size, 1))


def stepping(env):
    """Returns a function that takes a step of an environment."""
    env.reset()
    action = actions(env)
    return lambda: env.step(action)


def looping(loop, env):
    """Returns a bare loop with the batch of an environment."""
    return loop(np.random.default_rng(0), env.batch_size, actions(env))


@pytest.mark.parametrize("batch_size", GOALS)
def test_a_step_of_the_testbed_beside_a_bare_loop(compare, batch_size):
    env = KArmedTestbed(10, batch_size=batch_size, seed=0)
    compare(
        f"testbed step, batch {batch_size} / a bare loop",
        stepping(env),
        looping(bare_loops.testbed, env),
        goal=GOALS[batch_size],
        rounds=200,
        number=40_000 // batch_size + 10 if batch_size > 1 else 500,
    )


@pytest.mark.parametrize("name", LOOPS)
def test_a_step_beside_a_bare_loop(compare, name):
    env = ENVIRONMENTS[name].make(batch_size=20_000, seed=0)
    compare(
        f"{name} step, batch 20000 / a bare loop",
        stepping(env),
        looping(LOOPS[name], env),
        goal=1.25,
        rounds=100,
        number=5,
    )


def test_a_step_of_the_per_arm_bandit_beside_a_bare_loop(compare):
    env = ENVIRONMENTS["per_arm"].make(batch_size=100, seed=0)
    compare(
        "per-arm step, batch 100, 70 arms, 90 features / a bare loop",
        stepping(env),
        looping(bare_loops.per_arm, env),
        goal=1.25,
        rounds=100,
        number=5,
    )


NAMES = [name for name in ENVIRONMENTS if name not in {"testbed", "ratings"}]
"""The environments that take a batch of 1000; `ratings` has 200 users."""


@pytest.mark.parametrize("name", NAMES)
def test_a_step_beside_one_of_the_testbed(compare, name):
    try:
        env = ENVIRONMENTS[name].make(batch_size=1000, seed=0, **SMALLER.get(name, {}))
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    testbed = KArmedTestbed(10, batch_size=1000, seed=0)
    title = f"{name} step, batch 1000 / the testbed's"
    compare(title, stepping(env), stepping(testbed), rounds=60, number=10)
