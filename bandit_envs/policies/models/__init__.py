"""Models that predict the rewards of actions: one part of a `ContextualPolicy`."""

from bandit_envs.policies.models.bayesian_ridge import BayesianRidge
from bandit_envs.policies.models.hybrid_ridge import HybridRidge
from bandit_envs.policies.models.inputs import (
    Contexts,
    InputReader,
    Items,
    ModelSizes,
    TrainingRows,
)
from bandit_envs.policies.models.linear_scores import LinearScores
from bandit_envs.policies.models.logistic import Logistic
from bandit_envs.policies.models.maps import FourierFeatures, Interactions
from bandit_envs.policies.models.ridge import Ridge
from bandit_envs.policies.models.value_model import Model, ValueModel

__all__ = [
    "BayesianRidge",
    "Contexts",
    "FourierFeatures",
    "HybridRidge",
    "InputReader",
    "Interactions",
    "Items",
    "LinearScores",
    "Logistic",
    "Model",
    "ModelSizes",
    "Ridge",
    "TrainingRows",
    "ValueModel",
]
