"""TF-Agents: our environments as its own, and drop-in replacements of its own."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from tf_agents.bandits.environments.bandit_py_environment import BanditPyEnvironment
from tf_agents.bandits.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
)

from bandit_envs.adapters.tf_agents_baselines import optimal_action_fn, optimal_reward_fn
from bandit_envs.adapters.tf_agents_checkpoint import TrackableEnvironment
from bandit_envs.adapters.tf_agents_classification import (
    ClassificationBanditEnvironment,
    compute_optimal_action_with_classification_environment,
    compute_optimal_reward_with_classification_environment,
    convert_covertype_dataset,
    convert_mushroom_csv_to_tf_dataset,
    mushroom_reward_distribution,
)
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
from bandit_envs.adapters.tf_agents_dynamics import (
    DriftingLinearDynamics,
    DriftingLinearEnvironment,
    NonStationaryStochasticEnvironment,
    PiecewiseStationaryDynamics,
    PiecewiseStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents_environment import (
    TFAgentsBanditEnvironment,
    TFAgentsEnvironment,
    as_tf_agents,
)
from bandit_envs.adapters.tf_agents_logs import log_observer
from bandit_envs.adapters.tf_agents_masks import (
    BernoulliActionMaskTFEnvironment,
    ExtraDisabledActionsWrapper,
    RandomBanditEnvironment,
)
from bandit_envs.adapters.tf_agents_policies import as_policy, tensor_specs
from bandit_envs.adapters.tf_agents_tf_policies import as_tf_policy, policy_observer
from bandit_envs.adapters.tf_agents_users import from_tf_agents
from bandit_envs.environments.ranking import ClickModel, FeedbackModel
from bandit_envs.environments.wheel import compute_optimal_action, compute_optimal_reward

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
]
