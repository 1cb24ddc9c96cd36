"""Models of rewards, whose predictions estimators use."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import flatten
from bandit_envs.seeding import generator


class RidgeRegression:
    """Linear least squares, with the sum of the squared weights but the intercept's as penalty.

    >>> model = RidgeRegression().fit(np.array([[-1.0], [1.0]]), np.array([0.0, 6.0]))
    >>> model.predict(np.array([[0.0], [1.0]]))
    array([3., 5.])
    """

    def fit(
        self, features: Floats, targets: Floats, sample_weight: Floats | None = None
    ) -> RidgeRegression:
        """Fits the weights to features [m, d] and targets [m], which count by `sample_weight`."""
        weight = np.ones(len(targets)) if sample_weight is None else sample_weight
        total = weight.sum() or 1.0
        centre = weight @ features / total
        level = float(weight @ targets / total)
        centred = features - centre
        gram = (centred * weight[:, np.newaxis]).T @ centred + np.eye(len(centre))
        slope = np.linalg.solve(gram, centred.T @ (weight * (targets - level)))
        self.weights: Floats = np.array([level - centre @ slope, *slope])  #: [1 + d]
        return self

    def predict(self, features: Floats) -> Floats:
        """Returns the predictions for features [m, d]: [m]."""
        return np.asarray(self.weights[0] + features @ self.weights[1:])


@runtime_checkable
class Classifier(Protocol):
    """A model of scikit-learn that predicts the probabilities of its classes."""

    classes_: Floats

    def predict_proba(self, features: Floats) -> Floats: ...


class RewardRegression:
    """Cross-fitted predictions of the reward of every action.

    The model of each random fold learns from the other folds. Features are the observation's,
    flattened, and which action it is; or `global` and the action's `per_arm`, if it has them.

    Args:
        model: a regressor or classifier of scikit-learn. By default a `RidgeRegression`, one for
            every action unless items have features.
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
        size = len(log)
        if size < self._folds:
            raise ValueError(f"log has {size} rows; expected at least {self._folds}, one a fold")
        weights = None if probabilities is None else _mrdr_weights(log, probabilities)
        fold = generator(0).permutation(size) % self._folds
        predicted = np.empty((size, log.num_actions))
        for index in range(self._folds):
            test = np.flatnonzero(fold == index)
            train = np.flatnonzero(fold != index)
            for actions in self._action_groups(log):
                rows = train[np.isin(log.action[train], actions)]
                model = self._fit(log, rows, actions, weights)
                for action in actions:
                    predicted[test, action] = _predict(model, log, test, action, actions)
        return predicted

    def _action_groups(self, log: BanditLog) -> list[Sequence[int]]:
        """Returns which actions share a model: all; or none, if items have no features."""
        every = range(log.num_actions)
        if self._model is not None or _has_items(log):
            return [every]
        return [[action] for action in every]

    def _fit(
        self, log: BanditLog, rows: Indices, actions: Sequence[int], weights: Floats | None
    ) -> Any:
        """Returns a new model that has learned from some rows."""
        model = RidgeRegression() if self._model is None else copy.deepcopy(self._model)
        features = _features(log, rows, log.action[rows], len(actions))
        if weights is None:
            model.fit(features, log.reward[rows])
        else:
            model.fit(features, log.reward[rows], sample_weight=weights[rows])
        return model


def _mrdr_weights(log: BanditLog, probabilities: ArrayLike) -> Floats:
    """Returns the weights of rows [n] with which a model minimises the variance of DR."""
    taken = np.asarray(probabilities, np.float64)[np.arange(len(log)), log.action]
    return np.asarray(taken**2 * (1.0 - log.propensity) / log.propensity**2)


def _predict(
    model: Any, log: BanditLog, rows: Indices, action: int, actions: Sequence[int]
) -> Floats:
    """Returns the rewards [m] of an action in rows [m], by a model of some actions."""
    features = _features(log, rows, np.full(len(rows), action), len(actions))
    if isinstance(model, Classifier):
        return np.asarray(model.predict_proba(features) @ model.classes_)
    return np.asarray(model.predict(features))


def _features(log: BanditLog, rows: Indices, action: Indices, choices: int) -> Floats:
    """Returns the features of actions [m], of so many choices, in rows [m]: [m, d]."""
    if _has_items(log):
        users = log.observation["global"].reshape(len(log), -1)
        items = log.observation["per_arm"].reshape(len(log), log.num_actions, -1)
        parts = [users[rows], items[rows, action]]
    else:
        parts = [np.eye(log.num_actions)[action]] if choices > 1 else []
        parts += [leaf.reshape(len(log), -1)[rows] for leaf in flatten(log.observation)]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _has_items(log: BanditLog) -> bool:
    return isinstance(log.observation, dict) and "per_arm" in log.observation
