"""TF-Agents: our environments as its own, and drop-in replacements of its own."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from tf_agents.bandits.environments.bandit_py_environment import BanditPyEnvironment
from tf_agents.bandits.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
)

from bandit_envs.adapters.tf_agents.baselines import optimal_action_fn, optimal_reward_fn
from bandit_envs.adapters.tf_agents.checkpoint import TrackableEnvironment
from bandit_envs.adapters.tf_agents.draws import TrackableDraws
from bandit_envs.adapters.tf_agents.drop_ins import (
    BernoulliActionMaskTFEnvironment,
    BernoulliPyEnvironment,
    ClassificationBanditEnvironment,
    DriftingLinearDynamics,
    DriftingLinearEnvironment,
    ExplicitPositionalBiasRankingEnvironment,
    ExtraDisabledActionsWrapper,
    MovieLensPerArmPyEnvironment,
    MovieLensPyEnvironment,
    NonStationaryStochasticEnvironment,
    PiecewiseBernoulliPyEnvironment,
    PiecewiseStationaryDynamics,
    PiecewiseStochasticEnvironment,
    RandomBanditEnvironment,
    RankingPyEnvironment,
    StationaryStochasticPerArmPyEnvironment,
    StationaryStochasticPyEnvironment,
    StationaryStochasticStructuredPyEnvironment,
    WheelPyEnvironment,
    compute_optimal_action_with_classification_environment,
    compute_optimal_reward_with_classification_environment,
    convert_covertype_dataset,
    convert_mushroom_csv_to_tf_dataset,
    mushroom_reward_distribution,
)
from bandit_envs.adapters.tf_agents.environment import (
    TFAgentsBanditEnvironment,
    TFAgentsEnvironment,
    as_tf_agents,
)
from bandit_envs.adapters.tf_agents.logs import log_observer
from bandit_envs.adapters.tf_agents.policies import (
    as_policy,
    as_tf_policy,
    policy_observer,
    tensor_specs,
    with_distribution,
)
from bandit_envs.adapters.tf_agents.users import from_tf_agents
from bandit_envs.environments.contexts.wheel import compute_optimal_action, compute_optimal_reward
from bandit_envs.environments.slates.ranking import ClickModel, FeedbackModel

__all__ = [
    "BanditPyEnvironment",
    "BernoulliActionMaskTFEnvironment",
    "BernoulliPyEnvironment",
    "ClassificationBanditEnvironment",
    "ClickModel",
    "DriftingLinearDynamics",
    "DriftingLinearEnvironment",
    "EnvironmentDynamics",
    "ExplicitPositionalBiasRankingEnvironment",
    "ExtraDisabledActionsWrapper",
    "FeedbackModel",
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
    "TFAgentsBanditEnvironment",
    "TFAgentsEnvironment",
    "TrackableDraws",
    "TrackableEnvironment",
    "WheelPyEnvironment",
    "as_policy",
    "as_tf_agents",
    "as_tf_policy",
    "compute_optimal_action",
    "compute_optimal_action_with_classification_environment",
    "compute_optimal_reward",
    "compute_optimal_reward_with_classification_environment",
    "convert_covertype_dataset",
    "convert_mushroom_csv_to_tf_dataset",
    "from_tf_agents",
    "log_observer",
    "mushroom_reward_distribution",
    "optimal_action_fn",
    "optimal_reward_fn",
    "policy_observer",
    "tensor_specs",
    "with_distribution",
]
