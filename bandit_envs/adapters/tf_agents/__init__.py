"""TF-Agents: our environments as its own, and its per-arm environment as one of ours.

    from bandit_envs.adapters import tf_agents as adapter

    environment = tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))

Environments only: a policy of one library does not drive environments of the other without the
agents, networks and variables that come with it.

TF-Agents works with TensorFlow up to 2.15; with a later one if `tf_keras` is installed and
TF_USE_LEGACY_KERAS=1 is set before TensorFlow is imported.
"""

from bandit_envs.adapters.tf_agents.adapted import (
    TFAgentsBanditEnvironment,
    TFAgentsEnvironment,
    as_tf_agents,
)
from bandit_envs.adapters.tf_agents.baselines import optimal_action_fn, optimal_reward_fn
from bandit_envs.adapters.tf_agents.per_arm import StationaryStochasticPerArmPyEnvironment

__all__ = [
    "StationaryStochasticPerArmPyEnvironment",
    "TFAgentsBanditEnvironment",
    "TFAgentsEnvironment",
    "as_tf_agents",
    "optimal_action_fn",
    "optimal_reward_fn",
]
