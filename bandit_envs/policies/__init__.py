"""Baseline policies on batched NumPy arrays."""

from bandit_envs.policies.adversarial import Exp3Policy as Exp3Policy
from bandit_envs.policies.adversarial import Exp3SPolicy as Exp3SPolicy
from bandit_envs.policies.adversarial import (
    ReducedVarianceTsallisINFPolicy as ReducedVarianceTsallisINFPolicy,
)
from bandit_envs.policies.adversarial import TsallisINFPolicy as TsallisINFPolicy
from bandit_envs.policies.bayes_ucb import BayesUCBPolicy as BayesUCBPolicy
from bandit_envs.policies.best_arm import BestArmPolicy as BestArmPolicy
from bandit_envs.policies.beta_greedy import BetaGreedyPolicy as BetaGreedyPolicy
from bandit_envs.policies.boltzmann import BoltzmannPolicy as BoltzmannPolicy
from bandit_envs.policies.confidence_bounds import KLLUCBPolicy as KLLUCBPolicy
from bandit_envs.policies.confidence_bounds import LUCBPolicy as LUCBPolicy
from bandit_envs.policies.constant import ConstantPolicy as ConstantPolicy
from bandit_envs.policies.contextual import ContextualPolicy as ContextualPolicy
from bandit_envs.policies.continuous import ContinuousPolicy as ContinuousPolicy
from bandit_envs.policies.continuous import GaussianPolicy as GaussianPolicy
from bandit_envs.policies.continuous import RandomNumberPolicy as RandomNumberPolicy
from bandit_envs.policies.delayed import DelayedLearning as DelayedLearning
from bandit_envs.policies.draws import argmax_random_ties as argmax_random_ties
from bandit_envs.policies.elimination import ExploreThenCommitPolicy as ExploreThenCommitPolicy
from bandit_envs.policies.elimination import (
    SuccessiveEliminationPolicy as SuccessiveEliminationPolicy,
)
from bandit_envs.policies.epsilon_greedy import (
    DecayingEpsilonGreedyPolicy as DecayingEpsilonGreedyPolicy,
)
from bandit_envs.policies.epsilon_greedy import EpsilonGreedyPolicy as EpsilonGreedyPolicy
from bandit_envs.policies.fixed_budget import SequentialHalvingPolicy as SequentialHalvingPolicy
from bandit_envs.policies.fixed_budget import SuccessiveRejectsPolicy as SuccessiveRejectsPolicy
from bandit_envs.policies.fixed_budget import UCBEPolicy as UCBEPolicy
from bandit_envs.policies.fixed_budget import UniformAllocationPolicy as UniformAllocationPolicy
from bandit_envs.policies.forgetting_ucb import DiscountedUCBPolicy as DiscountedUCBPolicy
from bandit_envs.policies.forgetting_ucb import SlidingWindowUCBPolicy as SlidingWindowUCBPolicy
from bandit_envs.policies.g_optimal import GOptimalPolicy as GOptimalPolicy
from bandit_envs.policies.gradient import GradientBanditPolicy as GradientBanditPolicy
from bandit_envs.policies.index_policy import IndexPolicy as IndexPolicy
from bandit_envs.policies.inverse_gap import inverse_gap_probabilities as inverse_gap_probabilities
from bandit_envs.policies.kl_ucb import IMEDPolicy as IMEDPolicy
from bandit_envs.policies.kl_ucb import KLUCBPolicy as KLUCBPolicy
from bandit_envs.policies.knapsacks import (
    BudgetedThompsonSamplingPolicy as BudgetedThompsonSamplingPolicy,
)
from bandit_envs.policies.knapsacks import KnapsackPolicy as KnapsackPolicy
from bandit_envs.policies.knapsacks import PrimalDualPolicy as PrimalDualPolicy
from bandit_envs.policies.linear import LinearThompsonSamplingPolicy as LinearThompsonSamplingPolicy
from bandit_envs.policies.linear import LinUCBPolicy as LinUCBPolicy
from bandit_envs.policies.optimal_proportions import CharacteristicTime as CharacteristicTime
from bandit_envs.policies.optimal_proportions import characteristic_time as characteristic_time
from bandit_envs.policies.policy import Policy as Policy
from bandit_envs.policies.random import RandomPolicy as RandomPolicy
from bandit_envs.policies.row_by_row import RowByRowPolicy as RowByRowPolicy
from bandit_envs.policies.slates import CascadeUCBPolicy as CascadeUCBPolicy
from bandit_envs.policies.slates import PBMUCBPolicy as PBMUCBPolicy
from bandit_envs.policies.slates import RandomSlatePolicy as RandomSlatePolicy
from bandit_envs.policies.slates import SlatePolicy as SlatePolicy
from bandit_envs.policies.slates import TopKLinUCBPolicy as TopKLinUCBPolicy
from bandit_envs.policies.thompson import BetaThompsonSamplingPolicy as BetaThompsonSamplingPolicy
from bandit_envs.policies.thompson import (
    DiscountedThompsonSamplingPolicy as DiscountedThompsonSamplingPolicy,
)
from bandit_envs.policies.thompson import (
    GaussianThompsonSamplingPolicy as GaussianThompsonSamplingPolicy,
)
from bandit_envs.policies.thompson import ThompsonSamplingPolicy as ThompsonSamplingPolicy
from bandit_envs.policies.track_and_stop import CTrackingPolicy as CTrackingPolicy
from bandit_envs.policies.track_and_stop import (
    LikelihoodRatioTestPolicy as LikelihoodRatioTestPolicy,
)
from bandit_envs.policies.track_and_stop import (
    TopTwoThompsonSamplingPolicy as TopTwoThompsonSamplingPolicy,
)
from bandit_envs.policies.track_and_stop import TrackAndStopPolicy as TrackAndStopPolicy
from bandit_envs.policies.ucb import MOSSPolicy as MOSSPolicy
from bandit_envs.policies.ucb import UCB1TunedPolicy as UCB1TunedPolicy
from bandit_envs.policies.ucb import UCBPolicy as UCBPolicy
