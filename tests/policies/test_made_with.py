"""A policy says with which arguments it was made."""

import numpy as np
import pytest

from bandit_envs import ArraySpec
from bandit_envs.policies import KLLUCBPolicy, Policy, TrackAndStopPolicy
from bandit_envs.policies.number_policies import GaussianPolicy
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.slate_policies import PBMUCBPolicy
from bandit_envs.specs import BoundedArraySpec
from tests.policies.examples import ARGUMENTS, is_class_of, make_environment, make_policy

OTHERS = {
    "beta_thompson": {"prior_successes": 2.0, "prior_failures": 3.0},
    "beta_greedy": {"prior_successes": 2.0, "prior_failures": 3.0},
    "discounted_thompson": {"gamma": 0.5, "prior_successes": 2.0, "prior_failures": 3.0},
    "thompson": {"prior_mean": 2.0, "prior_std": 3.0, "reward_std": 0.5},
    "successive_rejects": {"budget": 50},
    "sequential_halving": {"budget": 50, "reuse": False},
    "uniform_allocation": {"budget": 50},
    "lucb": {"delta": 0.01, "reward_std": 2.0},
    "successive_elimination": {"delta": 0.01, "reward_std": 2.0},
    "kl_lucb": {"delta": 0.01, "reward_std": 2.0, "threshold": "kl_lucb"},
    "likelihood_ratio_test": {"delta": 0.01, "reward_std": 2.0, "threshold": "chernoff"},
    "track_and_stop": {"delta": 0.01, "reward_std": 2.0, "threshold": "chernoff"},
    "c_tracking": {"delta": 0.01, "reward_std": 2.0, "threshold": "chernoff"},
    "top_two_thompson": {"delta": 0.01, "beta": 0.25, "reward_std": 2.0, "threshold": "chernoff"},
    "primal_dual": {"budget": 50.0, "rounds": 100},
    "budgeted_thompson": {"prior_successes": 2.0, "prior_failures": 3.0},
}
"""Arguments that are not the defaults, by the ids of policies."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_policy_shows_the_arguments_that_are_not_the_defaults(name):
    policy = POLICIES[name].make(num_actions=4, **OTHERS[name])
    shown = repr(policy)
    for argument, value in OTHERS[name].items():
        assert f"{argument}={value!r}" in shown


@pytest.mark.parametrize(
    ("name", "arguments", "same"),
    [
        ("beta_thompson", {}, {"prior_successes": 1, "prior_failures": np.float32(1)}),
        ("beta_greedy", {}, {"prior_successes": np.float64(1), "prior_failures": np.int64(1)}),
        ("discounted_thompson", {"gamma": 0.5}, {"gamma": np.float64(0.5), "prior_successes": 1}),
        ("budgeted_thompson", {}, {"prior_successes": 1, "prior_failures": 1}),
        ("kl_lucb", {"delta": 1.0, "reward_std": 2.0}, {"delta": 1, "reward_std": np.int64(2)}),
        ("track_and_stop", {"delta": 1.0, "reward_std": 2.0}, {"delta": 1, "reward_std": 2}),
        ("successive_elimination", {"delta": 0.5, "reward_std": 2.0}, {"reward_std": 2}),
    ],
)
def test_equal_numbers_of_other_types_are_shown_alike(name, arguments, same):
    entry = POLICIES[name]
    other = entry.make(num_actions=4, **{**arguments, **same})
    assert repr(other) == repr(entry.make(num_actions=4, **arguments))


def test_a_policy_shows_the_coefficients_that_it_was_made_with():
    interval = BoundedArraySpec((), np.float64, 0.0, 1.0)
    given = np.array([0.5])
    policies = [
        GaussianPolicy(coefficients=each, observation_spec=(), action_spec=interval)
        for each in (given, [0.5])
    ]
    given[0] = 0.9
    assert repr(policies[0]) == repr(policies[1])
    policies[0].set_state(policies[1].get_state())


def test_policies_of_numbers_and_of_looks_at_slots_show_theirs():
    interval = BoundedArraySpec((), np.float64, 0.0, 1.0)
    features = ArraySpec((2,), np.float64)
    number = GaussianPolicy(0.2, [0.1, 0.5, 0.2], observation_spec=features, action_spec=interval)
    assert "std=0.2, coefficients=[0.1, 0.5, 0.2]" in repr(number)
    looks = PBMUCBPolicy(2, [1.0, 0.5], num_actions=3)
    assert "observation_probs=[1.0, 0.5]" in repr(looks)


def test_a_policy_says_if_it_was_asked_not_to_count_pending_choices():
    silent = KLLUCBPolicy(0.1, num_actions=3, count_pending=False)
    assert "count_pending=False" in repr(silent)
    assert "count_pending" not in repr(KLLUCBPolicy(0.1, num_actions=3))


def test_a_policy_with_more_actions_shows_the_same_arguments():
    test = TrackAndStopPolicy(0.01, num_actions=3, count_pending=False)
    assert repr(test.with_actions(4)) == repr(test).replace("num_actions=3", "num_actions=4")


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if is_class_of(name, Policy)])
def test_every_policy_shows_what_it_must_be_given(name):
    policy = make_policy(name, make_environment(name))
    for argument in ARGUMENTS[name]:
        assert f"{argument}=" in repr(policy)
