"""Every policy of the registry learns, and huge rewards spoil nothing."""

import numpy as np
import pytest

from bandit_envs import KArmedTestbed, Policy, StepDriver
from bandit_envs.nests import flatten
from bandit_envs.policies.registry import POLICIES
from tests.cases import for_each
from tests.policies.examples import make_environment, make_policy

ELSEWHERE = (
    "exp3_s",
    "successive_elimination",
    "split_test",
    "budgeted_thompson",
    "primal_dual",
)
"""They need many steps, or have a budget: tests of their own hold them to their bounds."""

LEARNERS = [
    name
    for name, entry in POLICIES.items()
    if not entry.slates and getattr(entry.make, "can_learn", True)
]
OF_ANY_REWARD = [
    name
    for name in LEARNERS
    if POLICIES[name].context == "ignored"
    and POLICIES[name].make.reward_range == Policy.reward_range
]


SLOW = ("neural", "hybrid", "gp_")
"""They take ten seconds and more."""


def mean_reward(policy, env, steps):
    """Returns the mean reward of the next steps, in which a policy learns."""
    rewards = []
    observers = [policy, lambda trajectory: rewards.append(np.mean(trajectory.reward))]
    StepDriver(env, policy, observers, steps).run()
    return np.mean(rewards)


CHANCE = {}
"""What random actions earn, by the environment."""


def chance_in(name, batch_size=200):
    """Returns the mean reward of random actions in the environment of a policy."""
    env = make_environment(name, batch_size, seed=1)
    if repr(env) not in CHANCE:
        CHANCE[repr(env)] = mean_reward(make_policy("random", env), env, 100)
    return CHANCE[repr(env)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith(SLOW))
        for name in LEARNERS
        if name not in ELSEWHERE
    ],
)
def test_what_a_policy_learns_earns_more_than_chance(name):
    env = make_environment(name, batch_size=200, seed=1)  # not the seed of the policy
    policy = make_policy(name, env)
    mean_reward(policy, env, 100)
    assert mean_reward(policy, env, 100) > 1.05 * chance_in(name)  # 5 standard errors


@pytest.mark.parametrize("name", OF_ANY_REWARD)
@for_each("scale", [1e37, 1e99])
def test_large_rewards_spoil_nothing(name, scale, teach, lesson, time_step):
    actions, rewards = lesson
    policy = make_policy(name, KArmedTestbed(4, batch_size=7))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        teach(policy, actions, rewards.astype(np.float64) * scale)
        policy.action(time_step(7))
    first = flatten(policy.get_state().content.learned)[0]
    assert np.isfinite(first).all()
