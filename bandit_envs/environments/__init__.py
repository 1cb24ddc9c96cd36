"""The environments, one problem a file."""

from bandit_envs.environments.adversarial import AdversarialBandit as AdversarialBandit
from bandit_envs.environments.bernoulli import BernoulliPyEnvironment as BernoulliPyEnvironment
from bandit_envs.environments.classification import ClassificationBandit as ClassificationBandit
from bandit_envs.environments.click_models import CascadeBandit as CascadeBandit
from bandit_envs.environments.click_models import PositionBasedBandit as PositionBasedBandit
from bandit_envs.environments.continuous import ContinuousBandit as ContinuousBandit
from bandit_envs.environments.drifting_linear import DriftingLinearBandit as DriftingLinearBandit
from bandit_envs.environments.k_armed_bandit import KArmedBandit as KArmedBandit
from bandit_envs.environments.k_armed_testbed import KArmedTestbed as KArmedTestbed
from bandit_envs.environments.knapsack import KnapsackBandit as KnapsackBandit
from bandit_envs.environments.logistic_context import (
    LogisticContextBandit as LogisticContextBandit,
)
from bandit_envs.environments.neural_context import NeuralContextBandit as NeuralContextBandit
from bandit_envs.environments.outcome_table import OutcomeStream as OutcomeStream
from bandit_envs.environments.outcome_table import OutcomeTableBandit as OutcomeTableBandit
from bandit_envs.environments.piecewise_bernoulli import (
    PiecewiseBernoulliPyEnvironment as PiecewiseBernoulliPyEnvironment,
)
from bandit_envs.environments.piecewise_linear import PiecewiseLinearBandit as PiecewiseLinearBandit
from bandit_envs.environments.positional_bias import (
    ExplicitPositionalBiasRankingEnvironment as ExplicitPositionalBiasRankingEnvironment,
)
from bandit_envs.environments.ranking import ClickModel as ClickModel
from bandit_envs.environments.ranking import FeedbackModel as FeedbackModel
from bandit_envs.environments.ranking import RankingPyEnvironment as RankingPyEnvironment
from bandit_envs.environments.ratings import PerArmRatingsBandit as PerArmRatingsBandit
from bandit_envs.environments.ratings import RatingsBandit as RatingsBandit
from bandit_envs.environments.rested import RestedBandit as RestedBandit
from bandit_envs.environments.rested import RisingBandit as RisingBandit
from bandit_envs.environments.rested import RottingBandit as RottingBandit
from bandit_envs.environments.restless_markov import RestlessMarkovBandit as RestlessMarkovBandit
from bandit_envs.environments.stationary_stochastic import (
    StationaryStochasticPyEnvironment as StationaryStochasticPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment as StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment as StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.environments.wheel import WheelPyEnvironment as WheelPyEnvironment
from bandit_envs.environments.wheel import compute_optimal_action as compute_optimal_action
from bandit_envs.environments.wheel import compute_optimal_reward as compute_optimal_reward
