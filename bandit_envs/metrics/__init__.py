"""Metrics: observers of trajectories that keep statistics over rows for every step."""

from bandit_envs.metrics.bandits import (
    AverageRewardMetric,
    ConstraintViolationMetric,
    OptimalActionMetric,
    ParetoRegretMetric,
    RegretMetric,
)
from bandit_envs.metrics.best_arm import (
    BestArmMetric,
    BiasMetric,
    CoverageMetric,
    ErrorMetric,
    SimpleRegretMetric,
    StoppedMetric,
    StoppingTimeMetric,
)
from bandit_envs.metrics.exploration import (
    ExplorationMetric,
    GreedyChoiceMetric,
    MinimalFractionMetric,
    SuffixFailureMetric,
)
from bandit_envs.metrics.knapsack_regret import KnapsackRegretMetric
from bandit_envs.metrics.lost_reward import LostRewardMetric
from bandit_envs.metrics.metric import LevelMetric, Metric
from bandit_envs.metrics.quantities import (
    METRICS,
    QUANTITIES,
    Quantity,
    compare,
    of_runs,
)
from bandit_envs.metrics.statistics import MetricResult, Statistics, kept_steps

__all__ = [
    "METRICS",
    "QUANTITIES",
    "AverageRewardMetric",
    "BestArmMetric",
    "BiasMetric",
    "ConstraintViolationMetric",
    "CoverageMetric",
    "ErrorMetric",
    "ExplorationMetric",
    "GreedyChoiceMetric",
    "KnapsackRegretMetric",
    "LevelMetric",
    "LostRewardMetric",
    "Metric",
    "MetricResult",
    "MinimalFractionMetric",
    "OptimalActionMetric",
    "ParetoRegretMetric",
    "Quantity",
    "RegretMetric",
    "SimpleRegretMetric",
    "Statistics",
    "StoppedMetric",
    "StoppingTimeMetric",
    "SuffixFailureMetric",
    "compare",
    "kept_steps",
    "of_runs",
]
