"""Wrappers: environments that show another one differently, one for each change."""

from bandit_envs.wrappers.observations import AddActionMask, TransformObservation
from bandit_envs.wrappers.rewards import AffineReward, ClipReward, RescaleReward
from bandit_envs.wrappers.wrapper import Wrapper

__all__ = [
    "AddActionMask",
    "AffineReward",
    "ClipReward",
    "RescaleReward",
    "TransformObservation",
    "Wrapper",
]
