"""A learner that chooses by predicted rewards, which propensities have corrected."""

from __future__ import annotations

import functools
from typing import Any

from bandit_envs.logged.learners.fits.action_sums import (
    correct_rewards,
    ridge_policy,
    sum_all_rewards,
)
from bandit_envs.logged.learners.fits.pairs import all_pairs, count_models, find_logged, name_model
from bandit_envs.logged.learners.fits.policies import (
    policy_of_regressions,
)
from bandit_envs.logged.learners.fits.regressors import check_regressor, fit_regressor
from bandit_envs.logged.learners.learner import Learner, PassOverParts
from bandit_envs.logged.log import (
    BanditLog,
)
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.logged.reward_models.reward_sums import (
    RewardSums,
)
from bandit_envs.logged.reward_models.ridge_regression import RidgeRegression
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.value_model import NEVER
from bandit_envs.policies.scikit_learn.model import (
    copy_estimator,
)
from bandit_envs.seeding import Seed, generator

FOLDS = 3  # of cross-fitted models of rewards


class DoublyRobustLearner(Learner):
    """Chooses the action whose doubly robust reward is predicted to be the largest.

        argmax_a  g_a(x)

    where g_a is a regression on all rows i of

        q(x_i, a) + 1{a = a_i} (r_i - q(x_i, a)) / p_i

    and q are cross-fitted predictions of the rewards. So the propensities correct a bad q. An
    action that was never logged is chosen only if no other is available. Items with features share
    one regression, of all that were offered.

    Args:
        model: of the rewards, q, as for `RewardRegression`.
        regressor: of scikit-learn, of which each action gets a copy, g. By default a
            `RidgeRegression`.

    Raises:
        TypeError: `regressor` is not an estimator.

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011), section 4.

    >>> import numpy as np
    >>> log = BanditLog(np.ones((6, 1)), [0, 1] * 3, [1.0, 2.0] * 3, [0.5] * 6)
    >>> policy = DoublyRobustLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, model: Any = None, regressor: Any = None) -> None:
        self._model = model
        self._regressor = check_regressor(regressor)

    @property
    def streams(self) -> bool:
        return self._model is None and self._regressor is None

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        rewards = correct_rewards(RewardRegression(self._model).predict(log), log)
        logged = find_logged(log)
        regressor = RidgeRegression() if self._regressor is None else self._regressor
        rng = generator(seed)
        models: list[Any] = [NEVER] * count_models(log)
        for action, features, targets, weights in all_pairs(log, rewards):
            if action in logged:
                made = copy_estimator(regressor, rng)
                of = name_model(log, action)
                models[action] = fit_regressor(made, features, targets, of, weights)
        return policy_of_regressions(models, log, batch_size, rng)

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        sums = over(functools.partial(RewardSums.from_batches, folds=FOLDS))
        model = functools.reduce(RewardSums.merge, sums, RewardSums(FOLDS, {})).fit()
        return ridge_policy(
            over(functools.partial(sum_all_rewards, model.predict)), batch_size, seed
        )
