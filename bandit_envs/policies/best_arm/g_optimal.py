"""The search for the best action where mean rewards are linear in features."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Indices, Mask, check_array
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_numbers, check_positive
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Pulls, Search, among
from bandit_envs.policies.best_arm.reward_laws import NormalLaw, RewardLaw
from bandit_envs.policies.best_arm.stopping import check_delta
from bandit_envs.policies.policy import PolicyOptions

TOLERANCE = 1e-3
"""Of the largest variance of a design, as a share of the smallest possible one."""

MAX_ITERATIONS = 10_000

RIDGE = 1e-9
"""Added to the diagonal of V, so that V has an inverse before all features were chosen."""


class GOptimalPolicy(BestArmPolicy):
    """Finds the best action where mean rewards are linear in the features of the actions.

        A_t = argmax_a t w(a) - N(a),    stop if for each b other than a,
        (x(a) - x(b)) theta > s |x(a) - x(b)| sqrt(2 ln(pi^2 t^2 (K - 1) / (6 delta)))
        |x|^2 = x V^-1 x,    V = sum_b N(b) x(b) x(b)^T

    Here, x are the features, theta the weights found by least squares, and a the action with the
    largest x(a) theta. The proportions w are the G-optimal design: the largest variance of an
    x(b) theta is the smallest possible. The number of steps grows with that of the features, and
    hardly with that of the actions. It errs with a probability of at most delta, if the mean
    rewards are linear.

    Args:
        delta: the largest probability of error, at most 1.
        features: [K, d], a row for each action. They have rank d, and no two rows are equal.
        reward_std: s, the standard deviation of normal rewards; for rewards from 0 to 1,
            whatever their distribution, 0.5.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Soare, Lazaric & Munos, Best-Arm Identification in Linear Bandits (2014): G-allocation,
    here with a union bound over t and K - 1 actions.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> env = BernoulliPyEnvironment([0.1, 0.9, 0.4], batch_size=2, seed=0)
    >>> features = [[1, 0], [0, 1], [0.4, 0.4]]
    >>> policy = GOptimalPolicy(0.1, features, num_actions=3, batch_size=2, seed=1)
    >>> time_step = StepDriver(env, policy, [policy], num_steps=2000).run_until_stopped()
    >>> policy.recommend(time_step)
    array([1, 1], dtype=int32)
    """

    def __init__(
        self,
        delta: float,
        features: ArrayLike,
        reward_std: float = 0.5,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self._delta = check_delta(delta)
        self._reward_std = check_positive("reward_std", reward_std, MIN_STD, MAX_PARAMETER)
        self._features = _check_features(features, self.num_actions)
        products = self._features[:, :, np.newaxis] * self._features[:, np.newaxis]
        self._products = products.reshape(self.num_actions, -1)
        self._design = g_optimal_design(self._features)

    def _set_num_actions(self, num_actions: int) -> None:
        raise self._without_more_actions("it has features of these; make a new one")

    def _reward_law(self) -> RewardLaw:
        return NormalLaw(self._reward_std)

    def _exploration_scores(self, search: Search) -> Floats:
        pulls = search.pulls
        return (pulls.steps[:, np.newaxis] + 1.0) * self._design - pulls.counts

    def _update(self, search: Search, rows: Indices) -> None:
        pulls = search.pulls.take(rows)
        covariances = self._covariances(pulls)
        values = self._values(pulls, covariances)
        compared = search.compared(rows)
        values = among(values, compared, -np.inf)
        leaders = values.argmax(axis=1)
        differences = self._features[leaders][:, np.newaxis] - self._features
        variances = np.einsum("nkd,nkd->nk", differences @ covariances, differences)
        steps = pulls.steps.astype(np.float64)
        level = np.log(np.pi**2 * steps**2 * (self.num_actions - 1) / (6.0 * self._delta))
        widths = self._reward_std * np.sqrt(2.0 * level[:, np.newaxis] * variances)
        gaps = values.max(axis=1, keepdims=True) - values
        gaps[np.arange(len(rows)), leaders] = np.inf
        has_rival = gaps.min(axis=1) < np.inf
        is_clear = (gaps > widths).all(axis=1)
        search.stopped[rows] = is_clear & has_rival

    def _recommended(self, search: Search, available: Mask | None) -> Indices:
        values = self._values(search.pulls, self._covariances(search.pulls))
        if available is not None:
            values = np.where(available, values, -np.inf)
        return np.asarray(values.argmax(axis=1))

    def _covariances(self, pulls: Pulls) -> Floats:
        """Returns V^-1 of n rows, the covariance of the weights for rewards of variance 1."""
        dim = self._features.shape[1]
        gram = (pulls.counts @ self._products).reshape(-1, dim, dim)
        return np.asarray(np.linalg.inv(gram + RIDGE * np.eye(dim)))

    def _values(self, pulls: Pulls, covariances: Floats) -> Floats:
        """Returns the mean rewards that least squares give to the actions of n rows: [n, K]."""
        totals = pulls.sums @ self._features
        theta = np.einsum("nde,ne->nd", covariances, totals)
        return np.asarray(theta @ self._features.T)


def g_optimal_design(features: Floats) -> Floats:
    """Returns proportions [K] with which the largest variance of a mean reward is the smallest.

    The variance of x theta is x V^-1 x. The smallest largest one is d, by the theorem of Kiefer and
    Wolfowitz. The method of Frank and Wolfe, with exact steps, goes to the action with the largest.

    Args:
        features: [K, d], of rank d.
    """
    num_actions, dim = features.shape
    weights = np.full(num_actions, 1.0 / num_actions)
    for _ in range(MAX_ITERATIONS):
        inverse = np.linalg.inv((features.T * weights) @ features)
        variances = np.einsum("kd,de,ke->k", features, inverse, features)
        widest = variances.argmax()
        largest = variances[widest]
        if largest <= dim * (1.0 + TOLERANCE):
            break
        step = (largest / dim - 1.0) / (largest - 1.0)
        weights *= 1.0 - step
        weights[widest] += step
    return weights


def _check_features(features: ArrayLike, num_actions: int) -> Floats:
    """Returns features [K, d] of which the largest number is 1, or raises ValueError."""
    table = check_numbers("features", features, 2).astype(np.float64)
    check_array("features have", table, table.shape)
    if len(table) != num_actions:
        found = f"features have shape {table.shape}"
        raise ValueError(f"{found}; expected {num_actions} rows, one for each action")
    dim = table.shape[1]
    rank = np.linalg.matrix_rank(table) if table.size else 0
    if rank < max(dim, 1):
        expected = f"expected rank {max(dim, 1)}"
        raise ValueError(f"features have {dim} columns and rank {rank}; {expected}")
    if len(np.unique(table, axis=0)) < num_actions:
        raise ValueError("features have equal rows; expected different features for each action")
    return np.asarray(table / np.abs(table).max())
