"""Baseline policies on batched NumPy arrays."""

from bandit_envs.policies.adversarial import (
    Exp3Policy,
    Exp3SPolicy,
    ReducedVarianceTsallisINFPolicy,
    TsallisINFPolicy,
)
from bandit_envs.policies.bayes_ucb import BayesUCBPolicy
from bandit_envs.policies.best_arm import BestArmPolicy
from bandit_envs.policies.beta_greedy import BetaGreedyPolicy
from bandit_envs.policies.boltzmann import BoltzmannPolicy
from bandit_envs.policies.confidence_bounds import KLLUCBPolicy, LUCBPolicy
from bandit_envs.policies.constant import ConstantPolicy
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.continuous import ContinuousPolicy, GaussianPolicy, RandomNumberPolicy
from bandit_envs.policies.delayed import DelayedLearning
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.elimination import (
    ExploreThenCommitPolicy,
    SuccessiveEliminationPolicy,
)
from bandit_envs.policies.epsilon_greedy import (
    DecayingEpsilonGreedyPolicy,
    EpsilonGreedyPolicy,
)
from bandit_envs.policies.fixed_budget import (
    SequentialHalvingPolicy,
    SuccessiveRejectsPolicy,
    UCBEPolicy,
    UniformAllocationPolicy,
)
from bandit_envs.policies.forgetting_ucb import DiscountedUCBPolicy, SlidingWindowUCBPolicy
from bandit_envs.policies.g_optimal import GOptimalPolicy
from bandit_envs.policies.gradient import GradientBanditPolicy
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.inverse_gap import inverse_gap_probabilities
from bandit_envs.policies.kl_ucb import IMEDPolicy, KLUCBPolicy
from bandit_envs.policies.knapsacks import (
    BudgetedThompsonSamplingPolicy,
    KnapsackPolicy,
    PrimalDualPolicy,
)
from bandit_envs.policies.linear import LinearThompsonSamplingPolicy, LinUCBPolicy
from bandit_envs.policies.optimal_proportions import CharacteristicTime, characteristic_time
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.random import RandomPolicy
from bandit_envs.policies.row_by_row import RowByRowPolicy
from bandit_envs.policies.slates import (
    CascadeUCBPolicy,
    PBMUCBPolicy,
    RandomSlatePolicy,
    SlatePolicy,
    TopKLinUCBPolicy,
)
from bandit_envs.policies.thompson import (
    BetaThompsonSamplingPolicy,
    DiscountedThompsonSamplingPolicy,
    GaussianThompsonSamplingPolicy,
    ThompsonSamplingPolicy,
)
from bandit_envs.policies.track_and_stop import (
    CTrackingPolicy,
    LikelihoodRatioTestPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
)
from bandit_envs.policies.ucb import MOSSPolicy, UCB1TunedPolicy, UCBPolicy

__all__ = [
    "BayesUCBPolicy",
    "BestArmPolicy",
    "BetaGreedyPolicy",
    "BetaThompsonSamplingPolicy",
    "BoltzmannPolicy",
    "BudgetedThompsonSamplingPolicy",
    "CTrackingPolicy",
    "CascadeUCBPolicy",
    "CharacteristicTime",
    "ConstantPolicy",
    "ContextualPolicy",
    "ContinuousPolicy",
    "DecayingEpsilonGreedyPolicy",
    "DelayedLearning",
    "DiscountedThompsonSamplingPolicy",
    "DiscountedUCBPolicy",
    "EpsilonGreedyPolicy",
    "Exp3Policy",
    "Exp3SPolicy",
    "ExploreThenCommitPolicy",
    "GOptimalPolicy",
    "GaussianPolicy",
    "GaussianThompsonSamplingPolicy",
    "GradientBanditPolicy",
    "IMEDPolicy",
    "IndexPolicy",
    "KLLUCBPolicy",
    "KLUCBPolicy",
    "KnapsackPolicy",
    "LUCBPolicy",
    "LikelihoodRatioTestPolicy",
    "LinUCBPolicy",
    "LinearThompsonSamplingPolicy",
    "MOSSPolicy",
    "PBMUCBPolicy",
    "Policy",
    "PrimalDualPolicy",
    "RandomNumberPolicy",
    "RandomPolicy",
    "RandomSlatePolicy",
    "ReducedVarianceTsallisINFPolicy",
    "RowByRowPolicy",
    "SequentialHalvingPolicy",
    "SlatePolicy",
    "SlidingWindowUCBPolicy",
    "SuccessiveEliminationPolicy",
    "SuccessiveRejectsPolicy",
    "ThompsonSamplingPolicy",
    "TopKLinUCBPolicy",
    "TopTwoThompsonSamplingPolicy",
    "TrackAndStopPolicy",
    "TsallisINFPolicy",
    "UCB1TunedPolicy",
    "UCBEPolicy",
    "UCBPolicy",
    "UniformAllocationPolicy",
    "argmax_random_ties",
    "characteristic_time",
    "inverse_gap_probabilities",
]
