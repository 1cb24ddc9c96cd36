"""What learners climb: estimated values of policies, with their gradients."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_number
from bandit_envs.logged.estimators.single_actions import Estimator
from bandit_envs.logged.estimators.weighed_rows import weigh_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_equal_rows
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.policies.draws import softmax


@dataclasses.dataclass(frozen=True)
class Objective:
    """An estimated value, less a multiple of its standard error.

        V(pi) - variance_penalty se(V(pi))

    Args:
        estimator: of the value V; it is differentiable.
        variance_penalty: at least 0.

    Source: Swaminathan & Joachims, Batch learning from logged bandit feedback through
    counterfactual risk minimization (2015), for the penalty.
    """

    estimator: Estimator
    variance_penalty: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, Estimator) or not self.estimator.is_differentiable:
            expected = "an estimator with a derivative, such as DoublyRobust()"
            raise ValueError(f"objective is {self.estimator!r}; expected {expected}")
        check_number("variance_penalty", self.variance_penalty, 0.0)

    def of_log(
        self, log: BanditLog, model: Any, baseline: float
    ) -> Callable[[Floats], tuple[float, Floats]]:
        """Returns what `value_and_gradient` does of scores, for a log.

        Args:
            log: n decisions.
            model: of the rewards, as for `RewardRegression`, if the estimator needs predictions.
            baseline: is subtracted from all rewards.
        """
        require_equal_rows(log, "a policy gradient")
        predicted = None
        if self.estimator.needs_predictions:
            predicted = RewardRegression(model).predict(log) - baseline
        shifted = dataclasses.replace(log, reward=log.reward - baseline)
        return functools.partial(self.value_and_gradient, shifted, predicted_rewards=predicted)

    def value_and_gradient(
        self, log: BanditLog, scores: Floats, predicted_rewards: Floats | None = None
    ) -> tuple[float, Floats]:
        """Returns the objective of a softmax policy, and its derivatives by the scores.

        Args:
            log: n decisions.
            scores: [n, K], of which the policy is the softmax.
            predicted_rewards: [n, K], if the estimator needs them.

        Returns:
            The objective, and its derivatives by the scores: [n, K].
        """
        probabilities = softmax(scores)
        rows = weigh_rows(log, probabilities, predicted_rewards)
        changed, derivative = self.estimator.differentiate(rows)
        value, by_direct, by_changed = self._differentiate(rows.direct, rows.residual, changed)
        # The derivative of a row's probability by its scores is probability * (indicator - pi), so
        # what the row adds is a `credit` of each action times (indicator - pi).
        credit = np.zeros_like(probabilities)
        if predicted_rewards is not None:
            credit = by_direct[:, np.newaxis] * probabilities * predicted_rewards
        credit[np.arange(len(log)), log.action] += by_changed * derivative * rows.weights
        return value, credit - credit.sum(axis=1, keepdims=True) * probabilities

    def _differentiate(
        self, direct: Floats, residual: Floats, changed: Floats
    ) -> tuple[float, Floats, Floats]:
        """Returns the objective, and its derivatives by what each row adds.

        With d = direct, e = residual and v = changed, the value is mean(d) + mean(v e) / m, where m
        is mean(v), or 1. A row moves it by phi, and

            se^2 = sum(phi^2) / (n (n - 1))

        Args:
            direct: [n], d.
            residual: [n], e.
            changed: [n], v.

        Returns:
            The objective, and its derivatives by d and by v: two [n].
        """
        size = len(direct)
        normaliser = 1.0
        ratio = 0.0
        if self.estimator.self_normalized:
            normaliser = float(changed.mean()) or 1.0
            ratio = float((changed * residual).mean()) / normaliser
        error = (residual - ratio) / normaliser
        added = changed * error
        value = float(direct.mean()) + ratio + float(added.mean())
        by_direct = np.full(size, 1.0 / size)
        by_changed = error / size
        if not self.variance_penalty or size < 2:
            return value, by_direct, by_changed
        influence = direct - direct.mean() + added - added.mean()
        spread = math.sqrt(float(influence @ influence))
        standard_error = spread / math.sqrt(size * (size - 1))
        penalty = self.variance_penalty / max(spread, 1e-300) / math.sqrt(size * (size - 1))
        slope = influence * error
        if self.estimator.self_normalized:  # the ratio and the normaliser move all rows
            slope = slope - float(influence @ changed) / normaliser * error / size
            slope = slope - float(influence @ added) / normaliser / size
        value -= self.variance_penalty * standard_error
        return value, by_direct - penalty * influence, by_changed - penalty * slope
