"""Estimators of scikit-learn as models of rewards."""

from bandit_envs.adapters.scikit_learn.estimators import Estimators

__all__ = [
    "Estimators",
]
