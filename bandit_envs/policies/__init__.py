"""Baseline policies on batched NumPy arrays."""

from bandit_envs.policies.arms import (
    BayesUCBPolicy,
    BetaGreedyPolicy,
    BetaThompsonSamplingPolicy,
    BoltzmannPolicy,
    DecayingEpsilonGreedyPolicy,
    DiscountedThompsonSamplingPolicy,
    DiscountedUCBPolicy,
    EpsilonGreedyPolicy,
    Exp3Policy,
    Exp3SPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    IMEDPolicy,
    IndexPolicy,
    KLUCBPolicy,
    MOSSPolicy,
    ReducedVarianceTsallisINFPolicy,
    SlidingWindowUCBPolicy,
    ThompsonSamplingPolicy,
    TsallisINFPolicy,
    UCB1TunedPolicy,
    UCBPolicy,
)
from bandit_envs.policies.baselines.constant import ConstantPolicy
from bandit_envs.policies.baselines.first import FirstPolicy
from bandit_envs.policies.baselines.popular import PopularPolicy
from bandit_envs.policies.baselines.random import RandomPolicy
from bandit_envs.policies.best_arm import (
    BestArmPolicy,
    CTrackingPolicy,
    ExploreThenCommitPolicy,
    GOptimalPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    LUCBPolicy,
    SequentialHalvingPolicy,
    SuccessiveEliminationPolicy,
    SuccessiveRejectsPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
    UCBEPolicy,
    UniformAllocationPolicy,
    characteristic_time,
)
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.delayed import DelayedLearning
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.knapsacks import (
    BudgetedThompsonSamplingPolicy,
    KnapsackPolicy,
    PrimalDualPolicy,
)
from bandit_envs.policies.learned import Servable
from bandit_envs.policies.learning_observer import LearningObserver
from bandit_envs.policies.linear import (
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
)
from bandit_envs.policies.number_policies import (
    ContinuousPolicy,
    GaussianPolicy,
    RandomNumberPolicy,
)
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.row_by_row import RowByRowPolicy
from bandit_envs.policies.slate_policies import (
    CascadeUCBPolicy,
    PBMUCBPolicy,
    RandomSlatePolicy,
    SlatePolicy,
)
from bandit_envs.policies.split_tests import (
    SplitTestPolicy,
    compare_variants,
)

__all__ = [
    "BayesUCBPolicy",
    "BestArmPolicy",
    "BetaGreedyPolicy",
    "BetaThompsonSamplingPolicy",
    "BoltzmannPolicy",
    "BudgetedThompsonSamplingPolicy",
    "CTrackingPolicy",
    "CascadeUCBPolicy",
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
    "FirstPolicy",
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
    "LearningObserver",
    "LikelihoodRatioTestPolicy",
    "LinUCBPolicy",
    "LinearThompsonSamplingPolicy",
    "MOSSPolicy",
    "PBMUCBPolicy",
    "Policy",
    "PopularPolicy",
    "PrimalDualPolicy",
    "RandomNumberPolicy",
    "RandomPolicy",
    "RandomSlatePolicy",
    "ReducedVarianceTsallisINFPolicy",
    "RowByRowPolicy",
    "SequentialHalvingPolicy",
    "Servable",
    "SlatePolicy",
    "SlidingWindowUCBPolicy",
    "SplitTestPolicy",
    "SuccessiveEliminationPolicy",
    "SuccessiveRejectsPolicy",
    "ThompsonSamplingPolicy",
    "TopTwoThompsonSamplingPolicy",
    "TrackAndStopPolicy",
    "TsallisINFPolicy",
    "UCB1TunedPolicy",
    "UCBEPolicy",
    "UCBPolicy",
    "UniformAllocationPolicy",
    "argmax_random_ties",
    "characteristic_time",
    "compare_variants",
]
