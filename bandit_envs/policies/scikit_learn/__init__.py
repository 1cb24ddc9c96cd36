"""Estimators of scikit-learn as models of rewards."""

from bandit_envs.policies.scikit_learn.estimators import Estimators

__all__ = [
    "Estimators",
]
