"""Policies for arms: they know each action by its own rewards, and read no context."""

from bandit_envs.policies.arms.bayes_ucb import BayesUCBPolicy
from bandit_envs.policies.arms.beta_greedy import BetaGreedyPolicy
from bandit_envs.policies.arms.boltzmann import BoltzmannPolicy
from bandit_envs.policies.arms.epsilon_greedy import (
    DecayingEpsilonGreedyPolicy,
    EpsilonGreedyPolicy,
)
from bandit_envs.policies.arms.exp3 import (
    Exp3Policy,
    Exp3SPolicy,
    ReducedVarianceTsallisINFPolicy,
    TsallisINFPolicy,
)
from bandit_envs.policies.arms.forgetting_ucb import DiscountedUCBPolicy, SlidingWindowUCBPolicy
from bandit_envs.policies.arms.gradient import GradientBanditPolicy
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.arms.kl_ucb import IMEDPolicy, KLUCBPolicy
from bandit_envs.policies.arms.thompson import (
    BetaThompsonSamplingPolicy,
    DiscountedThompsonSamplingPolicy,
    GaussianThompsonSamplingPolicy,
)
from bandit_envs.policies.arms.thompson_sampling_policy import ThompsonSamplingPolicy
from bandit_envs.policies.arms.ucb import MOSSPolicy, UCB1TunedPolicy, UCBPolicy

__all__ = [
    "BayesUCBPolicy",
    "BetaGreedyPolicy",
    "BetaThompsonSamplingPolicy",
    "BoltzmannPolicy",
    "DecayingEpsilonGreedyPolicy",
    "DiscountedThompsonSamplingPolicy",
    "DiscountedUCBPolicy",
    "EpsilonGreedyPolicy",
    "Exp3Policy",
    "Exp3SPolicy",
    "GaussianThompsonSamplingPolicy",
    "GradientBanditPolicy",
    "IMEDPolicy",
    "IndexPolicy",
    "KLUCBPolicy",
    "MOSSPolicy",
    "ReducedVarianceTsallisINFPolicy",
    "SlidingWindowUCBPolicy",
    "ThompsonSamplingPolicy",
    "TsallisINFPolicy",
    "UCB1TunedPolicy",
    "UCBPolicy",
]
