"""Metrics: observers of trajectories that keep statistics over rows for every step."""

from bandit_envs.metrics.bandits import AverageRewardMetric as AverageRewardMetric
from bandit_envs.metrics.bandits import ConstraintViolationMetric as ConstraintViolationMetric
from bandit_envs.metrics.bandits import OptimalActionMetric as OptimalActionMetric
from bandit_envs.metrics.bandits import ParetoRegretMetric as ParetoRegretMetric
from bandit_envs.metrics.bandits import RegretMetric as RegretMetric
from bandit_envs.metrics.best_arm import BestArmMetric as BestArmMetric
from bandit_envs.metrics.best_arm import ErrorMetric as ErrorMetric
from bandit_envs.metrics.best_arm import SimpleRegretMetric as SimpleRegretMetric
from bandit_envs.metrics.best_arm import StoppedMetric as StoppedMetric
from bandit_envs.metrics.best_arm import StoppingTimeMetric as StoppingTimeMetric
from bandit_envs.metrics.exploration import ExplorationMetric as ExplorationMetric
from bandit_envs.metrics.exploration import GreedyChoiceMetric as GreedyChoiceMetric
from bandit_envs.metrics.exploration import MinimalFractionMetric as MinimalFractionMetric
from bandit_envs.metrics.exploration import SuffixFailureMetric as SuffixFailureMetric
from bandit_envs.metrics.knapsack import KnapsackRegretMetric as KnapsackRegretMetric
from bandit_envs.metrics.metric import LevelMetric as LevelMetric
from bandit_envs.metrics.metric import Metric as Metric
from bandit_envs.metrics.quantities import METRICS as METRICS
from bandit_envs.metrics.quantities import ON_REQUEST as ON_REQUEST
from bandit_envs.metrics.quantities import QUANTITIES as QUANTITIES
from bandit_envs.metrics.quantities import Quantity as Quantity
from bandit_envs.metrics.quantities import compare as compare
from bandit_envs.metrics.quantities import of_runs as of_runs
from bandit_envs.metrics.statistics import MetricResult as MetricResult
from bandit_envs.metrics.statistics import Statistics as Statistics
from bandit_envs.metrics.statistics import kept_steps as kept_steps
