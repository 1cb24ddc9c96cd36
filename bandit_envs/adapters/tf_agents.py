"""TF-Agents: our environments as its own, and drop-in replacements of its own."""

from bandit_envs.adapters.tf_agents_baselines import optimal_action_fn, optimal_reward_fn
from bandit_envs.adapters.tf_agents_drop_ins import (
    BernoulliPyEnvironment,
    ExplicitPositionalBiasRankingEnvironment,
    MovieLensPerArmPyEnvironment,
    MovieLensPyEnvironment,
    PiecewiseBernoulliPyEnvironment,
    RankingPyEnvironment,
    StationaryStochasticPerArmPyEnvironment,
    StationaryStochasticPyEnvironment,
    StationaryStochasticStructuredPyEnvironment,
    WheelPyEnvironment,
)
from bandit_envs.adapters.tf_agents_environment import (
    TFAgentsBanditEnvironment,
    TFAgentsEnvironment,
    as_tf_agents,
)
from bandit_envs.environments.ranking import ClickModel, FeedbackModel
from bandit_envs.environments.wheel import compute_optimal_action, compute_optimal_reward

__all__ = [
    "BernoulliPyEnvironment",
    "ClickModel",
    "ExplicitPositionalBiasRankingEnvironment",
    "FeedbackModel",
    "MovieLensPerArmPyEnvironment",
    "MovieLensPyEnvironment",
    "PiecewiseBernoulliPyEnvironment",
    "RankingPyEnvironment",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "TFAgentsBanditEnvironment",
    "TFAgentsEnvironment",
    "WheelPyEnvironment",
    "as_tf_agents",
    "compute_optimal_action",
    "compute_optimal_reward",
    "optimal_action_fn",
    "optimal_reward_fn",
]
