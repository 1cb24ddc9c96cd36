"""Models of mapped features: any model, of other features than those of the observation."""

from bandit_envs.policies.models.maps.fourier_features import FourierFeatures
from bandit_envs.policies.models.maps.interactions import Interactions

__all__ = [
    "FourierFeatures",
    "Interactions",
]
