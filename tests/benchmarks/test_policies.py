"""What policies cost: those of arms beside UCB, linear ones beside bare products of matrices."""

import inspect
import itertools

import numpy as np
import pytest

from bandit_envs import CascadeUCBPolicy, LinUCBPolicy, RandomPolicy, StepDriver
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import BestArmPolicy, KnapsackPolicy
from bandit_envs.policies.number_policies import ContinuousPolicy
from bandit_envs.policies.registry import POLICIES
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

K, B = 10, 2000
ARGUMENTS = {
    "a": 2.0,
    "alpha": 0.001,
    "budget": 100_000,
    "c": 2.0,
    "d": 0.5,
    "delta": 1e-9,
    "epsilon": 0.1,
    "features": np.random.default_rng(0).normal(size=(K, 3)),
    "gamma": 0.5,
    "m": 100,
    "step_size": 0.1,
    "temperature": 0.1,
    "window": 1000,
}
"""Values of the parameters that have no default."""

GOAL = 3.0
GOALS = {"track_and_stop": 10.0, "c_tracking": 10.0}
"""What policies that look for the best action should cost; by default, `GOAL`."""

ARMS = [
    name
    for name, entry in POLICIES.items()
    if entry.context == "ignored"
    and not entry.slates
    and not issubclass(entry.make, (ContinuousPolicy, KnapsackPolicy))
]


def stepping(name):
    """Returns a function that lets a policy choose and learn, after 200 steps of it."""
    entry = POLICIES[name]
    arguments = dict(entry.fixed)
    for parameter in inspect.signature(entry.make).parameters.values():
        if parameter.default is parameter.empty and parameter.name in ARGUMENTS:
            arguments.setdefault(parameter.name, ARGUMENTS[parameter.name])
    policy = entry.make(**arguments, num_actions=K, batch_size=B, seed=0)
    rng = np.random.default_rng(1)
    means = np.linspace(0.1, 0.9, K)
    before = restart(np.ones((B, 1), np.float32), B)
    after = termination(before.observation, np.zeros(B, np.float32))
    drawn = itertools.cycle(rng.random((64, B), np.float32))

    def step():
        action = policy.action(before)
        reward = (next(drawn) < means[action]).astype(np.float32)
        trajectory = Trajectory.from_transition(before, action, after)
        policy.learn(trajectory._replace(reward=reward))

    for _ in range(200):
        step()
    return step


@pytest.mark.parametrize("name", [name for name in ARMS if name != "ucb"])
def test_choosing_and_learning_beside_ucb(compare, name):
    title = f"{name} step, [{B}, {K}] / UCB's"
    goal = GOALS.get(name, GOAL) if issubclass(POLICIES[name].make, BestArmPolicy) else None
    compare(title, stepping(name), stepping("ucb"), goal=goal, rounds=40, number=5)


def teaching(dim):
    """Returns a function that teaches a disjoint LinUCB of 10 actions one row."""
    policy = LinUCBPolicy(observation_spec=ArraySpec((dim,), np.float64), num_actions=K, seed=0)
    rng = np.random.default_rng(1)
    seen = []
    for action in range(K):
        context = rng.normal(size=(1, dim)) / np.sqrt(dim)
        after = termination(context, np.ones(1, np.float32))
        seen.append(Trajectory.from_transition(restart(context, 1), np.array([action]), after))
    trajectories = itertools.cycle(seen)
    return lambda: policy.learn(next(trajectories))


def bare_update(dim):
    """Returns a function that updates one inverse by the formula of Sherman and Morrison."""
    x = np.random.default_rng(1).normal(size=dim) / np.sqrt(dim)
    inverse = np.eye(dim)
    theta = np.zeros(dim)

    def update():
        gain = inverse @ x
        spread = 1.0 + x @ gain
        theta[...] += gain * ((1.0 - theta @ x) / spread)
        inverse[...] -= np.outer(gain, gain / spread)

    return update


