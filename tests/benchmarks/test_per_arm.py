"""What the per-arm bandit costs, beside its floor and beside TF-Agents' environment."""

import numpy as np
import pytest

from bandit_envs import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import BatchFunction, Integers, Normal
from tests.benchmarks.pairing import paired_ratio


def stepping(env, batch_size, num_arms):
    """Returns a function that takes a step of `env`."""
    env.reset()
    action = np.random.default_rng(0).integers(num_arms, size=batch_size, dtype=np.int32)
    return lambda: env.step(action)


def large(items):
    """A step of a batch of 100, with 70 arms and features 40 and 50."""
    model = LinearReward(np.ones(90))
    env = StationaryStochasticPerArmPyEnvironment(Normal(40), items, 70, model, None, 100, seed=0)
    return stepping(env, 100, 70)


def small(users, items):
    """A step of TF-Agents' example: a batch of 16, with 7 arms and features 4 and 5."""
    model = LinearReward(np.arange(9.0))
    env = StationaryStochasticPerArmPyEnvironment(users, items, 7, model, None, 16, seed=0)
    return stepping(env, 16, 7)


def functions_of_normals(num_global, num_arm):
    """Functions as scripts have them, drawing from `numpy.random`: users, items, rewards."""
    theta = np.ones(num_global + num_arm)
    return (
        lambda: np.random.normal(size=num_global).astype(np.float32),
        lambda: np.random.normal(size=num_arm).astype(np.float32),
        lambda vector: np.random.normal(np.dot(vector, theta), 1.0),
    )


def lean_functions_of_normals(num_global, num_arm):
    """The same, drawing float32 from a generator, as lean as they can be."""
    rng = np.random.default_rng(0)
    theta = np.ones(num_global + num_arm, np.float32)
    return (
        lambda: rng.standard_normal(num_global, np.float32),
        lambda: rng.standard_normal(num_arm, np.float32),
        lambda vector: vector @ theta + rng.standard_normal(),
    )


def functions_of_integers():
    """The functions of TF-Agents' example: users, items, rewards."""
    theta = np.arange(9)
    return (
        lambda: np.random.randint(-10, 10, [4]).astype(np.float32),
        lambda: np.random.randint(-2, 3, [5]).astype(np.float32),
        lambda vector: np.random.normal(np.dot(vector, theta), 1),
    )


@pytest.fixture
def upstream():
    """TF-Agents' environment, made with its functions and stepped."""
    module = pytest.importorskip(
        "tf_agents.bandits.environments.stationary_stochastic_per_arm_py_environment"
    )

    def stepping_upstream(functions, batch_size, num_arms):
        users, items, reward = functions
        env = module.StationaryStochasticPerArmPyEnvironment(
            users, items, num_arms, reward, batch_size=batch_size
        )
        return stepping(env, batch_size, num_arms)

    return stepping_upstream


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("Normal", Normal(50)),
        (
            "BatchFunction",
            BatchFunction(lambda rng, size: rng.standard_normal((*size, 50), np.float32), 50),
        ),
    ],
)
def test_a_step_costs_little_more_than_its_random_numbers(expect, name, items):
    rng, out = np.random.default_rng(0), np.empty(100 * (40 + 70 * 50), np.float32)
    ratio = paired_ratio(
        large(items),
        lambda: rng.standard_normal(out=out, dtype=np.float32),
        rounds=200,
        number=2,
    )
    expect(f"per-arm step, batch 100, {name} / standard_normal fill", ratio, 1.1)


@pytest.mark.parametrize(
    ("name", "functions", "bound"),
    [
        ("np.random.normal", functions_of_normals, 1 / 5),
        # The fill alone, which no environment can do without, takes more than a quarter of this.
        ("the leanest functions", lean_functions_of_normals, 1 / 3),
    ],
)
def test_a_step_is_far_cheaper_than_that_of_tf_agents(expect, upstream, name, functions, bound):
    reference = upstream(functions(40, 50), 100, 70)
    ratio = paired_ratio(large(Normal(50)), reference, rounds=60, number=1)
    expect(f"per-arm step, batch 100 / TF-Agents' with {name}", ratio, bound)


@pytest.mark.parametrize(
    ("name", "users", "items"),
    [
        ("Integers", Integers(4, -10, 10), Integers(5, -2, 3)),
        ("Normal", Normal(4), Normal(5)),
    ],
)
def test_a_step_of_the_example_costs_a_thirtieth(expect, upstream, name, users, items):
    reference = upstream(functions_of_integers(), 16, 7)
    ratio = paired_ratio(small(users, items), reference, rounds=100, number=50)
    expect(f"per-arm step, batch 16, {name} / TF-Agents' example", ratio, 1 / 30)


@pytest.mark.parametrize(
    ("name", "functions", "size"),
    [
        ("batch 100, np.random.normal", functions_of_normals(40, 50), (100, 70)),
        ("batch 100, leanest", lean_functions_of_normals(40, 50), (100, 70)),
        ("batch 16, example", functions_of_integers(), (16, 7)),
        ("batch 16, leanest", lean_functions_of_normals(4, 5), (16, 7)),
    ],
)
def test_functions_cost_no_more_than_with_tf_agents(expect, upstream, name, functions, size):
    users, items, reward = functions
    batch_size, num_arms = size
    env = StationaryStochasticPerArmPyEnvironment(
        users, items, num_arms, reward, batch_size=batch_size
    )
    ratio = paired_ratio(
        stepping(env, *size),
        upstream(functions, *size),
        rounds=100,
        number=400 // batch_size // num_arms + 1,
    )
    expect(f"per-arm step, {name}, functions / TF-Agents' with them", ratio, 1.0)
