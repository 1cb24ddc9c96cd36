"""Batched bandit environments with the TF-Agents `PyEnvironment` interface, written in NumPy."""

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.drivers import StepDriver
from bandit_envs.environments import (
    BernoulliPyEnvironment,
    DriftingLinearBandit,
    KArmedBandit,
    KArmedTestbed,
    PiecewiseBernoulliPyEnvironment,
    PiecewiseLinearBandit,
    StationaryStochasticPerArmPyEnvironment,
    StationaryStochasticPyEnvironment,
    StationaryStochasticStructuredPyEnvironment,
    WheelPyEnvironment,
)
from bandit_envs.metrics import (
    AverageRewardMetric,
    MetricResult,
    OptimalActionMetric,
    RegretMetric,
    Statistics,
)
from bandit_envs.policies import (
    DisjointLinearEpsilonGreedyPolicy,
    DisjointLinearThompsonSamplingPolicy,
    DisjointLinUCBPolicy,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    LinearEpsilonGreedyPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    LogisticThompsonSamplingPolicy,
    Policy,
    RandomPolicy,
    UCBPolicy,
)
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import StepType, TimeStep, Trajectory
from bandit_envs.wrappers import (
    AddActionMask,
    AffineReward,
    ChebyshevScalarization,
    ClipReward,
    ExtraDisabledActions,
    HypervolumeScalarization,
    LinearScalarization,
    RandomActionMask,
    RescaleReward,
    TransformObservation,
    Wrapper,
)

__version__ = "0.1.0"

__all__ = [
    "AddActionMask",
    "AffineReward",
    "ArraySpec",
    "AverageRewardMetric",
    "BanditPyEnvironment",
    "BernoulliPyEnvironment",
    "BoundedArraySpec",
    "ChebyshevScalarization",
    "ClipReward",
    "DisjointLinUCBPolicy",
    "DisjointLinearEpsilonGreedyPolicy",
    "DisjointLinearThompsonSamplingPolicy",
    "DriftingLinearBandit",
    "EpsilonGreedyPolicy",
    "ExtraDisabledActions",
    "GaussianThompsonSamplingPolicy",
    "GradientBanditPolicy",
    "HypervolumeScalarization",
    "KArmedBandit",
    "KArmedTestbed",
    "LinUCBPolicy",
    "LinearEpsilonGreedyPolicy",
    "LinearScalarization",
    "LinearThompsonSamplingPolicy",
    "LogisticThompsonSamplingPolicy",
    "MetricResult",
    "OptimalActionMetric",
    "PiecewiseBernoulliPyEnvironment",
    "PiecewiseLinearBandit",
    "Policy",
    "PyEnvironment",
    "RandomActionMask",
    "RandomPolicy",
    "RegretMetric",
    "RescaleReward",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "Statistics",
    "StepDriver",
    "StepType",
    "TimeStep",
    "Trajectory",
    "TransformObservation",
    "UCBPolicy",
    "WheelPyEnvironment",
    "Wrapper",
    "load_state",
    "save_state",
]
