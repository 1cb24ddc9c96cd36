"""Environment wrappers. Each changes one thing: observations, rewards or the available actions."""

from bandit_envs.wrappers.budget import Budget
from bandit_envs.wrappers.delays import DelayedRewards
from bandit_envs.wrappers.masks import (
    ExtraDisabledActions,
    RandomActionMask,
    ScheduledActionMask,
)
from bandit_envs.wrappers.observation_wrappers import AddActionMask, TransformObservation
from bandit_envs.wrappers.one_problem import OneProblem
from bandit_envs.wrappers.reward_wrappers import AffineReward, ClipReward, RescaleReward
from bandit_envs.wrappers.scalarizations import (
    ChebyshevScalarization,
    HypervolumeScalarization,
    LinearScalarization,
)
from bandit_envs.wrappers.wrapper import Wrapper

__all__ = [
    "AddActionMask",
    "AffineReward",
    "Budget",
    "ChebyshevScalarization",
    "ClipReward",
    "DelayedRewards",
    "ExtraDisabledActions",
    "HypervolumeScalarization",
    "LinearScalarization",
    "OneProblem",
    "RandomActionMask",
    "RescaleReward",
    "ScheduledActionMask",
    "TransformObservation",
    "Wrapper",
]
