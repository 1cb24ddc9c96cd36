"""Policies of what learners have fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs.logged.features import has_items, spec_of_rows
from bandit_envs.logged.learners.fits.pairs import model_features, of_features
from bandit_envs.logged.log import (
    BanditLog,
)
from bandit_envs.logged.reward_models.ridge_regression import RidgeRegression
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import LinearScores, Model
from bandit_envs.policies.rules import Greedy, Rule
from bandit_envs.policies.scikit_learn import FittedRegressions
from bandit_envs.seeding import Seed


def policy_of_regressions(
    models: list[Any], log: BanditLog, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy that chooses the action with the largest prediction."""
    if not all(isinstance(model, (float, RidgeRegression)) for model in models):
        fitted = of_features(FittedRegressions(models), log)
        return greedy_policy(fitted, log, batch_size, seed)
    weights = np.zeros((len(models), 1 + model_features(log[:1]).shape[-1]))
    for action, model in enumerate(models):
        if isinstance(model, float):
            weights[action, 0] = model
        else:
            weights[action] = model.weights
    return greedy_policy(of_features(LinearScores(weights), log), log, batch_size, seed)


def greedy_policy(model: Model, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
    """Returns a policy for a log that chooses the action with the largest prediction."""
    return policy_of(model, Greedy(), log, batch_size, seed)


def policy_of(
    model: Model, rule: Rule, log: BanditLog, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy for the contexts, and the actions or items, of a log."""
    policy = ContextualPolicy(
        model,
        rule,
        observation_spec=spec_of_rows(log.seen() if has_items(log) else log.observation),
        num_actions=log.num_actions,
        batch_size=batch_size,
        seed=seed,
    )
    policy.encoding = log.encoding
    return policy
