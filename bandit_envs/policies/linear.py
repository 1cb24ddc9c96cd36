"""Contextual policies with one linear model of the reward, shared by all rows and arms."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number, check_positive
from bandit_envs.policies.linear_model import LinearModel
from bandit_envs.policies.policy import Policy, argmax_random_ties
from bandit_envs.specs import ArraySpec
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep, Trajectory


class LinearPolicy(Policy, abc.ABC):
    """A policy with a linear model of the reward, which learns from all rows at once.

    Of the features x = [global, per_arm] of the arms chosen and their rewards r, it keeps

        A     = sum x x^T + tikhonov_weight I,    theta = A^-1 sum r x

    where gamma < 1 gives what was seen t steps ago the weight gamma^t. `LinearModel` says why this
    stays accurate however many updates there are.

    A row's actions are 0 to its `num_actions` - 1 if the observation has that key.

    Shapes:
        B: batch_size.
        K: arms of an observation.
        G, P, D: global features, features of an arm, and both: D = G + P.

    Args:
        gamma: forgetting factor, from 0 to 1; 1 forgets nothing.
        tikhonov_weight: of the regularisation, above 0.
        observation_spec: of the environment: `global` (G,) and `per_arm` (K, P).
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: a number is out of its range, or `observation_spec` has other keys or shapes.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept.
    """

    def __init__(
        self,
        gamma: float,
        tikhonov_weight: float,
        observation_spec: Mapping[str, ArraySpec],
        batch_size: int,
        seed: Seed,
    ) -> None:
        self._gamma = check_number("gamma", gamma, 0.0, 1.0)
        self._tikhonov_weight = check_positive("tikhonov_weight", tikhonov_weight)
        self._global_dim, arms, arm_dim = _dimensions(observation_spec)
        self._dim = self._global_dim + arm_dim
        super().__init__(arms, batch_size, seed)

    @classmethod
    def sizes(cls, env: Any) -> dict[str, Any]:
        return {"observation_spec": env.observation_spec(), "batch_size": env.batch_size}

    def _sizes(self) -> dict[str, int | None]:
        return {**super()._sizes(), "global_dim": self._global_dim, "dim": self._dim}

    def _initial(self) -> LinearModel:
        return LinearModel.initial(self._dim, self._tikhonov_weight)

    def _select(
        self, rng: np.random.Generator, learned: LinearModel, time_step: TimeStep
    ) -> NDArray[np.integer]:
        observation = time_step.observation
        scores = self._scores(rng, learned, observation["global"], observation["per_arm"])
        available = observation.get("num_actions")
        if available is not None:
            scores[np.arange(self._num_actions) >= available[:, np.newaxis]] = -np.inf
        return self._choose(rng, scores, self._num_actions if available is None else available)

    def _learn(self, learned: LinearModel, trajectory: Trajectory) -> LinearModel:
        observation = trajectory.observation
        chosen = observation["per_arm"][self._rows, trajectory.action]
        features = np.concatenate((observation["global"], chosen), axis=1, dtype=np.float64)
        return learned.updated(features, trajectory.reward, self._gamma, self._tikhonov_weight)

    def _means(
        self, theta: NDArray[np.float64], context: NDArray[Any], arms: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Returns theta . x of every arm: [B, K], for a theta [D] or one for each row [B, D]."""
        shared, own = theta[..., : self._global_dim], theta[..., self._global_dim :]
        of_context = np.sum(context * shared, axis=-1, keepdims=True)
        return np.asarray(of_context + (arms @ own[..., np.newaxis])[..., 0])

    def _choose(
        self, rng: np.random.Generator, scores: NDArray[np.float64], available: Any
    ) -> NDArray[np.integer]:
        return argmax_random_ties(rng, scores)

    @abc.abstractmethod
    def _scores(
        self,
        rng: np.random.Generator,
        learned: LinearModel,
        context: NDArray[Any],
        arms: NDArray[Any],
    ) -> NDArray[np.float64]:
        """Returns how good each arm looks: [B, K], of `context` [B, G] and `arms` [B, K, P]."""


