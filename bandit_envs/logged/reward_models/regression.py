"""Models of rewards, whose predictions estimators use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Indices, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.features import features_of, has_items
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions, require_propensities
from bandit_envs.logged.reward_models.reward_sums import (
    FEWEST_FOLDS,
    ONE_FOLD,
    RewardSums,
    count_rows,
    folds_of,
)
from bandit_envs.policies.scikit_learn.model import (
    copy_estimator,
    fit_weighted,
    name_failing_estimator,
    predict_means,
)


class RewardRegression:
    """Cross-fitted predictions of the reward of every action.

    The model of each fold learns from the other folds. Which fold a row belongs to follows from its
    number, or from its unit, as if drawn at random. Features are the observation's, flattened, and
    which action it is; or `global` and the action's `per_arm`, if it has them.

    Args:
        model: a regressor or classifier of scikit-learn, of which each fold gets a copy; a
            `random_state` of None is seeded by the fold. By default a `RidgeRegression`, one for
            every action unless items have features; `RewardSums` makes it of parts of a log.
        folds: at least 2.

    Source: Chernozhukov et al., Double/debiased machine learning (2018), for cross-fitting.

    >>> log = BanditLog(np.eye(4), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> RewardRegression(folds=2).predict(log).shape
    (4, 2)
    """

    def __init__(self, model: Any = None, folds: int = 3) -> None:
        self._model = model
        self._folds = check_integer("folds", folds, minimum=2)

    def predict(self, log: BanditLog, probabilities: ArrayLike | None = None) -> Floats:
        """Returns predicted rewards [n, K].

        Args:
            log: n decisions, at least one a fold.
            probabilities: [n, K], of the policy to be evaluated. With them, the model minimises the
                variance of `DoublyRobust` rather than its own error (MRDR).

        Source: Farajtabar et al., More robust doubly robust off-policy evaluation (2018).
        """
        size = len(require_numbered_actions(log))
        if size < self._folds:
            raise ValueError(f"log has {size} rows; expected at least {self._folds}, one a fold")
        weights = None if probabilities is None else mrdr_weights(log, probabilities)
        if self._model is None:
            return RewardSums.from_log(log, 0, self._folds, weights).fit().predict(log)
        fold = folds_of(0, size, self._folds, log.unit)
        predicted = np.empty((size, log.num_actions))
        used = np.unique(fold).tolist()
        if len(used) < FEWEST_FOLDS:
            raise ValueError(ONE_FOLD)
        counts = count_rows(log, weights)
        for index in used:
            test = np.flatnonzero(fold == index)
            train = np.flatnonzero(fold != index)
            model = self._fit(np.random.default_rng(index), log, train, counts)
            for action in range(log.num_actions):
                features = _action_features(log, test, np.full(len(test), action))
                predicted[test, action] = predict_means(model, features)
        return predicted

    def _fit(self, rng: Rng, log: BanditLog, rows: Indices, weights: Floats | None) -> Any:
        """Returns a new model that has learned from some rows."""
        model = copy_estimator(self._model, rng)
        features = _action_features(log, rows, log.action[rows])
        if weights is None:
            with name_failing_estimator(model, "learn from", len(rows)):
                model.fit(features, log.reward[rows])
        else:
            fit_weighted(model, features, log.reward[rows], weights[rows])
        return model


def mrdr_weights(log: BanditLog, probabilities: ArrayLike) -> Floats:
    """Returns the weights of rows with which a model minimises the variance of DR: [n].

        pi(a_i | x_i)^2 (1 - p_i) / p_i^2

    Args:
        log: n decisions.
        probabilities: [n, K], of the policy to be evaluated.

    Source: Farajtabar et al., More robust doubly robust off-policy evaluation (2018).
    """
    taken = np.asarray(probabilities, np.float64)[np.arange(len(log)), log.action]
    propensity = require_propensities(log).propensity
    return np.asarray(taken**2 * (1.0 - propensity) / propensity**2)


def _action_features(log: BanditLog, rows: Indices, action: Indices) -> Floats:
    """Returns the features of actions [m] in rows [m]: [m, d]."""
    features = features_of(log)
    if has_items(log):
        return np.asarray(features[rows, action])
    is_action = np.eye(log.num_actions)[action]
    return np.concatenate([is_action, features[rows]], axis=1)
