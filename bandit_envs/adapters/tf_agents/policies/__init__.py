"""Agents and policies of TF-Agents as policies of this package, and the other way round."""

from bandit_envs.adapters.tf_agents.policies.driver_logs import log_observer
from bandit_envs.adapters.tf_agents.policies.saved_models import with_distribution
from bandit_envs.adapters.tf_agents.policies.tf_agents_policy import as_policy, tensor_specs
from bandit_envs.adapters.tf_agents.policies.tf_policy import as_tf_policy, policy_observer

__all__ = [
    "as_policy",
    "as_tf_policy",
    "log_observer",
    "policy_observer",
    "tensor_specs",
    "with_distribution",
]
