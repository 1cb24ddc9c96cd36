"""Batched bandit environments with the TF-Agents `PyEnvironment` interface, written in NumPy."""

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment as BanditPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment as PyEnvironment
from bandit_envs.base.saving import load_state as load_state
from bandit_envs.base.saving import save_state as save_state
from bandit_envs.drivers import StepDriver as StepDriver
from bandit_envs.environments import AdversarialBandit as AdversarialBandit
from bandit_envs.environments import BernoulliPyEnvironment as BernoulliPyEnvironment
from bandit_envs.environments import CascadeBandit as CascadeBandit
from bandit_envs.environments import ClassificationBandit as ClassificationBandit
from bandit_envs.environments import ContinuousBandit as ContinuousBandit
from bandit_envs.environments import DriftingLinearBandit as DriftingLinearBandit
from bandit_envs.environments import (
    ExplicitPositionalBiasRankingEnvironment as ExplicitPositionalBiasRankingEnvironment,
)
from bandit_envs.environments import KArmedBandit as KArmedBandit
from bandit_envs.environments import KArmedTestbed as KArmedTestbed
from bandit_envs.environments import KnapsackBandit as KnapsackBandit
from bandit_envs.environments import LogisticContextBandit as LogisticContextBandit
from bandit_envs.environments import NeuralContextBandit as NeuralContextBandit
from bandit_envs.environments import OutcomeStream as OutcomeStream
from bandit_envs.environments import OutcomeTableBandit as OutcomeTableBandit
from bandit_envs.environments import PerArmRatingsBandit as PerArmRatingsBandit
from bandit_envs.environments import (
    PiecewiseBernoulliPyEnvironment as PiecewiseBernoulliPyEnvironment,
)
from bandit_envs.environments import PiecewiseLinearBandit as PiecewiseLinearBandit
from bandit_envs.environments import PositionBasedBandit as PositionBasedBandit
from bandit_envs.environments import RankingPyEnvironment as RankingPyEnvironment
from bandit_envs.environments import RatingsBandit as RatingsBandit
from bandit_envs.environments import RestedBandit as RestedBandit
from bandit_envs.environments import RestlessMarkovBandit as RestlessMarkovBandit
from bandit_envs.environments import RisingBandit as RisingBandit
from bandit_envs.environments import RottingBandit as RottingBandit
from bandit_envs.environments import (
    StationaryStochasticPerArmPyEnvironment as StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.environments import (
    StationaryStochasticPyEnvironment as StationaryStochasticPyEnvironment,
)
from bandit_envs.environments import (
    StationaryStochasticStructuredPyEnvironment as StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.environments import WheelPyEnvironment as WheelPyEnvironment
from bandit_envs.metrics import AverageRewardMetric as AverageRewardMetric
from bandit_envs.metrics import ConstraintViolationMetric as ConstraintViolationMetric
from bandit_envs.metrics import ErrorMetric as ErrorMetric
from bandit_envs.metrics import MetricResult as MetricResult
from bandit_envs.metrics import OptimalActionMetric as OptimalActionMetric
from bandit_envs.metrics import ParetoRegretMetric as ParetoRegretMetric
from bandit_envs.metrics import RegretMetric as RegretMetric
from bandit_envs.metrics import SimpleRegretMetric as SimpleRegretMetric
from bandit_envs.metrics import Statistics as Statistics
from bandit_envs.metrics import StoppedMetric as StoppedMetric
from bandit_envs.metrics import StoppingTimeMetric as StoppingTimeMetric
from bandit_envs.policies import BayesUCBPolicy as BayesUCBPolicy
from bandit_envs.policies import BestArmPolicy as BestArmPolicy
from bandit_envs.policies import BetaGreedyPolicy as BetaGreedyPolicy
from bandit_envs.policies import BetaThompsonSamplingPolicy as BetaThompsonSamplingPolicy
from bandit_envs.policies import BoltzmannPolicy as BoltzmannPolicy
from bandit_envs.policies import (
    BudgetedThompsonSamplingPolicy as BudgetedThompsonSamplingPolicy,
)
from bandit_envs.policies import CascadeUCBPolicy as CascadeUCBPolicy
from bandit_envs.policies import CharacteristicTime as CharacteristicTime
from bandit_envs.policies import ConstantPolicy as ConstantPolicy
from bandit_envs.policies import ContextualPolicy as ContextualPolicy
from bandit_envs.policies import ContinuousPolicy as ContinuousPolicy
from bandit_envs.policies import CTrackingPolicy as CTrackingPolicy
from bandit_envs.policies import DecayingEpsilonGreedyPolicy as DecayingEpsilonGreedyPolicy
from bandit_envs.policies import DelayedLearning as DelayedLearning
from bandit_envs.policies import (
    DiscountedThompsonSamplingPolicy as DiscountedThompsonSamplingPolicy,
)
from bandit_envs.policies import DiscountedUCBPolicy as DiscountedUCBPolicy
from bandit_envs.policies import EpsilonGreedyPolicy as EpsilonGreedyPolicy
from bandit_envs.policies import Exp3Policy as Exp3Policy
from bandit_envs.policies import Exp3SPolicy as Exp3SPolicy
from bandit_envs.policies import ExploreThenCommitPolicy as ExploreThenCommitPolicy
from bandit_envs.policies import GaussianPolicy as GaussianPolicy
from bandit_envs.policies import GaussianThompsonSamplingPolicy as GaussianThompsonSamplingPolicy
from bandit_envs.policies import GOptimalPolicy as GOptimalPolicy
from bandit_envs.policies import GradientBanditPolicy as GradientBanditPolicy
from bandit_envs.policies import IMEDPolicy as IMEDPolicy
from bandit_envs.policies import KLLUCBPolicy as KLLUCBPolicy
from bandit_envs.policies import KLUCBPolicy as KLUCBPolicy
from bandit_envs.policies import LikelihoodRatioTestPolicy as LikelihoodRatioTestPolicy
from bandit_envs.policies import LinearThompsonSamplingPolicy as LinearThompsonSamplingPolicy
from bandit_envs.policies import LinUCBPolicy as LinUCBPolicy
from bandit_envs.policies import LUCBPolicy as LUCBPolicy
from bandit_envs.policies import MOSSPolicy as MOSSPolicy
from bandit_envs.policies import PBMUCBPolicy as PBMUCBPolicy
from bandit_envs.policies import Policy as Policy
from bandit_envs.policies import PrimalDualPolicy as PrimalDualPolicy
from bandit_envs.policies import RandomNumberPolicy as RandomNumberPolicy
from bandit_envs.policies import RandomPolicy as RandomPolicy
from bandit_envs.policies import RandomSlatePolicy as RandomSlatePolicy
from bandit_envs.policies import ReducedVarianceTsallisINFPolicy as ReducedVarianceTsallisINFPolicy
from bandit_envs.policies import SequentialHalvingPolicy as SequentialHalvingPolicy
from bandit_envs.policies import SlatePolicy as SlatePolicy
from bandit_envs.policies import SlidingWindowUCBPolicy as SlidingWindowUCBPolicy
from bandit_envs.policies import SuccessiveEliminationPolicy as SuccessiveEliminationPolicy
from bandit_envs.policies import SuccessiveRejectsPolicy as SuccessiveRejectsPolicy
from bandit_envs.policies import TopKLinUCBPolicy as TopKLinUCBPolicy
from bandit_envs.policies import TopTwoThompsonSamplingPolicy as TopTwoThompsonSamplingPolicy
from bandit_envs.policies import TrackAndStopPolicy as TrackAndStopPolicy
from bandit_envs.policies import TsallisINFPolicy as TsallisINFPolicy
from bandit_envs.policies import UCB1TunedPolicy as UCB1TunedPolicy
from bandit_envs.policies import UCBEPolicy as UCBEPolicy
from bandit_envs.policies import UCBPolicy as UCBPolicy
from bandit_envs.policies import UniformAllocationPolicy as UniformAllocationPolicy
from bandit_envs.policies import characteristic_time as characteristic_time
from bandit_envs.specs import ArraySpec as ArraySpec
from bandit_envs.specs import BoundedArraySpec as BoundedArraySpec
from bandit_envs.trajectories import StepType as StepType
from bandit_envs.trajectories import TimeStep as TimeStep
from bandit_envs.trajectories import Trajectory as Trajectory
from bandit_envs.wrappers import AddActionMask as AddActionMask
from bandit_envs.wrappers import AffineReward as AffineReward
from bandit_envs.wrappers import ChebyshevScalarization as ChebyshevScalarization
from bandit_envs.wrappers import ClipReward as ClipReward
from bandit_envs.wrappers import DelayedRewards as DelayedRewards
from bandit_envs.wrappers import ExtraDisabledActions as ExtraDisabledActions
from bandit_envs.wrappers import HypervolumeScalarization as HypervolumeScalarization
from bandit_envs.wrappers import LinearScalarization as LinearScalarization
from bandit_envs.wrappers import RandomActionMask as RandomActionMask
from bandit_envs.wrappers import RescaleReward as RescaleReward
from bandit_envs.wrappers import TransformObservation as TransformObservation
from bandit_envs.wrappers import Wrapper as Wrapper

__version__ = "0.3.0"
