"""Predictions of rewards in two steps: of clusters of actions, and of actions in their cluster.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Mask, check_array
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.columns import as_column
from bandit_envs.logged.features import context_of
from bandit_envs.logged.log import BanditLog, require_numbered_actions
from bandit_envs.logged.reward_models.reward_sums import folds_of
from bandit_envs.logged.reward_models.ridge import RidgeRegression


class ClusterRegression:
    """Cross-fitted predictions of the reward of every action, for `MarginalizedDR`.

    Experimental: it may change in any minor version.

        f(x, a) = g(x, c(a)) + h(x, a)

    g is a ridge regression of the rewards of all actions of a cluster, and h one of what is left of
    those of each action. So rarely logged actions are predicted as their cluster is. The source
    fits h first, from pairs of actions in the same context, which logs hardly have.

    Args:
        clusters: [K], of the actions, such as `cluster_actions` finds.
        folds: at least 2.

    Source: Saito, Ren & Joachims, Off-policy evaluation for large action spaces via conjunct effect
    modeling (2023), section 3.3; Chernozhukov et al., Double/debiased machine learning (2018), for
    cross-fitting.

    >>> log = BanditLog(np.eye(4), [0, 1, 2, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> ClusterRegression([0, 1, 1], folds=2).predict(log).shape
    (4, 3)
    """

    def __init__(self, clusters: ArrayLike, folds: int = 3) -> None:
        self._clusters = as_column("clusters", clusters, "iu", np.int64, 1)
        self._folds = check_integer("folds", folds, minimum=2)

    def predict(self, log: BanditLog) -> Floats:
        """Returns predicted rewards [n, K] of a log of contexts, with at least one row a fold."""
        size = len(require_numbered_actions(log))
        check_array("clusters has", self._clusters, (log.num_actions,))
        if size < self._folds:
            raise ValueError(f"log has {size} rows; expected at least {self._folds}, one a fold")
        context = context_of(log)
        fold = folds_of(0, size, self._folds)
        predicted = np.empty((size, log.num_actions))
        for index in range(self._folds):
            is_test = fold == index
            predicted[is_test] = self._predict_fold(log, context, is_test)
        return predicted

    def _predict_fold(self, log: BanditLog, context: Floats, is_test: Mask) -> Floats:
        """Returns predicted rewards [m, K] of m rows by the others."""
        of_row = self._clusters[log.action]
        left = log.reward.copy()
        predicted = np.zeros((int(is_test.sum()), log.num_actions))
        for cluster in np.unique(self._clusters):
            rows = ~is_test & (of_row == cluster)
            if rows.any():
                model = RidgeRegression().fit(context[rows], left[rows])
                left[rows] -= model.predict(context[rows])
                members = self._clusters == cluster
                predicted[:, members] = model.predict(context[is_test])[:, np.newaxis]
        for action in range(log.num_actions):
            rows = ~is_test & (log.action == action)
            if rows.any():
                model = RidgeRegression().fit(context[rows], left[rows])
                predicted[:, action] += model.predict(context[is_test])
        return predicted
