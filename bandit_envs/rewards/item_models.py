"""Reward models of contextual bandits: the distribution of a reward, given user and item."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Rng, as_numbers, check_array, sigmoid
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_table
from bandit_envs.nests import Nest, flat_leaves, flatten, join_leaves, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import REWARD_SPEC

CLICK_SPEC = BoundedArraySpec((), np.float32, 0.0, 1.0, "reward")

Features: TypeAlias = Array | list[Array]
"""Features [..., n] in one array, or in several whose last dimensions make up n."""


class RewardModel(abc.ABC):
    """The distribution of a reward, given a user's features and an item's.

    A subclass implements `draw`, and `mean` if it is known; neither changes its arguments.

    A user has G features, which all K arms of a row share. An item is an arm, with P features.
    """

    @property
    def spec(self) -> ArraySpec:
        """The spec of one reward: float32, with bounds where there are any."""
        return REWARD_SPEC

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        """Returns the mean reward, or raises NotImplementedError if it is unknown.

        It is [B] for users [B, G] and one arm in each row, [B, P]; or [B, K] for all arms,
        [B, K, P].
        """
        name = type(self).__name__
        raise NotImplementedError(f"{name} has no mean; models such as LinearReward have one")

    @abc.abstractmethod
    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        """Draws one reward for each row: [B], for users [B, G] and the items chosen [B, P]."""


class _LinearModel(RewardModel):
    """Multiplies features by theta, without joining them: arrays, or lists of arrays."""

    def __init__(self, theta: ArrayLike) -> None:
        self._theta = check_table("theta", theta, ndim=1)
        self._theta_float32 = self._theta.astype(np.float32)

    def _score(self, global_features: Features, arm_features: Features) -> Array:
        """Returns [B], or [B, K] if arrays of `arm_features` are [B, K, n]."""
        users = global_features if isinstance(global_features, list) else [global_features]
        items = arm_features if isinstance(arm_features, list) else [arm_features]
        theta: Array = self._theta_float32  # so that a large batch of float32 need not be converted
        num_features = 0
        for part in (*users, *items):
            num_features += part.shape[-1]
            if part.dtype.char != "f":
                theta = self._theta
        if num_features != len(theta):
            num_global = sum(part.shape[-1] for part in users)
            raise ValueError(
                f"theta has {len(theta)} entries; expected one for each of {num_global} "
                f"global and {num_features - num_global} arm features"
            )
        products: list[Array] = []
        start = 0
        for part in (*users, *items):
            end = start + part.shape[-1]
            product = _multiply(part, theta[start:end])
            if product.ndim < items[0].ndim - 1:  # of users: the same for all items
                product = product[:, np.newaxis]
            products.append(product)
            start = end
        score = products[0]
        for product in products[1:]:
            score = score + product
        return score


def _multiply(features: Array, weights: Array) -> Array:
    """Returns the products of features [..., n] with weights [n]: [...]."""
    if features.ndim == 2:
        products: Array = features.dot(weights)
        return products
    rows, num_arms, count = features.shape
    flat: Array = features.reshape(rows * num_arms, count).dot(
        weights
    )  # faster than of 3 dimensions
    return flat.reshape(rows, num_arms)


class LinearReward(_LinearModel):
    """A reward linear in the features, with normal noise.

        R ~ N([global, arm] . theta, noise_std^2)

    Each reward draws one float32 normal, even if `noise_std` is 0.

    Args:
        theta: the weights of the user's features, then of the item's: [G + P].
        noise_std: the standard deviation of the noise, at least 0.

    Source: TF-Agents' `LinearNormalReward`; Li et al. (2010), section 3.1.

    >>> reward = LinearReward([1.0, 10.0], noise_std=0.0)
    >>> reward.mean(np.array([[3.0]]), np.array([[[1.0], [2.0]]]))  # one user, two arms
    array([[13., 23.]])
    """

    def __init__(self, theta: ArrayLike, noise_std: float = 1.0) -> None:
        super().__init__(theta)
        self._noise_std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        return self._score(global_features, arm_features)

    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        score = self._score(global_features, arm_features)
        noise = rng.standard_normal(len(score), np.float32)
        if self._noise_std != 1.0:
            noise *= self._noise_std
        rewards: NDArray[np.float32] = score.astype(np.float32, copy=False) + noise
        return rewards


class LogisticReward(_LinearModel):
    """A reward of 0 or 1, such as a click.

        P(R = 1) = 1 / (1 + exp(-[global, arm] . theta))

    Each reward draws one uniform number.

    Args:
        theta: the weights of the user's features, then of the item's: [G + P].

    Source: Chapelle & Li, An empirical evaluation of Thompson sampling (2011), section 3.

    >>> reward = LogisticReward([0.0, 2.0])
    >>> reward.mean(np.array([[1.0]]), np.array([[[0.0], [500.0]]]))
    array([[0.5, 1. ]])
    """

    @property
    def spec(self) -> BoundedArraySpec:
        return CLICK_SPEC

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        return sigmoid(self._score(global_features, arm_features))

    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        means = self.mean(global_features, arm_features)
        return np.asarray(rng.random(len(means)) < means)


class FunctionReward(RewardModel):
    """A reward whose mean is a function of the features, with normal noise.

        R ~ N(function([global, arm]), noise_std^2)

    Args:
        function: takes features [..., G + P], the user's and then the item's, and returns [...].
        noise_std: the standard deviation of the noise; if it is 0, nothing is drawn.

    >>> reward = FunctionReward(lambda x: x.prod(axis=-1), noise_std=0.0)
    >>> reward.mean(np.array([[3.0]]), np.array([[[1.0], [2.0]]]))  # one user, two arms
    array([[3., 6.]])
    """

    def __init__(self, function: Callable[[Array], Any], noise_std: float = 1.0) -> None:
        self._function = function
        self._noise_std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        if not global_features.shape[1]:
            return np.asarray(self._function(arm_features))
        users = global_features[:, np.newaxis] if arm_features.ndim == 3 else global_features
        users = np.broadcast_to(users, (*arm_features.shape[:-1], users.shape[-1]))
        return np.asarray(self._function(np.concatenate((users, arm_features), axis=-1)))

    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        means = self.mean(global_features, arm_features)
        if not self._noise_std:
            return means.copy()
        noise = rng.standard_normal(len(global_features), np.float32)
        noise *= self._noise_std
        return np.asarray(means + noise)


class RowReward(RewardModel):
    """A function of TF-Agents' kind: it draws one reward from one feature vector.

    It is called row by row. Its mean is unknown, and seeds do not reproduce its rewards.

    Args:
        function: takes a vector [G + P], the user's features and then the item's, which it may keep
            or change, and returns a number, or a list of one.
        name: what messages call it.

    >>> reward = RowReward(sum)
    >>> reward.draw(np.random.default_rng(), np.array([[1, 2]]), np.array([[3]]))
    array([6])
    """

    def __init__(self, function: Callable[[Array], Any], name: str = "function") -> None:
        if not callable(function):
            raise TypeError(f"{name} is {function!r}; expected a RewardModel or a function")
        self._function = function
        self._returned = f"{name} returned"

    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        features = np.concatenate((global_features, arm_features), axis=1)
        return self._check([self._function(row) for row in features])

    def _check(self, drawn: list[Any]) -> Array:
        """Returns what the function returned for each row: [B], of numbers or lists of one."""
        rewards = as_numbers(self._returned, drawn)
        if rewards.shape == (len(drawn), 1):
            rewards = rewards[:, 0]
        return check_array(self._returned, rewards, (len(drawn),))


RewardFunction: TypeAlias = RewardModel | Callable[..., Any]
"""A reward model, or a function that draws one reward."""


def as_reward_model(
    name: str, function: RewardFunction, user: Nest, item: Nest, rows: type[RowReward] = RowReward
) -> RewardModel:
    """Returns a model, after a trial with zeros of two specs, or a function made one of `rows`."""
    if not isinstance(function, RewardModel):
        return rows(function, name)
    zeros = map_structure(lambda spec: np.zeros((1, *spec.shape), spec.dtype), (user, item))
    reward = function.draw(np.random.default_rng(0), *zeros)
    check_array(f"{name} drew", np.asarray(reward), (1,))
    return function


class FlatReward(RewardModel):
    """A reward model of nests: of the flattened leaves of a user's, and of those of an item's.

    Args:
        model: a model of the two vectors that the leaves make.

    >>> from bandit_envs.rewards import LinearReward
    >>> reward = FlatReward(LinearReward([1.0, 1.0, 10.0]))
    >>> reward.mean({"a": np.array([[3.0]]), "b": np.array([[2.0]])}, np.array([[[1.0], [2.0]]]))
    array([[15., 25.]])
    """

    def __init__(self, model: RewardModel) -> None:
        self._model = model
        # Linear models take several arrays, which saves the time of joining them.
        is_linear = isinstance(model, _LinearModel)
        self._features: Callable[[Nest, int], Any] = flat_leaves if is_linear else join_leaves

    @property
    def spec(self) -> ArraySpec:
        return self._model.spec

    def mean(self, global_features: Nest, arm_features: Nest) -> Array:
        """Returns [B, K], for leaves [B, ...] and [B, K, ...]."""
        users = self._features(global_features, 1)
        items = self._features(arm_features, 2)
        return self._model.mean(users, items)

    def draw(self, rng: Rng, global_features: Nest, arm_features: Nest) -> Array:
        users = self._features(global_features, 1)
        items = self._features(arm_features, 1)
        return self._model.draw(rng, users, items)


class RowNestReward(RowReward):
    """A function of TF-Agents' kind: it draws a reward from the nests of one user and one item.

    Args:
        function: takes the nest of a user and that of an item, and returns a number, or a list of
            one.
        name: what messages call it.
    """

    _function: Callable[..., Any]

    def draw(self, rng: Rng, global_features: Nest, arm_features: Nest) -> Array:
        users = map_structure(np.copy, global_features)
        items = map_structure(np.copy, arm_features)
        rows = len(flatten(arm_features)[0])
        return self._check(
            [self._function(_row(users, row), _row(items, row)) for row in range(rows)]
        )


def _row(nest: Nest, row: int) -> Nest:
    """Returns one row of every leaf."""
    return map_structure(lambda leaf: leaf[row], nest)
