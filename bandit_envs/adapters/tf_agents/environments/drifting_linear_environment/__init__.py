"""The replacement of TF-Agents' module `drifting_linear_environment`."""

from bandit_envs.adapters.tf_agents.environments.drifting_linear_environment.dynamics import (
    DriftingLinearDynamics,
)
from bandit_envs.adapters.tf_agents.environments.drifting_linear_environment.environment import (
    DriftingLinearEnvironment,
)

__all__ = ["DriftingLinearDynamics", "DriftingLinearEnvironment"]
