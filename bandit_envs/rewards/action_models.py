"""Reward models of contexts without features of the arms: a distribution for every action."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Rng, as_numbers, check_array, take_actions
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_number,
    check_parameters,
    check_table,
    short_repr,
)
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.specs import ArraySpec


class ActionRewardModel(abc.ABC):
    """The distribution of the reward of each of K actions, given a context.

    A subclass implements `draw`, and `mean` if it is known; neither changes its arguments.

    Args:
        num_actions: K.
        spec: of one reward, of shape (), or (R,) for R rewards at a time.
    """

    def __init__(self, num_actions: int, spec: ArraySpec) -> None:
        self.num_actions = num_actions
        self.spec = spec

    def mean(self, context: Array) -> Array:
        """Returns the mean reward of every action: [B, K] or [B, K, R], for contexts [B, d]."""
        raise NotImplementedError(f"{type(self).__name__} does not know the means of its rewards")

    @abc.abstractmethod
    def draw(self, rng: Rng, context: Array, action: Indices) -> Array:
        """Draws the rewards of actions [B] in contexts [B, d]: [B] or [B, R]."""


class LinearActionReward(ActionRewardModel):
    """Rewards linear in the context, with normal noise.

        R ~ N(x . theta[a], noise_std^2)

    Each reward draws one float32 normal, even if `noise_std` is 0.

    Args:
        theta: [K, d], the weights of each action; or [K, d, R] for R rewards at a time.
        noise_std: the standard deviation of the noise, at least 0.

    Source: TF-Agents' `LinearNormalReward` and `LinearNormalMultipleRewards`.

    >>> reward = LinearActionReward([[1.0, 0.0], [0.0, 2.0]], noise_std=0.0)
    >>> reward.mean(np.array([[3.0, 4.0]]))  # one context, two actions
    array([[3., 8.]])
    """

    def __init__(self, theta: ArrayLike, noise_std: float = 1.0) -> None:
        (array,) = check_parameters(theta=(theta, -MAX_PARAMETER, MAX_PARAMETER))
        if array.ndim not in (2, 3):
            raise ValueError(f"theta has shape {array.shape}; expected (K, d) or (K, d, R)")
        self._shape = array.shape[:1] + array.shape[2:]
        self._columns = np.moveaxis(array, 1, 0).reshape(array.shape[1], -1)
        self._narrow_columns = self._columns.astype(np.float32)
        std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)
        self._noise_std = np.array(std, np.float32)  # for ufuncs, faster than Python's numbers
        super().__init__(len(array), ArraySpec(self._shape[1:], np.float32, "reward"))

    def mean(self, context: Array) -> Array:
        columns = self._narrow_columns if context.dtype.char == "f" else self._columns
        means = _linear_score(context, columns)  # [B, K * R]
        return means if means.shape[1:] == self._shape else means.reshape(-1, *self._shape)

    def draw(self, rng: Rng, context: Array, action: Indices) -> Array:
        # From the means, so that without noise a reward equals its mean exactly.
        means = take_actions(self.mean(context), action)
        rewards: Array = rng.standard_normal(means.shape, np.float32)
        rewards *= self._noise_std
        rewards += means
        return rewards


class LogisticActionReward(ActionRewardModel):
    """Rewards of 0 or 1, such as clicks, whose logit is linear in the context.

        P(R = 1) = 1 / (1 + exp(-(x . theta[a] + intercept[a])))

    Each reward draws one uniform number.

    Args:
        theta: [K, d], the weights of each action.
        intercept: [K], the logit of each action where x is 0.

    >>> reward = LogisticActionReward([[1.0, 0.0], [0.0, 2.0]], intercept=[0.0, -8.0])
    >>> reward.mean(np.array([[0.0, 4.0]]))  # one context, two actions
    array([[0.5, 0.5]])
    """

    def __init__(self, theta: ArrayLike, intercept: ArrayLike) -> None:
        weights = check_table("theta", theta, ndim=2)
        self._intercept = check_table("intercept", intercept, ndim=1)
        if len(self._intercept) != len(weights):
            expected = f"{len(weights)}, one for each action of theta"
            raise ValueError(f"intercept has {len(self._intercept)} numbers; expected {expected}")
        self._columns = np.ascontiguousarray(weights.T)
        super().__init__(len(weights), CLICK_SPEC)

    def mean(self, context: Array) -> Array:
        return _fast_sigmoid(_linear_score(context, self._columns) + self._intercept)

    def draw(self, rng: Rng, context: Array, action: Indices) -> Array:
        score = take_actions(_linear_score(context, self._columns), action)
        means = _fast_sigmoid(score + self._intercept.take(action))
        return np.asarray(rng.random(len(means)) < means)


def _linear_score(context: Array, columns: Array) -> Array:
    """Returns x . theta[a] for contexts [B, d], with the theta of actions in columns: [B, K]."""
    if context.shape[1] != len(columns):
        expected = f"{context.shape[1]}, one for each feature of the context"
        raise ValueError(f"theta has {len(columns)} weights an action; expected {expected}")
    score: Array = context.dot(columns)
    return score


def _fast_sigmoid(logits: Floats) -> Floats:
    """Returns the sigmoid, by a formula that is 15 times as fast as one that keeps tiny values."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits))


