"""Policies that look for the best action, recommend it, and may stop."""

from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy
from bandit_envs.policies.best_arm.best_arm_report import BestArmReport
from bandit_envs.policies.best_arm.confidence_bounds import KLLUCBPolicy, LUCBPolicy
from bandit_envs.policies.best_arm.elimination import (
    ExploreThenCommitPolicy,
    SuccessiveEliminationPolicy,
)
from bandit_envs.policies.best_arm.fixed_budget import (
    SequentialHalvingPolicy,
    SuccessiveRejectsPolicy,
    UCBEPolicy,
    UniformAllocationPolicy,
)
from bandit_envs.policies.best_arm.g_optimal import GOptimalPolicy
from bandit_envs.policies.best_arm.optimal_proportions import (
    CharacteristicTime,
    characteristic_time,
)
from bandit_envs.policies.best_arm.track_and_stop import (
    CTrackingPolicy,
    LikelihoodRatioTestPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
)

__all__ = [
    "BestArmPolicy",
    "BestArmReport",
    "CTrackingPolicy",
    "CharacteristicTime",
    "ExploreThenCommitPolicy",
    "GOptimalPolicy",
    "KLLUCBPolicy",
    "LUCBPolicy",
    "LikelihoodRatioTestPolicy",
    "SequentialHalvingPolicy",
    "SuccessiveEliminationPolicy",
    "SuccessiveRejectsPolicy",
    "TopTwoThompsonSamplingPolicy",
    "TrackAndStopPolicy",
    "UCBEPolicy",
    "UniformAllocationPolicy",
    "characteristic_time",
]
