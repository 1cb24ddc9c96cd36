"""How each policy of the registry is made, and an environment that it fits."""

import functools
import math
import tempfile

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, RandomPolicy, StepDriver
from bandit_envs.environments import KnapsackBandit
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import LogRecorder, write_log
from bandit_envs.policies import ContinuousPolicy, KnapsackPolicy, PopularPolicy
from bandit_envs.policies.registry import POLICIES
from bandit_envs.wrappers import OneProblem

TREE = "DecisionTreeClassifier(max_depth=1)"

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
    "uniform_allocation": {"budget": 14},
    "lucb": {"delta": 0.3},
    "kl_lucb": {"delta": 0.3},
    "likelihood_ratio_test": {"delta": 0.3},
    "track_and_stop": {"delta": 0.3},
    "c_tracking": {"delta": 0.3},
    "top_two_thompson": {"delta": 0.3},
    "g_optimal": {"delta": 0.3},
    "ucb_e": {"budget": 14, "a": 1.0},
    "successive_rejects": {"budget": 14},
    "sequential_halving": {"budget": 14},
    "discounted_thompson": {"gamma": 0.9},
    "linear_epsilon_greedy": {"epsilon": 0.1},
    "contextual": {"model": "ridge", "rule": "softmax:temperature=0.2"},
    "neural_epsilon_greedy": {"epsilon": 0.1},
    "sklearn_epsilon_greedy": {"estimator": TREE, "epsilon": 0.1},
    "sklearn_softmax": {"estimator": TREE},
    "sklearn_adaptive_greedy": {"estimator": TREE},
    "sklearn_square_cb": {"estimator": TREE},
    "sklearn_thompson": {"estimator": TREE, "num_replicas": 2},
    "sklearn_ucb": {"estimator": TREE, "num_replicas": 2},
}
"""Arguments without a default, by the ids of policies."""


@functools.cache
def folder_of_a_log():
    """Returns a folder with a log of the environment that policies with contexts meet."""
    folder = tempfile.TemporaryDirectory()
    env = ENVIRONMENTS["logistic_context"].make(num_actions=4, batch_size=5, seed=9)
    recorder = LogRecorder(4)
    policy = RandomPolicy(4, batch_size=5, seed=8)
    StepDriver(env, policy, [recorder], num_steps=10, emit_log_probability=True).run()
    write_log(f"{folder.name}/log.npz", recorder.log())
    return folder  # is removed when the process ends


def is_class_of(name, kind):
    """Returns whether an id stands for a class of a kind; some stand for functions."""
    make = POLICIES[name].make
    return isinstance(make, type) and issubclass(make, kind)


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
    if is_class_of(name, KnapsackPolicy):
        return KnapsackBandit((0.2, 0.4, 0.6, 0.8), (0.1, 0.4, 0.5, 0.9), 15, 20, **sizes)
    if is_class_of(name, ContinuousPolicy):
        return ENVIRONMENTS["continuous"].make(**sizes)
    if entry.context == "any":  # contexts whose rewards are clicks
        return ENVIRONMENTS["logistic_context"].make(num_actions=4, **sizes)
    return clicks(name, [0.2, 0.4, 0.6, 0.8], **sizes)


def clicks(name, means, **sizes):
    """Returns an environment of clicks: of one problem, where the policy `name` learns one."""
    env = BernoulliPyEnvironment(means, **sizes)
    return OneProblem(env) if is_class_of(name, PopularPolicy) else env


def make_policy(name, env, seed=0, **others):
    """Returns the policy `name` for an environment; the test is skipped if it needs a library.

    `others` are arguments in place of those of the examples.
    """
    entry = POLICIES[name]
    arguments = dict(ARGUMENTS.get(name, {}))
    if "budget" in arguments and "rounds" not in arguments:  # halving takes so many steps
        count = env.num_actions
        arguments["budget"] = count * (1 + math.ceil(math.log2(count)))
    if name == "g_optimal":
        arguments["features"] = np.random.default_rng(0).normal(size=(env.num_actions, 2))
    if name == "warm_start":
        arguments = {"policy": "lin_ucb:alpha=0.5", "log": folder_of_a_log().name}
    if name == "pbm_ucb":
        num_slots = entry.make.arguments_for(env)["num_slots"]
        arguments["observation_probs"] = [0.9**slot for slot in range(num_slots)]
    try:
        return entry.make_for(env, {**arguments, **others}, seed)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