@pytest.mark.parametrize("dim", [50, 200, 768])
def test_learning_a_row_beside_a_bare_rank_one_update(compare, dim):
    title = f"disjoint LinUCB learns a row of {dim} features / bare rank-one update"
    number = max(5, 20_000 // dim)
    compare(title, teaching(dim), bare_update(dim), goal=3.0, rounds=20, number=number)


@pytest.mark.parametrize("dim", [50, 200, 768])
def test_choosing_for_1000_rows_beside_bare_products(compare, dim):
    policy = LinUCBPolicy(
        observation_spec=ArraySpec((dim,), np.float64), num_actions=K, batch_size=1000, seed=0
    )
    before = restart(np.random.default_rng(1).normal(size=(1000, dim)), 1000)
    matrix = np.eye(dim)

    def products():
        for _ in range(K):
            np.einsum("bd,bd->b", before.observation @ matrix, before.observation)

    title = f"disjoint LinUCB chooses, 1000 rows of {dim} features / bare x . (x A^-1)"
    compare(title, lambda: policy.action(before), products, rounds=11)


def test_choosing_slates_of_10_of_10000_items_beside_drawing_numbers(compare):
    policy = CascadeUCBPolicy(10, num_actions=10_000, batch_size=100, seed=0)
    before = restart(np.ones((100, 1), np.float32), 100)
    rng = np.random.default_rng(1)
    title = "CascadeUCB chooses 10 of 10,000 items, 100 rows / a uniform number an item"
    compare(title, lambda: policy.action(before), lambda: rng.random((100, 10_000)), rounds=20)


def contextual_stepping(dim, batch_size):
    """Returns a function that lets LinUCB choose and learn, in rows that are problems."""
    policy = LinUCBPolicy(
        observation_spec=ArraySpec((dim,), np.float64),
        num_actions=K,
        batch_size=batch_size,
        independent_rows=True,
        seed=0,
    )
    rng = np.random.default_rng(1)
    contexts = itertools.cycle([rng.normal(size=(batch_size, dim)) for _ in range(8)])
    reward = rng.random(batch_size)

    def step():
        before = restart(next(contexts), batch_size)
        action = policy.action(before)
        after = termination(before.observation, reward, np.float64)
        policy.learn(Trajectory.from_transition(before, action, after))

    for _ in range(20):
        step()
    return step


@pytest.mark.parametrize(("dim", "goal"), [(5, 1 / 60), (20, 1 / 8)])
def test_2000_problems_at_once_beside_2000_single_ones(compare, dim, goal):
    single = contextual_stepping(dim, 1)

    def hundred():
        for _ in range(100):
            single()

    title = f"LinUCB of 2000 problems with {dim} features at once / 2000 single ones"
    compare(title, contextual_stepping(dim, B), hundred, goal=goal, rounds=15, scale=1 / 20)


@pytest.mark.parametrize("size", [1, 100, 2000])
def test_a_driver_s_step_of_lin_ucb_beside_that_of_chance(compare, size):
    env = ENVIRONMENTS["wheel"].make(batch_size=size, seed=0)
    policy = LinUCBPolicy(**LinUCBPolicy.arguments_for(env), seed=1)
    chance = RandomPolicy(num_actions=env.num_actions, batch_size=size, seed=1)
    learning = StepDriver(env, policy, [policy], 20)
    idle = StepDriver(env, chance, [], 20)
    title = f"driver step of LinUCB on the wheel, batch {size} / of chance"
    compare(title, learning.run, idle.run, rounds=15)


def test_a_driver_s_step_of_lin_ucb_of_items_beside_that_of_chance(compare):
    sizes = {"global_dim": 20, "arm_dim": 70, "max_num_actions": 70, "batch_size": 20}
    env = ENVIRONMENTS["per_arm"].make(**sizes, seed=0)
    policy = LinUCBPolicy(**LinUCBPolicy.arguments_for(env), seed=0)
    chance = RandomPolicy(num_actions=env.num_actions, batch_size=20, seed=0)
    learning = StepDriver(env, policy, [policy], 10)
    idle = StepDriver(env, chance, [], 10)
    title = "driver step of LinUCB, 20 rows of 70 items with 90 features / of chance"
    compare(title, learning.run, idle.run, rounds=15)
