"""Off-policy estimators, and the sums, intervals and choices that they are made of."""

from bandit_envs.logged.estimators.confidence_sequence import (
    DRConfidenceSequence,
    IPSConfidenceSequence,
)
from bandit_envs.logged.estimators.embeddings import (
    ActionPosterior,
    MarginalizedIPS,
)
from bandit_envs.logged.estimators.estimate import Estimate, merge_sums
from bandit_envs.logged.estimators.gains import estimate_logged, gain_over
from bandit_envs.logged.estimators.kernel_estimators import (
    KernelDR,
    KernelIPS,
    actions_of,
)
from bandit_envs.logged.estimators.late_rewards import ArrivalTimes, LateRewards, correct_delays
from bandit_envs.logged.estimators.single_actions import (
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
from bandit_envs.logged.estimators.slate_estimators import (
    CascadeDR,
    PseudoInverse,
    RewardInteractionIPS,
    SlateIndependentIPS,
    SlateStandardIPS,
)
from bandit_envs.logged.estimators.streaming import estimate_batches
from bandit_envs.logged.estimators.tuning import slope, tuned

__all__ = [
    "ActionPosterior",
    "ArrivalTimes",
    "CascadeDR",
    "DRConfidenceSequence",
    "DRWithOptimisticShrinkage",
    "DirectMethod",
    "DoublyRobust",
    "Estimate",
    "Estimator",
    "IPSConfidenceSequence",
    "InversePropensityScoring",
    "KernelDR",
    "KernelIPS",
    "LateRewards",
    "MarginalizedIPS",
    "PseudoInverse",
    "ReplayMethod",
    "RewardInteractionIPS",
    "SelfNormalizedDR",
    "SelfNormalizedIPS",
    "SlateIndependentIPS",
    "SlateStandardIPS",
    "SubGaussianDR",
    "SubGaussianIPS",
    "SwitchDR",
    "actions_of",
    "correct_delays",
    "estimate_batches",
    "estimate_logged",
    "gain_over",
    "merge_sums",
    "slope",
    "tuned",
]
