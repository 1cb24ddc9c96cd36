"""TF-Agents' modules of bandit environments, with this package's environments in place of its own.

A module has the name of TF-Agents' module and each name in it. What is not replaced is TF-Agents'.
"""

from bandit_envs.adapters.tf_agents.environments import (
    bandit_py_environment,
    bandit_tf_environment,
    bernoulli_action_mask_tf_environment,
    bernoulli_py_environment,
    classification_environment,
    dataset_utilities,
    drifting_linear_environment,
    environment_utilities,
    movielens_per_arm_py_environment,
    movielens_py_environment,
    non_stationary_stochastic_environment,
    piecewise_bernoulli_py_environment,
    piecewise_stochastic_environment,
    random_bandit_environment,
    ranking_environment,
    stationary_stochastic_per_arm_py_environment,
    stationary_stochastic_py_environment,
    stationary_stochastic_structured_py_environment,
    wheel_py_environment,
)

__all__ = [
    "bandit_py_environment",
    "bandit_tf_environment",
    "bernoulli_action_mask_tf_environment",
    "bernoulli_py_environment",
    "classification_environment",
    "dataset_utilities",
    "drifting_linear_environment",
    "environment_utilities",
    "movielens_per_arm_py_environment",
    "movielens_py_environment",
    "non_stationary_stochastic_environment",
    "piecewise_bernoulli_py_environment",
    "piecewise_stochastic_environment",
    "random_bandit_environment",
    "ranking_environment",
    "stationary_stochastic_per_arm_py_environment",
    "stationary_stochastic_py_environment",
    "stationary_stochastic_structured_py_environment",
    "wheel_py_environment",
]
