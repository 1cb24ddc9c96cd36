"""Models of rewards, which estimators and learners use."""

from bandit_envs.logged.reward_models.regression import RewardRegression, mrdr_weights
from bandit_envs.logged.reward_models.reward_sums import RewardSums
from bandit_envs.logged.reward_models.ridge_regression import RidgeRegression

__all__ = [
    "RewardRegression",
    "RewardSums",
    "RidgeRegression",
    "mrdr_weights",
]
