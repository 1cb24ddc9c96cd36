"""A learner that chooses by predicted rewards."""

from __future__ import annotations

from typing import Any

from bandit_envs.logged.learners.fits.action_sums import (
    ridge_policy,
    sum_logged_rewards,
)
from bandit_envs.logged.learners.fits.pairs import logged_pairs, name_model
from bandit_envs.logged.learners.fits.policies import (
    policy_of_regressions,
)
from bandit_envs.logged.learners.fits.regressors import check_regressor, fit_regressor
from bandit_envs.logged.learners.learner import Learner, PassOverParts
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_rows
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.scikit_learn.model import (
    copy_estimator,
)
from bandit_envs.seeding import Seed, generator


class DirectMethodLearner(Learner):
    """Chooses the action whose predicted reward is the largest.

        argmax_a  q_a(x)

    where q_a is a regression of the rewards of the action a. An action that was never logged is
    chosen only if no other is available. Items with features share one regression.

    Args:
        regressor: of scikit-learn, of which each action gets a copy; or a classifier of rewards.
            By default a `RidgeRegression`.

    Raises:
        TypeError: `regressor` is not an estimator.

    Source: Beygelzimer & Langford, The offset tree (2009), the regression approach.

    >>> import numpy as np
    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = DirectMethodLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, regressor: Any = None) -> None:
        self._regressor = check_regressor(regressor)

    @property
    def streams(self) -> bool:
        return self._regressor is None

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        rng = generator(seed)
        models: list[Any] = []
        for action, features, rewards, weights in logged_pairs(require_rows(log)):
            regressor = copy_estimator(self._regressor, rng)
            fitted = fit_regressor(regressor, features, rewards, name_model(log, action), weights)
            models.append(fitted)
        return policy_of_regressions(models, log, batch_size, rng)

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        return ridge_policy(over(sum_logged_rewards), batch_size, seed)
