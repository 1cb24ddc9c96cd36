"""TF-Agents' module `environment_utilities`, handed on as it is."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from tf_agents.bandits.environments.environment_utilities import (
    LinearNormalMultipleRewards,
    LinearNormalReward,
    build_laplacian_over_ordinal_integer_actions_from_env,
    compute_optimal_action,
    compute_optimal_action_with_classification_environment,
    compute_optimal_action_with_environment_dynamics,
    compute_optimal_action_with_movielens_environment,
    compute_optimal_reward,
    compute_optimal_reward_with_classification_environment,
    compute_optimal_reward_with_environment_dynamics,
    compute_optimal_reward_with_movielens_environment,
    context_sampling_fn,
    linear_multiple_reward_fn_generator,
    linear_reward_fn_generator,
    normalized_sliding_linear_reward_fn_generator,
    random_linear_multiple_reward_fn_generator,
    sliding_linear_reward_fn_generator,
    structured_linear_reward_fn_generator,
    tf_compute_optimal_action,
    tf_compute_optimal_reward,
    tf_wheel_bandit_compute_optimal_action,
    tf_wheel_bandit_compute_optimal_reward,
)

__all__ = [
    "LinearNormalMultipleRewards",
    "LinearNormalReward",
    "build_laplacian_over_ordinal_integer_actions_from_env",
    "compute_optimal_action",
    "compute_optimal_action_with_classification_environment",
    "compute_optimal_action_with_environment_dynamics",
    "compute_optimal_action_with_movielens_environment",
    "compute_optimal_reward",
    "compute_optimal_reward_with_classification_environment",
    "compute_optimal_reward_with_environment_dynamics",
    "compute_optimal_reward_with_movielens_environment",
    "context_sampling_fn",
    "linear_multiple_reward_fn_generator",
    "linear_reward_fn_generator",
    "normalized_sliding_linear_reward_fn_generator",
    "random_linear_multiple_reward_fn_generator",
    "sliding_linear_reward_fn_generator",
    "structured_linear_reward_fn_generator",
    "tf_compute_optimal_action",
    "tf_compute_optimal_reward",
    "tf_wheel_bandit_compute_optimal_action",
    "tf_wheel_bandit_compute_optimal_reward",
]
