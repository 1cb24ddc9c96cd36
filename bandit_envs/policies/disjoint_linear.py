"""Contextual policies with one linear model for each action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import NUMBERS
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_number, check_positive
from bandit_envs.base.state import Seed
from bandit_envs.policies.policy import IndexPolicy, Policy, argmax_random_ties
from bandit_envs.specs import ArraySpec, Nest
from bandit_envs.trajectories import TimeStep, Trajectory

Array = NDArray[np.float64]


class ContextPolicy(Policy):
    """A policy for contexts without features of the arms.

    The context is the observation, or the entry `observation` of one with a mask. Features of more
    than one dimension are flattened.

    Shapes:
        B, K: batch_size and num_actions.
        D: features of a context.

    Args:
        tikhonov_weight: of the regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment.
        num_actions, batch_size, seed: as for every policy.
    """

    def __init__(
        self,
        tikhonov_weight: float,
        observation_spec: Nest,
        num_actions: int,
        batch_size: int,
        seed: Seed,
    ) -> None:
        bounds = MIN_STD, MAX_PARAMETER
        self._tikhonov_weight = check_positive("tikhonov_weight", tikhonov_weight, *bounds)
        spec = _context_of(observation_spec)
        if not isinstance(spec, ArraySpec) or spec.dtype.kind not in NUMBERS:
            raise ValueError(
                f"observation_spec is {observation_spec}; expected one array of numbers, or a dict "
                "with one as observation"
            )
        self._context_shape = spec.shape
        self._dim = int(np.prod(spec.shape))
        super().__init__(num_actions, batch_size, seed)

    @classmethod
    def sizes(cls, env: Any) -> dict[str, Any]:
        return {**super().sizes(env), "observation_spec": env.observation_spec()}

    def _sizes(self) -> dict[str, int | None]:
        return {**super()._sizes(), "dim": self._dim}

    def _context(self, observation: Nest) -> Array:
        """Returns the contexts: [B, D]."""
        context = np.asarray(_context_of(observation))
        expected = (self._batch_size, *self._context_shape)
        if context.shape != expected or context.dtype.kind not in NUMBERS:
            raise ValueError(
                f"observation is {context.dtype}{context.shape}; "
                f"expected numbers of shape {expected}"
            )
        features = context.reshape(self._batch_size, self._dim).astype(np.float64)
        if not float(np.vdot(features, features)) < MAX_REWARD:
            raise ValueError("observation has features that are NaN or too large")
        return features


def _context_of(observation: Nest) -> Any:
    return observation.get("observation") if isinstance(observation, Mapping) else observation


class RidgeModels(NamedTuple):
    """K ridge regressions, as `LinearModel` describes one.

    Fields:
        factor: [K, D, D + 1], the matrices [R z].
        theta: the estimates, [K, D].
        whitening: W = R^-T, [K, D, D].
    """

    factor: Array
    theta: Array
    whitening: Array


class DisjointLinearPolicy(ContextPolicy):
    """A policy with a linear model of the reward for each action, which learns from all rows.

        r ~ theta[a] . x,    theta[a] = A[a]^-1 b[a]

    A[a] and b[a] are as in `LinearModel`, of the rows whose action was a. With gamma < 1, every
    step decays all of them. The models are updated in place.

    Args:
        alpha: how far the policy explores, in standard deviations of the estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has weight gamma^t.
        tikhonov_weight, observation_spec, num_actions, batch_size, seed: as for `ContextPolicy`.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        num_actions: int,
        batch_size: int = 1,
        seed: Seed = None,
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        self._gamma = check_number("gamma", gamma, 0.0, 1.0)
        super().__init__(tikhonov_weight, observation_spec, num_actions, batch_size, seed)

    def _initial(self) -> RidgeModels:
        shape, root = (self._num_actions, self._dim), np.sqrt(self._tikhonov_weight)
        factor = np.tile(root * np.eye(self._dim, self._dim + 1), (self._num_actions, 1, 1))
        whitening = np.tile(np.eye(self._dim) / root, (self._num_actions, 1, 1))
        return RidgeModels(factor, np.zeros(shape), whitening)

    def _learn(self, learned: RidgeModels, trajectory: Trajectory) -> RidgeModels:
        context, action = self._context(trajectory.observation), trajectory.action
        (factor, theta, whitening), dim = learned, self._dim
        changed = np.unique(action)
        if self._gamma < 1.0:
            changed = np.arange(self._num_actions)
            lost = np.sqrt((1.0 - self._gamma) * self._tikhonov_weight) * np.eye(dim, dim + 1)
            rows = np.tile(lost, (self._num_actions, 1))
            factor *= np.sqrt(self._gamma)
            add_rows(factor, changed.repeat(dim), rows)
        add_rows(factor, action, np.column_stack((context, trajectory.reward)))
        inverse = np.linalg.inv(factor[changed, :, :dim])
        theta[changed] = (inverse @ factor[changed, :, dim:])[..., 0]
        whitening[changed] = inverse.transpose(0, 2, 1)
        return learned

    def _means(self, learned: RidgeModels, context: Array) -> Array:
        return np.asarray(context @ learned.theta.T)

    def _stds(self, learned: RidgeModels, context: Array) -> Array:
        """Returns alpha sqrt(x . A[a]^-1 x): [B, K]."""
        whitened = context @ learned.whitening.reshape(-1, self._dim).T
        whitened = whitened.reshape(len(context), self._num_actions, self._dim)
        return np.asarray(self._alpha * np.sqrt(np.einsum("bkd,bkd->bk", whitened, whitened)))


