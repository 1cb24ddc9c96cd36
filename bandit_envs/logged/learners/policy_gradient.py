"""A learner that climbs the estimated value of a policy."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.logged.estimators.single_actions import (
    DirectMethod,
    DoublyRobust,
    Estimator,
    InversePropensityScoring,
    SelfNormalizedDR,
    SelfNormalizedIPS,
)
from bandit_envs.logged.features import context_of
from bandit_envs.logged.learners.fits.objectives import value_and_gradient
from bandit_envs.logged.learners.fits.policies import (
    policy_of,
)
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.log import (
    BanditLog,
    require_rows,
)
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.rules import Softmax
from bandit_envs.seeding import Seed

OBJECTIVES = (
    InversePropensityScoring(),
    SelfNormalizedIPS(),
    DoublyRobust(),
    SelfNormalizedDR(),
    DirectMethod(),
)
"""What `PolicyGradientLearner` can climb."""


class PolicyGradientLearner(Learner):
    """Climbs the estimated value of a softmax policy with linear scores.

        pi(a | x) proportional to exp(w_a . [1, x])
        w <- w + step_size (gradient of V(pi) - penalty w)

    from w = 0, with features scaled to mean 0 and standard deviation 1 while it learns. V is what
    the objective estimates on the whole log.

    Args:
        objective: an estimator that keeps all weights as they are: `InversePropensityScoring()`,
            the default, `SelfNormalizedIPS()`, `DoublyRobust()`, `SelfNormalizedDR()` or
            `DirectMethod()`.
        num_steps: of the ascent.
        step_size: above 0.
        penalty: of the squared weights; at least 0.
        model: of the rewards, as for `RewardRegression`, if the objective needs predictions.

    Source: Swaminathan & Joachims, Batch learning from logged bandit feedback through
    counterfactual risk minimization (2015), and The self-normalized estimator (2015).

    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = PolicyGradientLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(
        self,
        objective: Estimator | None = None,
        num_steps: int = 300,
        step_size: float = 0.5,
        penalty: float = 1e-4,
        model: object = None,
    ) -> None:
        self._objective = InversePropensityScoring() if objective is None else objective
        if self._objective not in OBJECTIVES:
            expected = " or ".join(map(repr, OBJECTIVES))
            raise ValueError(f"objective is {objective!r}; expected {expected}")
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        self._step_size = check_positive("step_size", step_size)
        self._penalty = check_number("penalty", penalty, 0.0)
        self._model = model

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        context = context_of(require_rows(log))
        mean = context.mean(axis=0)
        std = context.std(axis=0)
        std[std == 0.0] = 1.0
        features = np.column_stack([np.ones(len(log)), (context - mean) / std])
        predicted = None
        if self._objective.needs_predictions:
            predicted = RewardRegression(self._model).predict(log)
        weights = np.zeros((log.num_actions, features.shape[1]))
        for _ in range(self._num_steps):
            _, gradient = value_and_gradient(self._objective, log, features, weights, predicted)
            weights += self._step_size * (gradient - self._penalty * weights)
        weights[:, 1:] /= std
        weights[:, 0] -= weights[:, 1:] @ mean
        rule = Softmax(temperature=1.0, cooling=1.0)
        return policy_of(LinearScores(weights), rule, log, batch_size, seed)
