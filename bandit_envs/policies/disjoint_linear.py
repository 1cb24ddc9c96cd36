"""Contextual policies with one linear model for each action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Rng
from bandit_envs.nests import Nest
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.linear import (
    EpsilonGreedyRegression,
    RegressionPolicy,
    as_finite,
    shape_of_joined,
)
from bandit_envs.policies.ridge import RidgeModels
from bandit_envs.policies.thompson import ThompsonSamplingPolicy, draw_normal
from bandit_envs.trajectories import TimeStep, Trajectory


class ContextPolicy(RegressionPolicy):
    """A policy with a regression for each action, for contexts without features of the arms.

    The context x [D] is the observation, or the entry `observation` of one with a mask. The arrays
    of a nest are flattened and joined in their order.
    """

    def _read_spec(self, observation_spec: Nest) -> dict[str, int]:
        self._spec = _context_of(observation_spec)
        try:
            (self._dim,) = shape_of_joined(self._spec)
        except ValueError as error:
            raise ValueError(f"observation_spec is {observation_spec}; {error}") from None
        return {}

    def _features(self, observation: Nest) -> Floats:
        return self._contexts(observation, self.batch_size)

    def _contexts(self, observation: Nest, size: int) -> Floats:
        return as_finite(self._joined(_context_of(observation), self._spec, size))

    def _samples(self, trajectory: Trajectory) -> tuple[NDArray[Any], Floats, NDArray[Any]]:
        size = len(trajectory.action)
        contexts = self._contexts(trajectory.observation, size)
        return trajectory.action, contexts, trajectory.reward

    def _means(self, theta: Floats, features: Floats) -> Floats:
        return np.asarray(features @ theta.T)


class DisjointLinearPolicy(ContextPolicy):
    """A policy with one ridge regression of the reward for each action.

        r ~ theta[a] . x,    theta[a] = A[a]^-1 b[a]

    The sums A[a] and b[a] are over the rows whose action was a. With gamma < 1, every step decays
    all of them.
    """

    def _initial(self) -> RidgeModels:
        return RidgeModels.initial(self.num_actions, self._dim, self._tikhonov_weight)

    def _posterior(self, learned: RidgeModels, time_step: TimeStep) -> tuple[Floats, Floats]:
        """Returns theta[a] . x and alpha sqrt(x . A[a]^-1 x) of every action: [B, K] each."""
        context = self._features(time_step.observation)
        whitened = context @ learned.whitening.reshape(-1, self._dim).T
        whitened = whitened.reshape(self.batch_size, self.num_actions, self._dim)
        widths = np.sqrt(np.einsum("bkd,bkd->bk", whitened, whitened))
        return self._means(learned.theta, context), self._alpha * widths


class DisjointLinUCBPolicy(IndexPolicy, DisjointLinearPolicy):
    """Chooses the action whose own linear model has the largest upper confidence bound.

        argmax_a  theta[a] . x + alpha * sqrt(x^T A[a]^-1 x)

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1; TF-Agents' `LinearUCBAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinUCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        means, widths = self._posterior(learned, time_step)
        return means + widths


class DisjointLinearThompsonSamplingPolicy(DisjointLinearPolicy, ThompsonSamplingPolicy):
    """Draws a linear model for every row and action and chooses the action that looks best.

        argmax_a  theta'[a] . x,    theta'[a] ~ N(theta[a], alpha^2 A[a]^-1)

    The models of two actions are independent, so it draws the products directly.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1; TF-Agents' `LinearThompsonSamplingAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def _draw_values(self, rng: Rng, learned: RidgeModels, time_step: TimeStep) -> Floats:
        return draw_normal(rng, *self._posterior(learned, time_step))


class DisjointLinearEpsilonGreedyPolicy(EpsilonGreedyRegression, DisjointLinearPolicy):
    """Chooses the action whose own linear model predicts most, or with probability epsilon any.

        argmax_a  theta[a] . x    with probability 1 - epsilon

    Source: Sutton & Barto, 2nd ed., section 2.2.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearEpsilonGreedyPolicy(0.1, observation_spec=spec, num_actions=4).num_actions
    4
    """


def _context_of(observation: Nest) -> Any:
    is_masked = isinstance(observation, Mapping) and "observation" in observation
    return observation["observation"] if is_masked else observation
