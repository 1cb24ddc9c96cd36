"""TF-Agents' module `bandit_tf_environment`, handed on as it is."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from tf_agents.bandits.environments.bandit_tf_environment import BanditTFEnvironment

__all__ = ["BanditTFEnvironment"]
