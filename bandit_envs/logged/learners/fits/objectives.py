"""What learners climb: estimated values of policies, with their gradients."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.estimators.single_actions import (
    DirectMethod,
    Estimator,
    weigh_rows,
)
from bandit_envs.logged.log import (
    BanditLog,
)
from bandit_envs.policies.draws import softmax


def value_and_gradient(
    objective: Estimator,
    log: BanditLog,
    features: Floats,
    weights: Floats,
    predicted_rewards: Floats | None = None,
) -> tuple[float, Floats]:
    """Returns the estimated value of a linear softmax policy, and its gradient.

    Args:
        objective: an objective of `PolicyGradientLearner`.
        log: n decisions.
        features: [n, D].
        weights: [K, D], of the scores.
        predicted_rewards: [n, K], if the objective needs them.

    Returns:
        The value, and its derivatives by the weights: [K, D].
    """
    probabilities = softmax(features @ weights.T)
    rows = weigh_rows(log, probabilities, predicted_rewards)
    # The derivative of a row's probability by its scores is probability * (indicator - pi), so
    # what the row adds is `credit` times (indicator - pi).
    rewards = np.zeros_like(probabilities)
    value = 0.0
    if predicted_rewards is not None:
        rewards = probabilities * predicted_rewards
        value = float(rows.direct.mean())
    if not isinstance(objective, DirectMethod):
        credit = rows.weights * rows.residual
        if objective.self_normalised:
            mean_weight = rows.weights.mean()
            ratio = credit.mean() / mean_weight
            value += float(ratio)
            credit = rows.weights * (rows.residual - ratio) / mean_weight
        else:
            value += float(credit.mean())
        rewards[np.arange(len(log)), log.action] += credit
    by_score = rewards - rewards.sum(axis=1, keepdims=True) * probabilities
    return value, by_score.T @ features / len(log)
