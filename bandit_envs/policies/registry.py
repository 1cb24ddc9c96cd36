"""The registry of policies: from here the command, studies and docs know them.

A policy is one file, one entry here and one test of its rule. A user's own class needs no entry:
`module:Class` stands wherever an id does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from bandit_envs.base.registry import Entry, find_entry
from bandit_envs.policies.epsilon_greedy import EpsilonGreedyPolicy
from bandit_envs.policies.gradient import GradientBanditPolicy
from bandit_envs.policies.linear import (
    LinearEpsilonGreedyPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
)
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.random import RandomPolicy
from bandit_envs.policies.thompson import GaussianThompsonSamplingPolicy
from bandit_envs.policies.ucb import UCBPolicy


@dataclasses.dataclass(frozen=True)
class PolicyEntry(Entry):
    """A policy.

    Fields:
        policy: the class.
    """

    policy: type[Policy] = Policy

    @property
    def supplied(self) -> frozenset[str]:
        return frozenset({"num_actions", "batch_size", "observation_spec", "seed"})


def _entry(
    id: str,  # noqa: A002
    title: str,
    policy: type[Policy],
    fixed: Mapping[str, Any] | None = None,
) -> PolicyEntry:
    return PolicyEntry(id, title, policy, fixed or {}, policy)


POLICIES = {
    entry.id: entry
    for entry in (
        _entry("random", "random", RandomPolicy),
        _entry("greedy", "greedy", EpsilonGreedyPolicy, {"epsilon": 0.0}),
        _entry("epsilon_greedy", "ε-greedy", EpsilonGreedyPolicy),
        _entry("ucb", "UCB", UCBPolicy),
        _entry("gradient", "gradient bandit", GradientBanditPolicy),
        _entry("thompson", "Thompson sampling", GaussianThompsonSamplingPolicy),
        _entry("lin_ucb", "LinUCB", LinUCBPolicy),
        _entry("linear_thompson", "linear Thompson sampling", LinearThompsonSamplingPolicy),
        _entry("linear_epsilon_greedy", "linear ε-greedy", LinearEpsilonGreedyPolicy),
    )
}
"""All policies of the package, by id."""


def find_policy(name: str) -> PolicyEntry:
    """Returns the entry of an id or of a user's `module:Class`.

    Raises:
        ValueError: there is no such id or class, or it is not a `Policy`.
    """
    return find_entry("policy", name, POLICIES, _of_class)


def _of_class(name: str, found: Any) -> PolicyEntry:
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise TypeError("it is not a subclass of Policy")
    return _entry(name, found.__name__, found)
