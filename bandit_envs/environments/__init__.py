"""The environments, one problem a file."""

from bandit_envs.environments.adversarial import AdversarialBandit
from bandit_envs.environments.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.classification import ClassificationBandit
from bandit_envs.environments.click_models import CascadeBandit, PositionBasedBandit
from bandit_envs.environments.continuous import ContinuousBandit
from bandit_envs.environments.drifting_linear import DriftingLinearBandit
from bandit_envs.environments.k_armed_bandit import KArmedBandit
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.knapsack import KnapsackBandit
from bandit_envs.environments.logistic_context import (
    LogisticContextBandit,
)
from bandit_envs.environments.neural_context import NeuralContextBandit
from bandit_envs.environments.outcome_table import OutcomeStream, OutcomeTableBandit
from bandit_envs.environments.piecewise_bernoulli import (
    PiecewiseBernoulliPyEnvironment,
)
from bandit_envs.environments.piecewise_linear import PiecewiseLinearBandit
from bandit_envs.environments.positional_bias import (
    ExplicitPositionalBiasRankingEnvironment,
)
from bandit_envs.environments.ranking import ClickModel, FeedbackModel, RankingPyEnvironment
from bandit_envs.environments.ratings import PerArmRatingsBandit, RatingsBandit
from bandit_envs.environments.rested import RestedBandit, RisingBandit, RottingBandit
from bandit_envs.environments.restless_markov import RestlessMarkovBandit
from bandit_envs.environments.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.environments.wheel import (
    WheelPyEnvironment,
    compute_optimal_action,
    compute_optimal_reward,
)

__all__ = [
    "AdversarialBandit",
    "BernoulliPyEnvironment",
    "CascadeBandit",
    "ClassificationBandit",
    "ClickModel",
    "ContinuousBandit",
    "DriftingLinearBandit",
    "ExplicitPositionalBiasRankingEnvironment",
    "FeedbackModel",
    "KArmedBandit",
    "KArmedTestbed",
    "KnapsackBandit",
    "LogisticContextBandit",
    "NeuralContextBandit",
    "OutcomeStream",
    "OutcomeTableBandit",
    "PerArmRatingsBandit",
    "PiecewiseBernoulliPyEnvironment",
    "PiecewiseLinearBandit",
    "PositionBasedBandit",
    "RankingPyEnvironment",
    "RatingsBandit",
    "RestedBandit",
    "RestlessMarkovBandit",
    "RisingBandit",
    "RottingBandit",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "WheelPyEnvironment",
    "compute_optimal_action",
    "compute_optimal_reward",
]
