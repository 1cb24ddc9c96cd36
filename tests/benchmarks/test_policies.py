"""What policies of arms cost for a step of 2000 rows and 10 actions, beside UCB."""

import inspect
import itertools

import numpy as np
import pytest

from bandit_envs.policies.registry import POLICIES
from bandit_envs.trajectories import Trajectory, restart, termination

K, B = 10, 2000
ARGUMENTS = {
    "alpha": 0.001,
    "c": 2.0,
    "d": 0.5,
    "delta": 0.1,
    "epsilon": 0.1,
    "gamma": 0.5,
    "m": 100,
    "step_size": 0.1,
    "temperature": 0.1,
    "window": 1000,
}
"""Values of the parameters that have no default."""

ARMS = [name for name, entry in POLICIES.items() if entry.context == "ignored" and not entry.slates]


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
    compare(title, stepping(name), stepping("ucb"), rounds=40, number=5)
