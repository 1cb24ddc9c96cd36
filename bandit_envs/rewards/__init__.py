"""The distributions of rewards: laws of arms, and models that depend on features."""

from bandit_envs.rewards.actions import (
    ActionRewardModel,
    ActionRewards,
    LinearActionReward,
    RowActionReward,
    as_action_reward_model,
    normalized_sliding_thetas,
    sliding_thetas,
    structured_thetas,
)
from bandit_envs.rewards.arms import (
    Bernoulli,
    Beta,
    Discrete,
    Exponential,
    Gamma,
    Law,
    Normal,
    Poisson,
    Uniform,
)
from bandit_envs.rewards.contextual import (
    LinearReward,
    LogisticReward,
    RewardFunction,
    RewardModel,
    RowReward,
    as_reward_model,
)
from bandit_envs.rewards.mixtures import Corrupted, as_law
from bandit_envs.rewards.nests import FlatReward, RowNestReward, as_nest_reward_model

__all__ = [
    "ActionRewardModel",
    "ActionRewards",
    "Bernoulli",
    "Beta",
    "Corrupted",
    "Discrete",
    "Exponential",
    "FlatReward",
    "Gamma",
    "Law",
    "LinearActionReward",
    "LinearReward",
    "LogisticReward",
    "Normal",
    "Poisson",
    "RewardFunction",
    "RewardModel",
    "RowActionReward",
    "RowNestReward",
    "RowReward",
    "Uniform",
    "as_action_reward_model",
    "as_law",
    "as_nest_reward_model",
    "as_reward_model",
    "normalized_sliding_thetas",
    "sliding_thetas",
    "structured_thetas",
]
