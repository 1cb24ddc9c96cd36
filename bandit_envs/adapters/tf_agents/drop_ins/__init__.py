"""Replacements of TF-Agents' environments: the same names, arguments and order of arguments."""

from bandit_envs.adapters.tf_agents.drop_ins.bandits import (
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
from bandit_envs.adapters.tf_agents.drop_ins.classification import (
    ClassificationBanditEnvironment,
    compute_optimal_action_with_classification_environment,
    compute_optimal_reward_with_classification_environment,
    convert_covertype_dataset,
    convert_mushroom_csv_to_tf_dataset,
    mushroom_reward_distribution,
)
from bandit_envs.adapters.tf_agents.drop_ins.dynamics import (
    DriftingLinearDynamics,
    DriftingLinearEnvironment,
    NonStationaryStochasticEnvironment,
    PiecewiseStationaryDynamics,
    PiecewiseStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents.drop_ins.masks import (
    BernoulliActionMaskTFEnvironment,
    ExtraDisabledActionsWrapper,
    RandomBanditEnvironment,
)

__all__ = [
    "BernoulliActionMaskTFEnvironment",
    "BernoulliPyEnvironment",
    "ClassificationBanditEnvironment",
    "DriftingLinearDynamics",
    "DriftingLinearEnvironment",
    "ExplicitPositionalBiasRankingEnvironment",
    "ExtraDisabledActionsWrapper",
    "MovieLensPerArmPyEnvironment",
    "MovieLensPyEnvironment",
    "NonStationaryStochasticEnvironment",
    "PiecewiseBernoulliPyEnvironment",
    "PiecewiseStationaryDynamics",
    "PiecewiseStochasticEnvironment",
    "RandomBanditEnvironment",
    "RankingPyEnvironment",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "WheelPyEnvironment",
    "compute_optimal_action_with_classification_environment",
    "compute_optimal_reward_with_classification_environment",
    "convert_covertype_dataset",
    "convert_mushroom_csv_to_tf_dataset",
    "mushroom_reward_distribution",
]
