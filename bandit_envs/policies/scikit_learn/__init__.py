"""Estimators of scikit-learn as models of rewards.

Experimental: these names may change in any minor version.
"""

from bandit_envs.policies.scikit_learn.estimators import Estimators
from bandit_envs.policies.scikit_learn.fitted_estimators import (
    FittedClassifier,
    FittedRegressions,
)

__all__ = [
    "Estimators",
    "FittedClassifier",
    "FittedRegressions",
]
