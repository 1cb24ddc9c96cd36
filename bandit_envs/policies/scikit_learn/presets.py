"""Models and a rule of the policies with estimators that have ids, of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bandit_envs.policies.rules import Rule, ThompsonSampling
from bandit_envs.policies.scikit_learn.estimators import Estimators


def replicated_estimators(
    estimator: Any,
    *,
    num_replicas: int = 10,
    memory_size: int = 10_000,
    refit_after: float = 0.1,
    min_rewards: int = 1,
    prior: float | Sequence[float] = 2.0,
) -> Estimators:
    """Several estimators of scikit-learn for each action, fitted to bootstrap samples."""
    return Estimators(
        estimator,
        num_replicas=num_replicas,
        memory_size=memory_size,
        refit_after=refit_after,
        min_rewards=min_rewards,
        prior=prior,
    )


def optimistic_estimators(
    estimator: Any,
    *,
    num_replicas: int = 10,
    memory_size: int = 10_000,
    refit_after: float = 0.1,
    min_rewards: int = 1,
    prior: float | Sequence[float] = 3.0,
) -> Estimators:
    """Several estimators of scikit-learn for each action, with a prior that hopes for more."""
    return replicated_estimators(
        estimator,
        num_replicas=num_replicas,
        memory_size=memory_size,
        refit_after=refit_after,
        min_rewards=min_rewards,
        prior=prior,
    )


def replica_draws() -> Rule:
    """Draws an estimator for each row and action, and chooses the largest prediction."""
    return ThompsonSampling()