class RowActionReward(ActionRewardModel):
    """Functions of TF-Agents' kind, one for each action, that draw a reward from one context.

    They are called row by row. The means are unknown, and seeds do not reproduce the rewards.

    Args:
        functions: each takes a context [d], which it may keep or change, and returns a number, or a
            list of R numbers: as many as the first function does for the example `context`.
        context: an example, [d].
        name: what messages call the functions.

    >>> reward = RowActionReward([min, max], np.array([3, 4]))
    >>> reward.draw(np.random.default_rng(), np.array([[1, 2], [5, 6]]), np.array([1, 0]))
    array([2, 5])
    """

    def __init__(
        self, functions: Sequence[Callable[[Array], Any]], context: Array, name: str = "functions"
    ) -> None:
        if not isinstance(functions, Sequence) or not all(map(callable, functions)):
            raise TypeError(f"{name} is {short_repr(functions)}; expected functions, or a model")
        self._functions = tuple(functions)
        self._name = name
        shape = np.shape(functions[0](context.copy())) if functions else ()
        super().__init__(len(functions), ArraySpec(shape, np.float32, "reward"))

    def draw(self, rng: Rng, context: Array, action: Indices) -> Array:
        functions = self._functions
        drawn = [functions[index](row) for index, row in zip(action, context.copy())]
        rewards = as_numbers(f"{self._name} returned", drawn)
        return check_array(f"{self._name} returned", rewards, (len(drawn), *self.spec.shape))


ActionRewards: TypeAlias = ActionRewardModel | Sequence[Callable[[Array], Any]]
"""A model of all actions' rewards, or a function for each action that draws one reward."""


def as_action_reward_model(name: str, rewards: ActionRewards, context: Array) -> ActionRewardModel:
    """Returns `rewards` as a model, which is tried on a context [d]; `name` is for messages."""
    if not isinstance(rewards, ActionRewardModel):
        return RowActionReward(rewards, context, name)
    drawn = rewards.draw(np.random.default_rng(0), context[np.newaxis], np.zeros(1, np.intp))
    check_array(f"{name} drew", np.asarray(drawn), (1, *rewards.spec.shape))
    return rewards


def sliding_thetas(context_dim: int, num_actions: int) -> Floats:
    """Returns weights [K, d] that slide: theta[a] = (a, a + 1, ..., a + d - 1)."""
    return np.arange(float(num_actions))[:, np.newaxis] + np.arange(float(context_dim))


def normalized_sliding_thetas(context_dim: int, num_actions: int) -> Floats:
    """Returns the weights of `sliding_thetas`, divided by d + K: [K, d]."""
    return sliding_thetas(context_dim, num_actions) / (context_dim + num_actions)


def structured_thetas(
    rng: Rng, context_dim: int, num_actions: int, drift_coefficient: float = 0.1
) -> Floats:
    """Draws weights [K, d] of actions that resemble their neighbours.

        theta[0] = u[0],    theta[a] = theta[a - 1] + drift_coefficient * u[a]

    with u[a] uniform in [0, 1)^d.
    """
    steps = rng.random((num_actions, context_dim))
    steps[1:] *= drift_coefficient
    return steps.cumsum(axis=0)
