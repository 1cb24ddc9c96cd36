"""What estimators take besides a log: a policy's probabilities, and predicted rewards."""

from __future__ import annotations

import copy
import operator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import flatten, map_structure
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed, generator
from bandit_envs.trajectories import restart


def probabilities_of(
    policy: Policy, log: BanditLog, samples: int | None = None, seed: Seed = 0
) -> Floats:
    """Returns the probabilities with which a policy, which does not learn, would choose: [n, K].

    Row i of the log is shown to its row i modulo B, as a `LogRecorder` wrote them. Results are
    rounded as recorded propensities are, so the policy that made a log gets weights of exactly 1.

    If the policy does not know its probabilities, they are estimated from `samples` choices, which
    are drawn with the `seed`.
    """
    if policy.num_actions != log.num_actions:
        raise ValueError(f"policy has {policy.num_actions} actions; expected {log.num_actions}")
    rng, size, seen = generator(seed), policy.batch_size, log.seen()
    table = np.empty((len(log), log.num_actions))
    for start in range(0, len(log), size):
        rows = np.arange(start, start + size) % len(log)  # the last batch is filled up
        time_step = restart(map_structure(operator.itemgetter(rows), seen), size)
        if samples is None:
            found = policy.probabilities(time_step)
        else:
            found = policy.estimated_probabilities(time_step, samples, rng)
        table[start : start + size] = found[: len(log) - start]
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log(table)))


class RidgeRegression:
    """Linear least squares, with the sum of the squared weights but the intercept's as penalty."""

    def fit(
        self, features: Floats, targets: Floats, sample_weight: Floats | None = None
    ) -> RidgeRegression:
        """Fits the weights to features [m, d] and targets [m]."""
        weight = np.ones(len(targets)) if sample_weight is None else sample_weight
        total = weight.sum() or 1.0
        centre, level = weight @ features / total, float(weight @ targets / total)
        centred = features - centre
        gram = (centred * weight[:, np.newaxis]).T @ centred + np.eye(len(centre))
        self._slope = np.linalg.solve(gram, centred.T @ (weight * (targets - level)))
        self._intercept = level - centre @ self._slope
        return self

    def predict(self, features: Floats) -> Floats:
        """Returns the predictions for features [m, d]: [m]."""
        return np.asarray(features @ self._slope + self._intercept)


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
        self._model, self._folds = model, check_integer("folds", folds, minimum=2)

    def predict(self, log: BanditLog, probabilities: ArrayLike | None = None) -> Floats:
        """Returns predicted rewards [n, K].

        With the `probabilities` [n, K] of the policy to be evaluated, the model minimises the
        variance of `DoublyRobust` rather than its own error (MRDR).

        Source: Farajtabar et al., More robust doubly robust off-policy evaluation (2018).
        """
        size = len(log)
        if size < self._folds:
            raise ValueError(f"log has {size} rows; expected at least {self._folds}, one a fold")
        weights = None
        if probabilities is not None:
            chosen = np.asarray(probabilities, np.float64)[np.arange(size), log.action]
            weights = chosen**2 * (1.0 - log.propensity) / log.propensity**2
        fold = generator(0).permutation(size) % self._folds
        predicted, every = np.empty((size, log.num_actions)), range(log.num_actions)
        shares = self._model is not None or _has_items(log)
        for index in range(self._folds):
            test, train = np.flatnonzero(fold == index), np.flatnonzero(fold != index)
            for actions in [every] if shares else [[action] for action in every]:
                rows = train[np.isin(log.action[train], actions)]
                model = RidgeRegression() if self._model is None else copy.deepcopy(self._model)
                options = {} if weights is None else {"sample_weight": weights[rows]}
                features = _features(log, rows, log.action[rows], len(actions))
                model.fit(features, log.reward[rows], **options)
                for action in actions:
                    features = _features(log, test, np.full(len(test), action), len(actions))
                    if isinstance(model, Classifier):
                        predicted[test, action] = model.predict_proba(features) @ model.classes_
                    else:
                        predicted[test, action] = model.predict(features)
        return predicted


def _features(log: BanditLog, rows: Indices, action: Indices, choices: int) -> Floats:
    """Returns the features of actions [m], of so many choices, in rows [m]: [m, d]."""
    if _has_items(log):
        users, items = log.observation["global"], log.observation["per_arm"]
        items = items.reshape(len(log), log.num_actions, -1)
        parts = [users.reshape(len(log), -1)[rows], items[rows, action]]
    else:
        parts = [np.eye(log.num_actions)[action]] if choices > 1 else []
        parts += [leaf.reshape(len(log), -1)[rows] for leaf in flatten(log.observation)]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _has_items(log: BanditLog) -> bool:
    return isinstance(log.observation, dict) and "per_arm" in log.observation
