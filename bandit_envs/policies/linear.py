"""Contextual policies with one linear model of the reward, shared by all rows and arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import NUMBERS
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_number, check_positive
from bandit_envs.base.state import Seed
from bandit_envs.policies.linear_model import LinearModel
from bandit_envs.policies.policy import Floats, IndexPolicy, Policy, Rng, argmax_random_ties
from bandit_envs.specs import ArraySpec, Nest
from bandit_envs.trajectories import TimeStep, Trajectory


class LinearPolicy(Policy):
    """A policy with a `LinearModel` of the reward, which learns from all rows at once.

        r ~ theta . x,    x = [global, per_arm] of the arm chosen

    Shapes:
        K: the arms of an observation.
        G, P, D: global features, features of an arm, and both: D = G + P.

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: of the regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: `global` (G,) and `per_arm` (K, P).
        batch_size: the number of rows.
        seed: as for every policy.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Mapping[str, ArraySpec],
        batch_size: int = 1,
        seed: Seed = None,
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        self._gamma = check_number("gamma", gamma, 0.0, 1.0)
        bounds = MIN_STD, MAX_PARAMETER
        self._tikhonov_weight = check_positive("tikhonov_weight", tikhonov_weight, *bounds)
        try:
            (self._global_dim,) = observation_spec["global"].shape
            num_arms, self._arm_dim = observation_spec["per_arm"].shape
        except (AttributeError, LookupError, TypeError, ValueError):
            raise ValueError(
                f"observation_spec is {observation_spec}; expected global (G,) and per_arm (K, P)"
            ) from None
        super().__init__(num_arms, batch_size, seed)

    @classmethod
    def sizes(cls, env: Any) -> dict[str, Any]:
        return {"observation_spec": env.observation_spec(), "batch_size": env.batch_size}

    def _sizes(self) -> dict[str, int | None]:
        return {**super()._sizes(), "global_dim": self._global_dim, "arm_dim": self._arm_dim}

    def _initial(self) -> LinearModel:
        return LinearModel.initial(self._global_dim + self._arm_dim, self._tikhonov_weight)

    def _learn(self, learned: LinearModel, trajectory: Trajectory) -> LinearModel:
        context, arms = self._features(trajectory.observation)
        chosen = arms[np.arange(self._batch_size), trajectory.action]
        features = np.concatenate((context, chosen), axis=1, dtype=np.float64)
        if not np.vdot(features, features) < MAX_REWARD:
            raise ValueError("observation has features that are NaN or too large")
        return learned.updated(features, trajectory.reward, self._gamma, self._tikhonov_weight)

    def _features(self, observation: Nest) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns the features of the context [B, G] and of the arms [B, K, P]."""
        try:
            context, arms = np.asarray(observation["global"]), np.asarray(observation["per_arm"])
        except (LookupError, TypeError):
            raise ValueError("observation does not have the keys global and per_arm") from None
        shapes = (self._batch_size, self._global_dim), (*self._table_shape, self._arm_dim)
        kind = np.result_type(context, arms).kind
        if (context.shape, arms.shape) != shapes or kind not in NUMBERS:
            raise ValueError(
                f"observation has global {context.shape} and per_arm {arms.shape}; "
                f"expected numbers of shapes {shapes[0]} and {shapes[1]}"
            )
        return context, arms

    def _means(self, theta: Floats, context: NDArray[Any], arms: NDArray[Any]) -> Floats:
        """Returns theta . x of every arm: [B, K], for a theta [D] or one for each row [B, D]."""
        shared, own = theta[..., : self._global_dim], theta[..., self._global_dim :]
        of_context = np.sum(context * shared, axis=-1, keepdims=True)
        return np.asarray(of_context + (arms @ own[..., np.newaxis])[..., 0])


class LinUCBPolicy(IndexPolicy, LinearPolicy):
    """Chooses the arm with the largest upper confidence bound of a linear model.

        argmax_a  theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1 with one model for all arms; TF-Agents' `LinearUCBAgent`.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinUCBPolicy(observation_spec=spec).num_actions
    4
    """

    def _scores(self, learned: LinearModel, time_step: TimeStep) -> Floats:
        # W is lower triangular: the first G components of W x are the same for all arms of a row.
        context, arms = self._features(time_step.observation)
        dim, whitening = self._global_dim, learned.whitening
        of_context = context @ whitening[:, :dim].T
        flat = arms.reshape(self._batch_size * self._num_actions, self._arm_dim)
        of_arms = (flat @ whitening[dim:, dim:].T).reshape(arms.shape)
        of_arms += of_context[:, np.newaxis, dim:]
        squared_widths = np.einsum("bkd,bkd->bk", of_arms, of_arms)
        squared_widths += np.square(of_context[:, :dim]).sum(axis=1, keepdims=True)
        means = self._means(learned.theta, context, arms)
        return np.asarray(means + self._alpha * np.sqrt(squared_widths))


class LinearThompsonSamplingPolicy(LinearPolicy):
    """Draws a linear model for every row and chooses the arm that it likes best.

        argmax_a  theta' . x_a,    theta' ~ N(theta, alpha^2 A^-1)

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1. TF-Agents' `LinearThompsonSamplingAgent` draws each arm's mean by itself instead.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearThompsonSamplingPolicy(observation_spec=spec).num_actions
    4
    """

    def _select(self, rng: Rng, learned: LinearModel, time_step: TimeStep) -> NDArray[Any]:
        context, arms = self._features(time_step.observation)
        available = self._available(time_step.observation)
        noise = rng.standard_normal((self._batch_size, len(learned.theta))) @ learned.whitening
        scores = self._means(learned.theta + self._alpha * noise, context, arms)
        return argmax_random_ties(rng, scores, available)


class LinearEpsilonGreedyPolicy(IndexPolicy, LinearPolicy):
    """Chooses the arm with the largest theta . x, or with probability epsilon any arm.

    Args:
        epsilon: probability of a uniformly random arm.
        gamma, tikhonov_weight, observation_spec, batch_size, seed: as for `LinearPolicy`.

    Source: Sutton & Barto, 2nd ed., section 2.2, with the model of `LinearPolicy`.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearEpsilonGreedyPolicy(0.1, observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        epsilon: float,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Mapping[str, ArraySpec],
        batch_size: int = 1,
        seed: Seed = None,
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        sizes = {"observation_spec": observation_spec, "batch_size": batch_size, "seed": seed}
        super().__init__(0.0, gamma, tikhonov_weight, **sizes)

    def _scores(self, learned: LinearModel, time_step: TimeStep) -> Floats:
        return self._means(learned.theta, *self._features(time_step.observation))
