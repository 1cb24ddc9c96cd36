"""Environments whose actions are slates: several distinct items at once."""

from bandit_envs.environments.slates.click_models import CascadeBandit, PositionBasedBandit
from bandit_envs.environments.slates.positional_bias import ExplicitPositionalBiasRankingEnvironment
from bandit_envs.environments.slates.ranking import ClickModel, FeedbackModel, RankingPyEnvironment

__all__ = [
    "CascadeBandit",
    "ClickModel",
    "ExplicitPositionalBiasRankingEnvironment",
    "FeedbackModel",
    "PositionBasedBandit",
    "RankingPyEnvironment",
]
