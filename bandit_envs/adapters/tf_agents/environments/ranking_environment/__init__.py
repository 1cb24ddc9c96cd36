"""The replacement of TF-Agents' module `ranking_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from tf_agents.bandits.environments.ranking_environment import GLOBAL_KEY, PER_ARM_KEY

from bandit_envs.adapters.tf_agents.environments.ranking_environment.positional_bias import (
    ExplicitPositionalBiasRankingEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.ranking_environment.ranking import (
    RankingPyEnvironment,
)
from bandit_envs.environments.slates.ranking import ClickModel, FeedbackModel

__all__ = [
    "GLOBAL_KEY",
    "PER_ARM_KEY",
    "ClickModel",
    "ExplicitPositionalBiasRankingEnvironment",
    "FeedbackModel",
    "RankingPyEnvironment",
]
