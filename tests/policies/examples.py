"""How each policy of the registry is made, and an environment that it fits."""

import pytest

from bandit_envs import BernoulliPyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.registry import POLICIES

ARGUMENTS = {
    "epsilon_greedy": {"epsilon": 0.1},
    "ucb": {"c": 2.0},
    "gradient": {"step_size": 0.2},
    "explore_then_commit": {"m": 3},
    "decaying_epsilon_greedy": {"c": 1.0, "d": 0.5},
    "discounted_ucb": {"gamma": 0.9},
    "sliding_window_ucb": {"window": 10},
    "exp3": {"gamma": 0.2},
    "exp3_s": {"gamma": 0.2, "alpha": 0.1},
    "boltzmann": {"temperature": 0.5},
    "successive_elimination": {"delta": 0.5},
    "discounted_thompson": {"gamma": 0.9},
    "linear_epsilon_greedy": {"epsilon": 0.1},
    "disjoint_linear_epsilon_greedy": {"epsilon": 0.1},
}
"""Arguments without a default, by the ids of policies."""


def make_environment(name, batch_size=5, seed=0):
    """Returns an environment that the policy `name` fits."""
    entry = POLICIES[name]
    sizes = {"batch_size": batch_size, "seed": seed}
    if entry.slates and entry.context == "items":
        return ENVIRONMENTS["ranking"].make(num_items=6, num_slots=3, dim=2, **sizes)
    if entry.slates:
        return ENVIRONMENTS["cascade"].make(num_slots=2, **sizes)
    if entry.context == "items":
        return ENVIRONMENTS["per_arm"].make(global_dim=2, arm_dim=3, max_num_actions=4, **sizes)
    if entry.context == "any":  # contexts whose rewards are clicks
        return ENVIRONMENTS["logistic_context"].make(num_actions=4, **sizes)
    return BernoulliPyEnvironment([0.2, 0.4, 0.6, 0.8], **sizes)


def make_policy(name, env, seed=0):
    """Returns the policy `name` for an environment; the test is skipped if it needs a library."""
    entry = POLICIES[name]
    arguments = {**ARGUMENTS.get(name, {}), **entry.fixed, **entry.make.arguments_for(env)}
    if name == "pbm_ucb":
        num_slots = arguments["num_slots"]
        arguments["observation_probs"] = [0.9**slot for slot in range(num_slots)]
    try:
        return entry.make(**arguments, seed=seed)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
