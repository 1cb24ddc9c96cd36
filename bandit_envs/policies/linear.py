"""Contextual policies with one linear model of the reward, shared by all rows and arms."""

from __future__ import annotations

import abc
import math
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import NUMBERS, Floats, Rng, as_numbers
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_number, check_positive
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.policies.ridge import RidgeModels
from bandit_envs.rewards.contextual import join_features
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import TimeStep, Trajectory


class RegressionPolicy(Policy):
    """A policy with regressions of the reward on features, which learns from all rows at once.

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: of the regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    learns_by_row = False

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
        self._gamma = check_number("gamma", gamma, 0.0, 1.0)
        bounds = MIN_STD, MAX_PARAMETER
        self._tikhonov_weight = check_positive("tikhonov_weight", tikhonov_weight, *bounds)
        super().__init__(**self._read_spec(observation_spec), **options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    @abc.abstractmethod
    def _read_spec(self, observation_spec: Nest) -> dict[str, int]:
        """Keeps the sizes of the features; returns the arguments of `Policy` that follow."""

    @abc.abstractmethod
    def _features(self, observation: Nest) -> Any:
        """Returns the features of an observation, or raises ValueError."""

    @abc.abstractmethod
    def _samples(self, trajectory: Trajectory) -> tuple[NDArray[Any], Floats, NDArray[Any]]:
        """Returns the model of each sample [B, ...], features [B, ..., D] and rewards [B, ...]."""

    def _fit(self, learned: Any, model: NDArray[Any], features: Floats, rewards: Any) -> Any:
        """Returns what the policy knows after so many samples: [n], [n, D] and [n]."""
        learned.update(model, features, rewards, self._gamma, self._tikhonov_weight)
        return learned

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        model, features, rewards = self._samples(trajectory)
        rows = features.reshape(model.size, features.shape[-1])
        return self._fit(learned, model.ravel(), rows, rewards.ravel())

    @abc.abstractmethod
    def _means(self, theta: Floats, features: Any) -> Floats:
        """Returns theta . x of every action: [B, K]."""

    def _joined(self, features: Nest, spec: Nest, size: int, leading: int = 0) -> NDArray[Any]:
        """Returns features of `size` rows, flattened after the leading dimensions and joined."""

        def check(leaf: ArraySpec, features: Any) -> NDArray[Any]:
            array = as_numbers("found", features)
            if array.shape != (size, *leaf.shape):
                raise ValueError(f"found shape {array.shape}; expected {(size, *leaf.shape)}")
            return array

        try:
            return join_features(map_structure(check, spec, features), 1 + leading)
        except (TypeError, ValueError) as error:
            raise ValueError(f"observation has bad features: {error}") from None


def shape_of_joined(spec: Nest, leading: int = 0) -> tuple[int, ...]:
    """Returns the shape of a row's features, joined; ValueError if they cannot be."""
    leaves = flatten(spec)
    if all(isinstance(leaf, ArraySpec) and leaf.dtype.kind in NUMBERS for leaf in leaves):
        shapes = {leaf.shape[:leading] for leaf in leaves}
        if len(shapes) == 1 and len(first := shapes.pop()) == leading:
            return *first, sum(math.prod(leaf.shape[leading:]) for leaf in leaves)
    raise ValueError("expected arrays of numbers")


def as_finite(features: NDArray[Any]) -> Floats:
    """Returns features as float64; ValueError if one is NaN or too large."""
    floats = features.astype(np.float64, copy=False)
    # A sum of squares within bounds proves all of them good. In a narrow dtype, it may overflow.
    is_finite = float(np.vdot(features, features)) < MAX_REWARD
    if not (is_finite or float(np.vdot(floats, floats)) < MAX_REWARD):
        raise ValueError("observation has features that are NaN, infinite or too large")
    return floats


class EpsilonGreedyRegression(IndexPolicy, RegressionPolicy):
    """Chooses the largest estimate, or with probability epsilon any action."""

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
        super().__init__(0.0, gamma, tikhonov_weight, observation_spec=observation_spec, **options)

    def _scores(self, learned: Any, time_step: TimeStep) -> Floats:
        return self._means(learned.theta, self._features(time_step.observation))


