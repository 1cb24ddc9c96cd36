"""Reward models: the distribution of a reward, given the features of user and item."""

from bandit_envs.rewards.contextual import (
    LinearReward,
    LogisticReward,
    RewardFunction,
    RewardModel,
    RowReward,
    as_reward_model,
)

__all__ = [
    "LinearReward",
    "LogisticReward",
    "RewardFunction",
    "RewardModel",
    "RowReward",
    "as_reward_model",
]
