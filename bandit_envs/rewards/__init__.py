"""The distributions of rewards: laws of arms, and models that depend on features."""

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

__all__ = [
    "Bernoulli",
    "Beta",
    "Corrupted",
    "Discrete",
    "Exponential",
    "Gamma",
    "Law",
    "LinearReward",
    "LogisticReward",
    "Normal",
    "Poisson",
    "RewardFunction",
    "RewardModel",
    "RowReward",
    "Uniform",
    "as_law",
    "as_reward_model",
]
