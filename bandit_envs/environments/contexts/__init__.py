"""Environments whose rewards depend on contexts or on features of arms."""

from bandit_envs.environments.contexts.continuous import ContinuousBandit
from bandit_envs.environments.contexts.drifting_linear import DriftingLinearBandit
from bandit_envs.environments.contexts.logistic_clicks import logistic_context
from bandit_envs.environments.contexts.nonlinear import neural_context
from bandit_envs.environments.contexts.piecewise_linear import PiecewiseLinearBandit
from bandit_envs.environments.contexts.ratings import RatingsBandit, per_arm_ratings
from bandit_envs.environments.contexts.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
)
from bandit_envs.environments.contexts.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
    per_arm,
)
from bandit_envs.environments.contexts.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.environments.contexts.wheel import (
    WheelPyEnvironment,
    compute_optimal_action,
    compute_optimal_reward,
)

__all__ = [
    "ContinuousBandit",
    "DriftingLinearBandit",
    "PiecewiseLinearBandit",
    "RatingsBandit",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "WheelPyEnvironment",
    "compute_optimal_action",
    "compute_optimal_reward",
    "logistic_context",
    "neural_context",
    "per_arm",
    "per_arm_ratings",
]