class LinUCBPolicy(LinearPolicy):
    """Chooses the arm with the largest upper confidence bound of a linear model.

        argmax_a  theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    theta and A are those of `LinearPolicy`, x_a is the global and the arm's features together.

    Args:
        alpha: width of the confidence bound, at least 0.
        gamma: forgetting factor, from 0 to 1; 1 forgets nothing.
        tikhonov_weight: of the regularisation, above 0.
        observation_spec: of the environment: `global` (G,) and `per_arm` (K, P).
        batch_size: B, the number of rows.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: a number is out of its range, or `observation_spec` has other keys or shapes.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1 with one model for all arms; TF-Agents' `LinearUCBAgent`.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> policy = LinUCBPolicy(1.0, observation_spec=spec, batch_size=5, seed=0)
    >>> policy.num_actions
    4
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
        self._alpha = check_number("alpha", alpha, minimum=0.0)
        super().__init__(gamma, tikhonov_weight, observation_spec, batch_size, seed)

    def _scores(
        self,
        rng: np.random.Generator,
        learned: LinearModel,
        context: NDArray[Any],
        arms: NDArray[Any],
    ) -> NDArray[np.float64]:
        # W is lower triangular: the first G components of W x are the same for all arms of a row.
        dim, whitening = self._global_dim, learned.whitening
        of_context = context @ whitening[:, :dim].T
        rows, num_arms, arm_dim = arms.shape
        of_arms = arms.reshape(rows * num_arms, arm_dim) @ whitening[dim:, dim:].T
        of_arms = of_arms.reshape(arms.shape) + of_context[:, np.newaxis, dim:]
        squares = np.einsum("bkp,bkp->bk", of_arms, of_arms)
        squares += np.sum(of_context[:, :dim] ** 2, axis=1, keepdims=True)
        means = self._means(learned.theta, context, arms)
        return np.asarray(means + self._alpha * np.sqrt(squares))


class LinearThompsonSamplingPolicy(LinearPolicy):
    """Draws a model from the posterior for each row and chooses the arm that is best under it.

        theta' ~ N(theta, alpha^2 A^-1),    argmax_a  theta' . x_a

    With rewards of noise N(0, s^2) and a prior theta ~ N(0, s^2 / tikhonov_weight I), alpha = s
    makes this the posterior.

    Args:
        alpha: scale of the posterior's standard deviation, at least 0.
        gamma: forgetting factor, from 0 to 1; 1 forgets nothing.
        tikhonov_weight: of the regularisation, above 0.
        observation_spec: of the environment: `global` (G,) and `per_arm` (K, P).
        batch_size: B, the number of rows.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: a number is out of its range, or `observation_spec` has other keys or shapes.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1. TF-Agents' `LinearThompsonSamplingAgent` draws each arm's mean by itself instead.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> policy = LinearThompsonSamplingPolicy(1.0, observation_spec=spec, batch_size=5, seed=0)
    >>> policy.num_actions
    4
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
        self._alpha = check_number("alpha", alpha, minimum=0.0)
        super().__init__(gamma, tikhonov_weight, observation_spec, batch_size, seed)

    def _scores(
        self,
        rng: np.random.Generator,
        learned: LinearModel,
        context: NDArray[Any],
        arms: NDArray[Any],
    ) -> NDArray[np.float64]:
        noise = rng.standard_normal((len(context), self._dim)) @ learned.whitening
        return self._means(learned.theta + self._alpha * noise, context, arms)


class LinearEpsilonGreedyPolicy(LinearPolicy):
    """Chooses the arm that a linear model likes best, or with probability epsilon any arm.

        argmax_a  theta . x_a    with probability 1 - epsilon

    Args:
        epsilon: probability of a uniformly random arm, from 0 to 1.
        gamma: forgetting factor, from 0 to 1; 1 forgets nothing.
        tikhonov_weight: of the regularisation, above 0.
        observation_spec: of the environment: `global` (G,) and `per_arm` (K, P).
        batch_size: B, the number of rows.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: a number is out of its range, or `observation_spec` has other keys or shapes.

    Source: Sutton & Barto, 2nd ed., section 2.2, with the model of `LinearPolicy`.

    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> policy = LinearEpsilonGreedyPolicy(0.1, observation_spec=spec, batch_size=5, seed=0)
    >>> policy.num_actions
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
        super().__init__(gamma, tikhonov_weight, observation_spec, batch_size, seed)

    def _scores(
        self,
        rng: np.random.Generator,
        learned: LinearModel,
        context: NDArray[Any],
        arms: NDArray[Any],
    ) -> NDArray[np.float64]:
        return self._means(learned.theta, context, arms)

    def _choose(
        self, rng: np.random.Generator, scores: NDArray[np.float64], available: Any
    ) -> NDArray[np.integer]:
        greedy = argmax_random_ties(rng, scores)
        explores = rng.random(self._batch_size) < self._epsilon
        return np.where(explores, rng.integers(available, size=self._batch_size), greedy)


def _dimensions(observation_spec: Mapping[str, ArraySpec]) -> tuple[int, int, int]:
    """Returns G, K and P."""
    try:
        (global_dim,) = observation_spec["global"].shape
        arms, arm_dim = observation_spec["per_arm"].shape
    except (TypeError, KeyError, ValueError):
        raise ValueError(
            f"observation_spec is {observation_spec}; expected global (G,) and per_arm (K, P)"
        ) from None
    return global_dim, arms, arm_dim
