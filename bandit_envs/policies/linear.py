"""Contextual policies with one linear model of the reward, shared by all rows and actions."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.nests import Nest
from bandit_envs.policies.features import ItemReader, item_products
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import BatchOptions
from bandit_envs.policies.predicting import PredictingPolicy
from bandit_envs.policies.ridge import RidgeModels, check_ridge
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class LinearPolicy(PredictingPolicy):
    """A policy with one ridge regression of the reward on features of the context and the actions.

        r ~ theta . x,    x = [global, per_arm] of the action

    The observation has the keys `global` [B, G] and `per_arm` [B, K, P], or nests of arrays
    [B, ...] and [B, K, ...], which are flattened and joined in their order. With G global features
    and P of an action, x has D = G + P. The model is shared: each step teaches it all rows. The
    rewards of a slate [B, S] are those of its S actions.

    A subclass says how to choose: it also derives from `IndexPolicy` or `ThompsonSamplingPolicy`,
    or implements `_probabilities`. It asks `_means` or `_means_and_deviations` for predictions.

    Args:
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment, whose number of actions it tells.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    learns_by_row = False

    def __init__(
        self,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._gamma, self._tikhonov_weight = check_ridge(gamma, tikhonov_weight)
        self._items = ItemReader(observation_spec)
        super().__init__(num_actions=self._items.num_actions, **options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {"observation_spec": env.observation_spec(), "batch_size": env.batch_size}

    def _state_key(self) -> dict[str, int | None]:
        return {
            **super()._state_key(),
            "global_dim": self._items.global_dim,
            "arm_dim": self._items.arm_dim,
        }

    def _initial(self) -> RidgeModels:
        dim = self._items.global_dim + self._items.arm_dim
        return RidgeModels.initial(1, dim, self._tikhonov_weight)

    def _learn(self, learned: RidgeModels, trajectory: Trajectory) -> RidgeModels:
        features = self._items.read_chosen(trajectory.observation, trajectory.action)
        learned.update(
            model=np.zeros(len(features), np.intp),
            features=features,
            rewards=trajectory.reward.reshape(-1),
            gamma=self._gamma,
            tikhonov_weight=self._tikhonov_weight,
        )
        return learned

    def _means(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        """Returns theta . x of every action: [B, K]."""
        context, actions = self._items.read(time_step.observation, self.batch_size)
        return item_products(learned.theta, context, actions)

    def _means_and_deviations(
        self, learned: RidgeModels, time_step: TimeStep
    ) -> tuple[Floats, Floats]:
        """Returns theta . x and sqrt(x . A^-1 x) of every action: [B, K] each."""
        context, actions = self._items.read(time_step.observation, self.batch_size)
        dim = self._items.global_dim
        (whitening,) = learned.whitening
        of_context = context @ whitening[:, :dim].T
        flat = actions.reshape(self.batch_size * self.num_actions, self._items.arm_dim)
        whitened = (flat @ whitening[:, dim:].T).reshape(*self._table_shape, len(whitening))
        whitened += of_context[:, np.newaxis]
        deviations = np.sqrt(np.einsum("bkd,bkd->bk", whitened, whitened))
        return item_products(learned.theta, context, actions), deviations

    def _interval(
        self, learned: RidgeModels, time_step: TimeStep, radius: float
    ) -> tuple[Floats, Floats]:
        means, deviations = self._means_and_deviations(learned, time_step)
        return means - radius * deviations, means + radius * deviations


class LinUCBPolicy(IndexPolicy, LinearPolicy):
    """Chooses the action with the largest upper confidence bound of a linear model.

        argmax_a  theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1 with one model for all arms; TF-Agents' `LinearUCBAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinUCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        means, deviations = self._means_and_deviations(learned, time_step)
        return means + self._alpha * deviations


class LinearThompsonSamplingPolicy(ThompsonSamplingPolicy, LinearPolicy):
    """Draws a linear model for every row and chooses the action of which it predicts most.

        argmax_a  theta' . x_a,    theta' ~ N(theta, alpha^2 A^-1)

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1. TF-Agents' `LinearThompsonSamplingAgent` draws each arm's mean by itself instead.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearThompsonSamplingPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _draw_values(self, rng: Rng, learned: RidgeModels, time_step: TimeStep) -> Floats:
        context, actions = self._items.read(time_step.observation, self.batch_size)
        (whitening,) = learned.whitening
        noise = rng.standard_normal((self.batch_size, len(whitening))) @ whitening
        return item_products(learned.theta + self._alpha * noise, context, actions)


class LinearEpsilonGreedyPolicy(IndexPolicy, LinearPolicy):
    """Chooses the action with the largest theta . x, or with probability epsilon any action.

        argmax_a  theta . x_a    with probability 1 - epsilon

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., section 2.2, with the model of `LinearPolicy`.

    >>> from bandit_envs import ArraySpec
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
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        return self._means(learned, time_step)
