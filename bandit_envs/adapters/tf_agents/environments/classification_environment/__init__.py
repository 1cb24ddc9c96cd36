"""The replacement of TF-Agents' module `classification_environment`."""

from bandit_envs.adapters.tf_agents.environments.classification_environment.environment import (
    ClassificationBanditEnvironment,
)

__all__ = ["ClassificationBanditEnvironment"]
