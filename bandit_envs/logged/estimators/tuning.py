"""The choice of one of several off-policy estimators, by the log that it estimates from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.base.checks import check_number
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.estimators.single_actions import Estimator
from bandit_envs.logged.log import BanditLog
from bandit_envs.metrics.statistics import student_quantile


def tuned(
    estimators: Sequence[Estimator],
    log: BanditLog,
    probabilities: ArrayLike,
    predicted_rewards: ArrayLike | None = None,
) -> tuple[Estimator, Estimate]:
    """Returns the estimator with the smallest estimated mean squared error, and its estimate.

    The error is the squared standard error plus the square of the bias that the changed weights
    cause, which is estimated by the mean of (w - changed w) times the reward or residual. Warnings
    are those of this estimator alone.

    Args:
        estimators: to choose from.
        log: as for `Estimator.estimate`, and so are the others.
        probabilities: of the policy.
        predicted_rewards: for estimators with a reward model.

    Source: Su et al. (2020), section 5; the tuning classes of the Open Bandit Pipeline.
    """

    def squared_error(estimator: Estimator) -> float:
        found = estimator.estimate(log, probabilities, predicted_rewards)
        return found.standard_error**2 + found.bias**2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        best = min(estimators, key=squared_error)
    return best, best.estimate(log, probabilities, predicted_rewards)


def slope(
    estimators: Sequence[Estimator],
    log: BanditLog,
    probabilities: ArrayLike,
    predicted_rewards: ArrayLike | None = None,
    confidence: float = 0.9,
) -> tuple[Estimator, Estimate]:
    """Selects an estimator by comparing intervals (SLOPE); returns it and its estimate.

    Estimators are ordered by decreasing width of their intervals, as their bias is assumed to grow.
    The first whose value is farther from that of an earlier one than

        width of its own interval + (sqrt(6) - 1) * width of the earlier one's

    is refuted, and so are all after it. It needs no estimate of the bias.

    Args:
        estimators: to choose from, such as one estimator with several limits of its weights.
        log: as for `Estimator.estimate`, and so are the others.
        probabilities: of the policy.
        predicted_rewards: for estimators with a reward model.
        confidence: of the one-sided intervals by Student's t; above 0.5.

    Source: Su, Srinath & Krishnamurthy, Adaptive estimator selection for off-policy evaluation
    (2020); Tucker & Lee, Improved estimator selection for off-policy evaluation (2021).
    """
    level = check_number("confidence", confidence, 0.5, 1.0)
    if not 0.5 < level < 1.0:
        raise ValueError(f"confidence is {level:g}; expected a number above 0.5 and below 1")
    if not estimators:
        raise ValueError("estimators is empty; expected at least one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [each.estimate(log, probabilities, predicted_rewards) for each in estimators]
    quantile = student_quantile(2.0 * level - 1.0, len(log) - 1)
    widths = [quantile * estimate.standard_error for estimate in found]
    order = np.argsort(widths, kind="stable")[::-1]
    chosen = order[0]
    for place, index in enumerate(order):
        is_refuted = any(
            abs(found[index].value - found[earlier].value)
            > widths[index] + (math.sqrt(6.0) - 1.0) * widths[earlier]
            for earlier in order[:place]
        )
        if is_refuted:
            break
        chosen = index
    best = estimators[int(chosen)]
    return best, best.estimate(log, probabilities, predicted_rewards)
