"""Logged bandit data: logs, their files, replay and off-policy estimators."""

from bandit_envs.logged.confidence_sequence import DRConfidenceSequence, IPSConfidenceSequence
from bandit_envs.logged.continuous import (
    KernelDR,
    KernelIPS,
    SelfNormalizedKernelIPS,
    actions_of,
    cosine_kernel,
    epanechnikov_kernel,
    gaussian_kernel,
    triangular_kernel,
)
from bandit_envs.logged.dsjson import read_dsjson, write_dsjson
from bandit_envs.logged.embeddings import (
    ActionPosterior,
    MarginalizedIPS,
    SelfNormalizedMarginalizedIPS,
    likelihoods_by_counts,
    likelihoods_by_posterior,
    likelihoods_of_embeddings,
)
from bandit_envs.logged.estimate import Estimate, EstimateSums, merge_sums
from bandit_envs.logged.estimators import (
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    Estimator,
    InversePropensityScoring,
    ReplayMethod,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
)
from bandit_envs.logged.files import read_log, write_log
from bandit_envs.logged.frames import from_frame, to_frame
from bandit_envs.logged.ips_learner import IPSLearner
from bandit_envs.logged.learners import (
    DirectMethodLearner,
    DoublyRobustLearner,
    Learner,
    PolicyGradientLearner,
)
from bandit_envs.logged.learning import learn_from_log
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.logged.loggers import CombinedEstimate, balance_loggers, combine_estimates
from bandit_envs.logged.models import RewardRegression
from bandit_envs.logged.obp import from_obp, to_obp
from bandit_envs.logged.policy_files import SavedPolicy, read_policy, write_policy
from bandit_envs.logged.probabilities import probabilities_of
from bandit_envs.logged.recorder import LogRecorder
from bandit_envs.logged.replay import (
    MatchedRows,
    ReplayEnvironment,
    ReplayResult,
    evaluate_by_replay,
)
from bandit_envs.logged.reward_sums import CrossFittedRidge, RewardSums
from bandit_envs.logged.ridge import RidgeRegression
from bandit_envs.logged.scan import scan_log
from bandit_envs.logged.selection import slope, tuned
from bandit_envs.logged.slate_estimators import (
    CascadeDR,
    PseudoInverse,
    RewardInteractionIPS,
    SelfNormalizedRewardInteractionIPS,
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateStandardIPS,
    SlateEstimator,
    SlateIndependentIPS,
    SlateMoments,
    SlateStandardIPS,
)
from bandit_envs.logged.streaming import estimate_batches
from bandit_envs.trajectories import SlateProbabilities

__all__ = [
    "ActionPosterior",
    "BanditLog",
    "CascadeDR",
    "CombinedEstimate",
    "CrossFittedRidge",
    "DRConfidenceSequence",
    "DRWithOptimisticShrinkage",
    "DirectMethod",
    "DirectMethodLearner",
    "DoublyRobust",
    "DoublyRobustLearner",
    "Estimate",
    "EstimateSums",
    "Estimator",
    "IPSConfidenceSequence",
    "IPSLearner",
    "InversePropensityScoring",
    "KernelDR",
    "KernelIPS",
    "Learner",
    "LogRecorder",
    "MarginalizedIPS",
    "MatchedRows",
    "PolicyGradientLearner",
    "PseudoInverse",
    "ReplayEnvironment",
    "ReplayMethod",
    "ReplayResult",
    "RewardInteractionIPS",
    "RewardRegression",
    "RewardSums",
    "RidgeRegression",
    "SavedPolicy",
    "SelfNormalizedDR",
    "SelfNormalizedIPS",
    "SelfNormalizedKernelIPS",
    "SelfNormalizedMarginalizedIPS",
    "SelfNormalizedRewardInteractionIPS",
    "SelfNormalizedSlateIndependentIPS",
    "SelfNormalizedSlateStandardIPS",
    "SlateEstimator",
    "SlateIndependentIPS",
    "SlateMoments",
    "SlateProbabilities",
    "SlateStandardIPS",
    "SubGaussianDR",
    "SubGaussianIPS",
    "SwitchDR",
    "actions_of",
    "balance_loggers",
    "combine_estimates",
    "concatenate",
    "cosine_kernel",
    "epanechnikov_kernel",
    "estimate_batches",
    "evaluate_by_replay",
    "from_frame",
    "from_obp",
    "gaussian_kernel",
    "learn_from_log",
    "likelihoods_by_counts",
    "likelihoods_by_posterior",
    "likelihoods_of_embeddings",
    "merge_sums",
    "probabilities_of",
    "read_dsjson",
    "read_log",
    "read_policy",
    "scan_log",
    "slope",
    "to_frame",
    "to_obp",
    "triangular_kernel",
    "tuned",
    "write_dsjson",
    "write_log",
    "write_policy",
]
