"""Baseline policies on batched NumPy arrays."""

from bandit_envs.policies.disjoint_linear import (
    DisjointLinearEpsilonGreedyPolicy,
    DisjointLinearThompsonSamplingPolicy,
    DisjointLinUCBPolicy,
)
from bandit_envs.policies.epsilon_greedy import EpsilonGreedyPolicy
from bandit_envs.policies.gradient import GradientBanditPolicy
from bandit_envs.policies.linear import (
    LinearEpsilonGreedyPolicy,
    LinearPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
)
from bandit_envs.policies.logistic import LogisticThompsonSamplingPolicy
from bandit_envs.policies.policy import IndexPolicy, Policy, argmax_random_ties
from bandit_envs.policies.random import RandomPolicy
from bandit_envs.policies.thompson import GaussianThompsonSamplingPolicy
from bandit_envs.policies.ucb import UCBPolicy

__all__ = [
    "DisjointLinUCBPolicy",
    "DisjointLinearEpsilonGreedyPolicy",
    "DisjointLinearThompsonSamplingPolicy",
    "EpsilonGreedyPolicy",
    "GaussianThompsonSamplingPolicy",
    "GradientBanditPolicy",
    "IndexPolicy",
    "LinUCBPolicy",
    "LinearEpsilonGreedyPolicy",
    "LinearPolicy",
    "LinearThompsonSamplingPolicy",
    "LogisticThompsonSamplingPolicy",
    "Policy",
    "RandomPolicy",
    "UCBPolicy",
    "argmax_random_ties",
]
