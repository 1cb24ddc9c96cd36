"""The replacement of TF-Agents' module `random_bandit_environment`."""

from bandit_envs.adapters.tf_agents.environments.random_bandit_environment.environment import (
    RandomBanditEnvironment,
)

__all__ = ["RandomBanditEnvironment"]
