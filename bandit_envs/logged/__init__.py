"""Logged bandit data: logs, their files, replay and off-policy estimators."""

from bandit_envs.logged.confidence_sequence import DRConfidenceSequence as DRConfidenceSequence
from bandit_envs.logged.confidence_sequence import IPSConfidenceSequence as IPSConfidenceSequence
from bandit_envs.logged.continuous import KernelDR as KernelDR
from bandit_envs.logged.continuous import KernelIPS as KernelIPS
from bandit_envs.logged.continuous import SelfNormalizedKernelIPS as SelfNormalizedKernelIPS
from bandit_envs.logged.continuous import actions_of as actions_of
from bandit_envs.logged.continuous import cosine_kernel as cosine_kernel
from bandit_envs.logged.continuous import epanechnikov_kernel as epanechnikov_kernel
from bandit_envs.logged.continuous import gaussian_kernel as gaussian_kernel
from bandit_envs.logged.continuous import triangular_kernel as triangular_kernel
from bandit_envs.logged.dsjson import read_dsjson as read_dsjson
from bandit_envs.logged.dsjson import write_dsjson as write_dsjson
from bandit_envs.logged.embeddings import ActionPosterior as ActionPosterior
from bandit_envs.logged.embeddings import MarginalizedIPS as MarginalizedIPS
from bandit_envs.logged.embeddings import (
    SelfNormalizedMarginalizedIPS as SelfNormalizedMarginalizedIPS,
)
from bandit_envs.logged.embeddings import likelihoods_by_counts as likelihoods_by_counts
from bandit_envs.logged.embeddings import likelihoods_by_posterior as likelihoods_by_posterior
from bandit_envs.logged.embeddings import likelihoods_of_embeddings as likelihoods_of_embeddings
from bandit_envs.logged.estimate import Estimate as Estimate
from bandit_envs.logged.estimate import EstimateSums as EstimateSums
from bandit_envs.logged.estimate import merge_sums as merge_sums
from bandit_envs.logged.estimators import DirectMethod as DirectMethod
from bandit_envs.logged.estimators import DoublyRobust as DoublyRobust
from bandit_envs.logged.estimators import DRWithOptimisticShrinkage as DRWithOptimisticShrinkage
from bandit_envs.logged.estimators import Estimator as Estimator
from bandit_envs.logged.estimators import InversePropensityScoring as InversePropensityScoring
from bandit_envs.logged.estimators import ReplayMethod as ReplayMethod
from bandit_envs.logged.estimators import SelfNormalizedDR as SelfNormalizedDR
from bandit_envs.logged.estimators import SelfNormalizedIPS as SelfNormalizedIPS
from bandit_envs.logged.estimators import SubGaussianDR as SubGaussianDR
from bandit_envs.logged.estimators import SubGaussianIPS as SubGaussianIPS
from bandit_envs.logged.estimators import SwitchDR as SwitchDR
from bandit_envs.logged.files import read_log as read_log
from bandit_envs.logged.files import write_log as write_log
from bandit_envs.logged.frames import from_frame as from_frame
from bandit_envs.logged.frames import to_frame as to_frame
from bandit_envs.logged.ips_learner import IPSLearner as IPSLearner
from bandit_envs.logged.learners import DirectMethodLearner as DirectMethodLearner
from bandit_envs.logged.learners import DoublyRobustLearner as DoublyRobustLearner
from bandit_envs.logged.learners import Learner as Learner
from bandit_envs.logged.learners import PolicyGradientLearner as PolicyGradientLearner
from bandit_envs.logged.learning import learn_from_log as learn_from_log
from bandit_envs.logged.log import BanditLog as BanditLog
from bandit_envs.logged.log import concatenate as concatenate
from bandit_envs.logged.loggers import CombinedEstimate as CombinedEstimate
from bandit_envs.logged.loggers import balance_loggers as balance_loggers
from bandit_envs.logged.loggers import combine_estimates as combine_estimates
from bandit_envs.logged.models import RewardRegression as RewardRegression
from bandit_envs.logged.obp import from_obp as from_obp
from bandit_envs.logged.obp import to_obp as to_obp
from bandit_envs.logged.policy_files import SavedPolicy as SavedPolicy
from bandit_envs.logged.policy_files import read_policy as read_policy
from bandit_envs.logged.policy_files import write_policy as write_policy
from bandit_envs.logged.probabilities import probabilities_of as probabilities_of
from bandit_envs.logged.recorder import LogRecorder as LogRecorder
from bandit_envs.logged.replay import MatchedRows as MatchedRows
from bandit_envs.logged.replay import ReplayEnvironment as ReplayEnvironment
from bandit_envs.logged.replay import ReplayResult as ReplayResult
from bandit_envs.logged.replay import evaluate_by_replay as evaluate_by_replay
from bandit_envs.logged.reward_sums import CrossFittedRidge as CrossFittedRidge
from bandit_envs.logged.reward_sums import RewardSums as RewardSums
from bandit_envs.logged.ridge import RidgeRegression as RidgeRegression
from bandit_envs.logged.scan import scan_log as scan_log
from bandit_envs.logged.selection import slope as slope
from bandit_envs.logged.selection import tuned as tuned
from bandit_envs.logged.slate_estimators import CascadeDR as CascadeDR
from bandit_envs.logged.slate_estimators import PseudoInverse as PseudoInverse
from bandit_envs.logged.slate_estimators import RewardInteractionIPS as RewardInteractionIPS
from bandit_envs.logged.slate_estimators import (
    SelfNormalizedRewardInteractionIPS as SelfNormalizedRewardInteractionIPS,
)
from bandit_envs.logged.slate_estimators import (
    SelfNormalizedSlateIndependentIPS as SelfNormalizedSlateIndependentIPS,
)
from bandit_envs.logged.slate_estimators import (
    SelfNormalizedSlateStandardIPS as SelfNormalizedSlateStandardIPS,
)
from bandit_envs.logged.slate_estimators import SlateEstimator as SlateEstimator
from bandit_envs.logged.slate_estimators import SlateIndependentIPS as SlateIndependentIPS
from bandit_envs.logged.slate_estimators import SlateMoments as SlateMoments
from bandit_envs.logged.slate_estimators import SlateStandardIPS as SlateStandardIPS
from bandit_envs.logged.streaming import estimate_batches as estimate_batches
from bandit_envs.trajectories import SlateProbabilities as SlateProbabilities
