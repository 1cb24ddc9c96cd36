"""Marginal weights beside predicted rewards, and clusters of actions that a log tells.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, Rng, check_array
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.columns import as_column, check_reward_range
from bandit_envs.logged.estimators.embeddings import MarginalizedIPS, add_of_actions
from bandit_envs.logged.estimators.estimate import Estimate, Terms
from bandit_envs.logged.log import BanditLog

MAX_ROUNDS = 100  # of k-means
MAX_ROWS = 1000  # of the table that it compares actions by


@dataclasses.dataclass(frozen=True)
class MarginalizedDR:
    """Corrects predictions f by the weights of embeddings: mean(sum_a pi f + w(x, e) (r - f)).

    Experimental: it may change in any minor version.

    With clusters of actions, w(x, c) is the policy's probability of the cluster over the logging
    policy's. It is unbiased if predictions are wrong by the same amount for all actions of a
    cluster in a context, and each cluster that the policy takes was logged: not for any f, as
    `DoublyRobust` is. `ClusterRegression` predicts so.

    Args:
        self_normalized: whether it divides the corrections by the mean weight.

    Source: Saito, Ren & Joachims, Off-policy evaluation for large action spaces via conjunct effect
    modeling (2023), there OffCEM.
    """

    self_normalized: bool = dataclasses.field(default=False, kw_only=True)

    def estimate(
        self,
        log: BanditLog,
        probabilities: ArrayLike,
        likelihoods: ArrayLike,
        predicted_rewards: ArrayLike,
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            log: n logged decisions, at least two, with `action_probabilities`.
            probabilities: [n, K], the policy's probabilities of all actions.
            likelihoods: [n, K], as for `MarginalizedIPS.estimate`, such as
                `MarginalizedIPS.likelihoods_of_clusters` returns.
            predicted_rewards: [n, K], f.

        Warns:
            UserWarning: as `MarginalizedIPS.estimate`.
        """
        terms = self.terms(log, probabilities, likelihoods, predicted_rewards)
        return terms.sums().estimate([terms], stacklevel=3)

    def terms(
        self,
        log: BanditLog,
        probabilities: ArrayLike,
        likelihoods: ArrayLike,
        predicted_rewards: ArrayLike,
    ) -> Terms:
        """Returns what each row adds to the estimate; `terms.sums()` of parts of a log merge."""
        weights = MarginalizedIPS.weigh(log, probabilities, likelihoods)
        predicted = as_column("predicted_rewards", predicted_rewards)
        check_array("predicted_rewards has", predicted, (len(log), log.num_actions))
        check_reward_range("predicted_rewards", predicted)
        errors = log.reward - predicted[np.arange(len(log)), log.action]
        policy = as_column("probabilities", probabilities)
        return Terms(
            direct=np.einsum("nk,nk->n", policy, predicted),
            weighted=check_reward_range("the weighted error", weights * errors),
            weights=weights[np.newaxis],
            normaliser=weights if self.self_normalized else None,
            estimator=repr(self),
            assumed=None if self.self_normalized else add_of_actions(log, policy, weights, errors),
        )


def cluster_actions(rng: Rng, predicted_rewards: ArrayLike, num_clusters: int) -> NDArray[np.int64]:
    """Returns clusters of actions whose predicted rewards are alike, by k-means: [K], from 0.

    Two actions are as far apart as their rewards are in the same contexts. Where the log has few
    rows of an action, predictions are noise, and so are the clusters: with 60 actions of three
    kinds, the error of `MarginalizedDR` was twice that of `DoublyRobust` with 600 rows, and 0.8 of
    it with 3,000. Known kinds, such as brands, gave 0.8 and 0.7 of it. `slope` chooses among
    numbers of clusters.

    Experimental: it may change in any minor version.

    Args:
        rng: draws the first centres, and a thousand rows if there are more.
        predicted_rewards: [n, K], such as `RewardRegression` predicts.
        num_clusters: from 1 to K. There may be fewer, if some actions are the same.

    Source: Arthur & Vassilvitskii, k-means++: the advantages of careful seeding (2007).

    >>> predicted = np.array([[0.1, 0.9, 0.11], [0.2, 0.3, 0.2]])
    >>> cluster_actions(np.random.default_rng(0), predicted, 2).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    table = check_reward_range(
        "predicted_rewards", as_column("predicted_rewards", predicted_rewards)
    )
    size, num_actions = table.shape
    check_integer("num_clusters", num_clusters, 1, num_actions)
    rows = rng.permutation(size)[:MAX_ROWS] if size > MAX_ROWS else np.arange(size)
    points = table[rows].T
    centres = _first_centres(rng, points, num_clusters)
    clusters = np.full(num_actions, -1)
    for _ in range(MAX_ROUNDS):
        nearest = _squared_distances(points, centres).argmin(axis=1)
        if (nearest == clusters).all():
            break
        clusters = nearest
        for cluster in np.unique(clusters):
            centres[cluster] = points[clusters == cluster].mean(axis=0)
    return np.asarray(clusters, np.int64)


def _first_centres(rng: Rng, points: Floats, count: int) -> Floats:
    """Returns points that are drawn far apart: [count, n]."""
    chosen = [int(rng.integers(len(points)))]
    while len(chosen) < count:
        nearest = _squared_distances(points, points[chosen]).min(axis=1)
        total = float(nearest.sum())
        shares = nearest / total if total else np.full(len(points), 1.0 / len(points))
        chosen.append(int(rng.choice(len(points), p=shares)))
    return points[chosen]


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """Returns the squared distances of points [K, n] from centres [C, n]: [K, C]."""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