class LinearPolicy(RegressionPolicy):
    """A policy with one ridge regression of the reward on features of the context and the arms.

        r ~ theta . x,    x = [global, per_arm] of the arm chosen

    The observation has the keys `global` [B, G] and `per_arm` [B, K, P], or nests of arrays
    [B, ...] and [B, K, ...], which are flattened and joined in their order. With G global features
    and P of an arm, x has D = G + P.
    """

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {"observation_spec": env.observation_spec(), "batch_size": env.batch_size}

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "global_dim": self._global_dim, "arm_dim": self._arm_dim}

    def _read_spec(self, observation_spec: Nest) -> dict[str, int]:
        try:
            self._specs = observation_spec["global"], observation_spec["per_arm"]
            (self._global_dim,) = shape_of_joined(self._specs[0])
            num_arms, self._arm_dim = shape_of_joined(self._specs[1], 1)
        except (LookupError, TypeError, ValueError):
            found = f"observation_spec is {observation_spec}"
            expected = "expected global (G,) and per_arm (K, P)"
            raise ValueError(f"{found}; {expected}; disjoint policies take vectors (d,)") from None
        return {"num_actions": num_arms}

    def _initial(self) -> RidgeModels:
        return RidgeModels.initial(1, self._global_dim + self._arm_dim, self._tikhonov_weight)

    def _samples(self, trajectory: Trajectory) -> tuple[NDArray[Any], Floats, NDArray[Any]]:
        context, arms = self._arrays(trajectory.observation, len(trajectory.action))
        chosen = arms[np.arange(len(arms)), trajectory.action]
        model = np.zeros(len(arms), int)
        return model, as_finite(np.hstack((context, chosen))), trajectory.reward

    def _features(self, observation: Nest) -> tuple[Floats, Floats]:
        context, arms = self._arrays(observation, self.batch_size)
        return as_finite(context), as_finite(arms)

    def _arrays(self, observation: Nest, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns the features of the context [B, G] and of the arms [B, K, P]."""
        found = observation if isinstance(observation, Mapping) else {}
        of_context, of_arms = self._specs
        context = self._joined(found.get("global"), of_context, size)
        return context, self._joined(found.get("per_arm"), of_arms, size, 1)

    def _means(self, theta: Floats, features: tuple[Floats, Floats]) -> Floats:
        context, arms = features  # theta is [1, D], or [B, D] with one for each row
        shared, own = theta[:, : self._global_dim], theta[:, self._global_dim :]
        of_context = np.sum(context * shared, axis=-1, keepdims=True)
        return np.asarray(of_context + (arms @ own[..., np.newaxis])[..., 0])


class LinUCBPolicy(IndexPolicy, LinearPolicy):
    """Chooses the arm with the largest upper confidence bound of a linear model.

        argmax_a  theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1 with one model for all arms; TF-Agents' `LinearUCBAgent`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinUCBPolicy(observation_spec=spec).num_actions
    4
    """

    def _scores(self, learned: RidgeModels, time_step: TimeStep) -> Floats:
        # W is lower triangular: the first G components of W x are the same for all arms of a row.
        context, arms = features = self._features(time_step.observation)
        dim, (whitening,) = self._global_dim, learned.whitening
        of_context = context @ whitening[:, :dim].T
        flat = arms.reshape(self.batch_size * self.num_actions, self._arm_dim)
        of_arms = (flat @ whitening[dim:, dim:].T).reshape(arms.shape)
        of_arms += of_context[:, np.newaxis, dim:]
        squared_widths = np.einsum("bkd,bkd->bk", of_arms, of_arms)
        squared_widths += np.square(of_context[:, :dim]).sum(axis=1, keepdims=True)
        widths: Floats = self._alpha * np.sqrt(squared_widths)
        return self._means(learned.theta, features) + widths


class LinearThompsonSamplingPolicy(LinearPolicy):
    """Draws a linear model for every row and chooses the arm of which it predicts most.

        argmax_a  theta' . x_a,    theta' ~ N(theta, alpha^2 A^-1)

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1. TF-Agents' `LinearThompsonSamplingAgent` draws each arm's mean by itself instead.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearThompsonSamplingPolicy(observation_spec=spec).num_actions
    4
    """

    def _select(self, rng: Rng, learned: RidgeModels, time_step: TimeStep) -> NDArray[Any]:
        features = self._features(time_step.observation)
        available = self._available(time_step.observation)
        (whitening,) = learned.whitening
        noise = rng.standard_normal((self.batch_size, len(whitening))) @ whitening
        scores = self._means(learned.theta + self._alpha * noise, features)
        return argmax_random_ties(rng, scores, available)


class LinearEpsilonGreedyPolicy(EpsilonGreedyRegression, LinearPolicy):
    """Chooses the arm with the largest theta . x, or with probability epsilon any arm.

        argmax_a  theta . x_a    with probability 1 - epsilon

    Source: Sutton & Barto, 2nd ed., section 2.2, with the model of `LinearPolicy`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearEpsilonGreedyPolicy(0.1, observation_spec=spec).num_actions
    4
    """
