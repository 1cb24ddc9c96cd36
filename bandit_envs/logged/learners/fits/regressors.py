"""Regressions of the rewards of single actions."""

from __future__ import annotations

from typing import Any

from bandit_envs.arrays import Floats
from bandit_envs.policies.models.value_model import NEVER
from bandit_envs.policies.scikit_learn.model import (
    check_estimator,
    fit_weighted,
    name_failing_estimator,
)


def fit_regressor(
    regressor: Any,
    context: Floats,
    rewards: Floats,
    of: str,
    weights: Floats | None = None,
) -> Any:
    """Returns what predicts the rewards of an action, or of all items.

    Args:
        regressor: learns.
        context: [m, d].
        rewards: [m].
        of: what the rewards are of, for messages: an action, or the items.
        weights: [m], by which rows count; None if they count alike.

    Returns:
        A fitted estimator; or a number, if all rewards are the same or there are none.

    Raises:
        ValueError: the regressor cannot learn from these rows.
    """
    if rewards.size == 0:
        return NEVER
    if (rewards == rewards[0]).all():  # a classifier needs two classes
        return float(rewards[0])
    if weights is not None:
        fit_weighted(regressor, context, rewards, weights)
        return regressor
    with name_failing_estimator(regressor, "learn from", len(rewards), f"of {of}"):
        regressor.fit(context, rewards)
    return regressor


def check_regressor(regressor: Any) -> Any:
    """Returns a regressor; None for ridge regressions, whose sums merge."""
    return None if regressor is None else check_estimator("regressor", regressor)
