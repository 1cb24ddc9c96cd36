"""TF-Agents: our environments as its own, and drop-in replacements of its own."""

# ruff: noqa: E402

from bandit_envs.adapters.tf_agents.versions import check_versions

check_versions()  # before TF-Agents is imported, which may fail

from bandit_envs.adapters.tf_agents.baselines import optimal_action_fn, optimal_reward_fn
from bandit_envs.adapters.tf_agents.checkpoint import TrackableEnvironment
from bandit_envs.adapters.tf_agents.environment import (
    TFAgentsBanditEnvironment,
    TFAgentsEnvironment,
    as_tf_agents,
)
from bandit_envs.adapters.tf_agents.environments.bandit_py_environment import BanditPyEnvironment
from bandit_envs.adapters.tf_agents.environments.bandit_tf_environment import BanditTFEnvironment
from bandit_envs.adapters.tf_agents.environments.bernoulli_action_mask_tf_environment import (
    BernoulliActionMaskTFEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.bernoulli_py_environment import (
    BernoulliPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.classification_environment import (
    ClassificationBanditEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.dataset_utilities import (
    convert_covertype_dataset,
    convert_mushroom_csv_to_tf_dataset,
    mushroom_reward_distribution,
)
from bandit_envs.adapters.tf_agents.environments.drifting_linear_environment import (
    DriftingLinearDynamics,
    DriftingLinearEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.environment_utilities import (
    compute_optimal_action_with_classification_environment,
    compute_optimal_reward_with_classification_environment,
)
from bandit_envs.adapters.tf_agents.environments.movielens_per_arm_py_environment import (
    MovieLensPerArmPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.movielens_py_environment import (
    MovieLensPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
    NonStationaryStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.piecewise_bernoulli_py_environment import (
    PiecewiseBernoulliPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.piecewise_stochastic_environment import (
    PiecewiseStationaryDynamics,
    PiecewiseStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.random_bandit_environment import (
    RandomBanditEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.ranking_environment import (
    ClickModel,
    ExplicitPositionalBiasRankingEnvironment,
    FeedbackModel,
    RankingPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.stationary_stochastic_per_arm_py_environment import (  # noqa: E501
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.stationary_stochastic_py_environment import (
    StationaryStochasticPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.stationary_stochastic_structured_py_environment import (  # noqa: E501
    StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.adapters.tf_agents.environments.wheel_py_environment import (
    WheelPyEnvironment,
    compute_optimal_action,
    compute_optimal_reward,
)
from bandit_envs.adapters.tf_agents.policies import (
    as_policy,
    as_tf_policy,
    log_observer,
    policy_observer,
    tensor_specs,
    with_distribution,
)
from bandit_envs.adapters.tf_agents.tf_environment import as_tf_environment
from bandit_envs.adapters.tf_agents.trackable_draws import TrackableDraws
from bandit_envs.adapters.tf_agents.users import from_tf_agents
from bandit_envs.adapters.tf_agents.wrappers import ExtraDisabledActionsWrapper

__all__ = [
    "BanditPyEnvironment",
    "BanditTFEnvironment",
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
    "as_tf_environment",
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