class DisjointLinUCBPolicy(IndexPolicy, DisjointLinearPolicy):
    """Chooses the action whose own linear model has the largest upper confidence bound.

        argmax_a  theta[a] . x + alpha * sqrt(x^T A[a]^-1 x)

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1; TF-Agents' `LinearUCBAgent`.

    >>> spec = ArraySpec((3,), np.float32)
    >>> policy = DisjointLinUCBPolicy(observation_spec=spec, num_actions=4, batch_size=5, seed=0)
    >>> policy.num_actions
    4
    """

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Array:
        context = self._context(time_step.observation)
        return self._means(learned, context) + self._stds(learned, context)


class DisjointLinearThompsonSamplingPolicy(DisjointLinearPolicy):
    """Draws a linear model for every row and action and chooses the action that looks best.

        argmax_a  theta'[a] . x,    theta'[a] ~ N(theta[a], alpha^2 A[a]^-1)

    The models of two actions are independent, so it draws the products directly.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1; TF-Agents' `LinearThompsonSamplingAgent`.

    >>> spec = ArraySpec((3,), np.float32)
    >>> sizes = {"observation_spec": spec, "num_actions": 4, "batch_size": 5}
    >>> DisjointLinearThompsonSamplingPolicy(**sizes, seed=0).num_actions
    4
    """

    def _select(
        self, rng: np.random.Generator, learned: RidgeModels, time_step: TimeStep
    ) -> NDArray[np.integer]:
        context = self._context(time_step.observation)
        scores = rng.standard_normal((self._batch_size, self._num_actions))
        scores *= self._stds(learned, context)
        scores += self._means(learned, context)
        return argmax_random_ties(rng, scores, self._available(time_step.observation))


class DisjointLinearEpsilonGreedyPolicy(IndexPolicy, DisjointLinearPolicy):
    """Chooses the action whose own linear model predicts most, or with probability epsilon any.

        argmax_a  theta[a] . x    with probability 1 - epsilon

    Args:
        epsilon: probability of a uniformly random action, from 0 to 1.
        gamma, tikhonov_weight, observation_spec, num_actions, batch_size, seed: as for
            `DisjointLinearPolicy`.

    Source: Sutton & Barto, 2nd ed., section 2.2.

    >>> spec = ArraySpec((3,), np.float32)
    >>> sizes = {"observation_spec": spec, "num_actions": 4, "batch_size": 5}
    >>> DisjointLinearEpsilonGreedyPolicy(0.1, **sizes, seed=0).num_actions
    4
    """

    def __init__(
        self,
        epsilon: float,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        num_actions: int,
        batch_size: int = 1,
        seed: Seed = None,
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        super().__init__(
            0.0,
            gamma,
            tikhonov_weight,
            observation_spec=observation_spec,
            num_actions=num_actions,
            batch_size=batch_size,
            seed=seed,
        )

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Array:
        return self._means(learned, self._context(time_step.observation))


def add_rows(factor: Array, model: NDArray[np.intp], rows: Array) -> None:
    """Adds rows to the least-squares problems of several models, in place.

    With R of `factor` and the rows x of one model: R'^T R' = R^T R + sum x^T x, by QR.

    Args:
        factor: [K, D, N], D <= N; the first D columns become upper triangular.
        model: [n], the model of each row.
        rows: [n, N].
    """
    dim, width = factor.shape[1:]
    order = model.argsort(kind="stable")
    model, rows = model[order], rows[order]
    rank = np.arange(len(model)) - np.searchsorted(model, model)  # of a row among its model's
    while len(model):
        # All models at once, in blocks of as many rows. With twice the mean, fewer than half of the
        # models have rows left for the next round.
        models, place = np.unique(model, return_inverse=True)
        block = min(rank.max() + 1, -(-2 * len(model) // len(models)))
        now, later = rank < block, rank >= block
        problem = np.zeros((len(models), dim + block, width))
        problem[:, :dim] = factor[models]
        problem[place[now], dim + rank[now]] = rows[now]
        triangle: Any = np.linalg.qr(problem, mode="r")
        factor[models] = triangle[:, :dim]
        model, rows, rank = model[later], rows[later], rank[later] - block
