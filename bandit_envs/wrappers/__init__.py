"""Environment wrappers. Each changes one thing: observations or rewards."""

from bandit_envs.wrappers.observation_wrappers import AddActionMask, TransformObservation
from bandit_envs.wrappers.reward_wrappers import AffineReward, ClipReward, RescaleReward
from bandit_envs.wrappers.wrapper import Wrapper

__all__ = [
    "AddActionMask",
    "AffineReward",
    "ClipReward",
    "RescaleReward",
    "TransformObservation",
    "Wrapper",
]
