"""Contextual policies with one linear model of the reward for each action."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.policies.predicting import PredictingPolicy
from bandit_envs.policies.ridge import RidgeModels, check_ridge
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class DisjointLinearPolicy(PredictingPolicy):
    """A policy with a ridge regression of the reward on the context for each action.

        r ~ theta[a] . x,    theta[a] = A[a]^-1 b[a]

        A[a] = tikhonov_weight I + sum gamma^t x x^T,    b[a] = sum gamma^t r x

    The context x [D] is the observation, or the entry `observation` of one with a mask. The arrays
    of a nest are flattened and joined in their order. The sums are over all rows, of t learned
    trajectories ago, whose action was a: all rows share the models. The regularisation does not
    decay.

    A subclass says how to choose: it also derives from `IndexPolicy` or `ThompsonSamplingPolicy`,
    or implements `_probabilities`. It asks `_means` or `_means_and_deviations` for predictions.

    Args:
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    learns_by_row = False

    def __init__(
        self,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._gamma, self._tikhonov_weight = check_ridge(gamma, tikhonov_weight)
        self._context = ContextReader(observation_spec)
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self) -> RidgeModels:
        return RidgeModels.initial(self.num_actions, self._context.dim, self._tikhonov_weight)

    def _learn(self, learned: RidgeModels, trajectory: Trajectory) -> RidgeModels:
        learned.update(
            model=trajectory.action,
            features=self._context.read(trajectory.observation, len(trajectory.action)),
            rewards=trajectory.reward,
            gamma=self._gamma,
            tikhonov_weight=self._tikhonov_weight,
        )
        return learned

    def _means(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        """Returns theta[a] . x of every action: [B, K]."""
        context = self._context.read(time_step.observation, self.batch_size)
        return np.asarray(context @ learned.theta.T)

    def _means_and_deviations(
        self, learned: RidgeModels, time_step: TimeStep
    ) -> tuple[Floats, Floats]:
        """Returns theta[a] . x and sqrt(x . A[a]^-1 x) of every action: [B, K] each."""
        context = self._context.read(time_step.observation, self.batch_size)
        return learned.means_and_deviations(context)

    def _interval(
        self, learned: RidgeModels, time_step: TimeStep, radius: float
    ) -> tuple[Floats, Floats]:
        means, deviations = self._means_and_deviations(learned, time_step)
        return means - radius * deviations, means + radius * deviations


class DisjointLinUCBPolicy(IndexPolicy, DisjointLinearPolicy):
    """Chooses the action whose own linear model has the largest upper confidence bound.

        argmax_a  theta[a] . x + alpha * sqrt(x^T A[a]^-1 x)

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment; `DisjointLinearPolicy` says how it reads the context.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1; TF-Agents' `LinearUCBAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinUCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        means, deviations = self._means_and_deviations(learned, time_step)
        return means + self._alpha * deviations


class DisjointLinearThompsonSamplingPolicy(ThompsonSamplingPolicy, DisjointLinearPolicy):
    """Draws a prediction for each row and action and chooses the largest available one.

        argmax_a  v[a],    v[a] ~ N(theta[a] . x, alpha^2 x . A[a]^-1 x)

    That is the same as drawing a model theta'[a] ~ N(theta[a], alpha^2 A[a]^-1) for each row and
    action, because the models are independent. Ties are broken at random. The probabilities of
    actions have no closed form: use `estimated_probabilities`.

    Args:
        alpha: the scale of the standard deviations, at least 0; 0 is greedy.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment; `DisjointLinearPolicy` says how it reads the context.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1, with a model for each action; TF-Agents' `LinearThompsonSamplingAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _draw_values(self, rng: Rng, learned: RidgeModels, time_step: TimeStep) -> Floats:
        means, deviations = self._means_and_deviations(learned, time_step)
        return draw_normal(rng, means, self._alpha * deviations)


class DisjointLinearEpsilonGreedyPolicy(IndexPolicy, DisjointLinearPolicy):
    """Chooses the action whose own linear model predicts most, or with probability epsilon any.

        argmax_a  theta[a] . x    with probability 1 - epsilon

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment; `DisjointLinearPolicy` says how it reads the context.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., section 2.2.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearEpsilonGreedyPolicy(0.1, observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        epsilon: float,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        return self._means(learned, time_step)
