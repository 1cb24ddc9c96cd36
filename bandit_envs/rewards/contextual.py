"""Reward models of contextual bandits: the distribution of a reward, given user and item.

A reward function is a `RewardModel`, which works on whole batches. Any other callable is taken to
be a function of TF-Agents' kind, which draws one reward from one vector: the user's features, then
the item's.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import NUMBERS
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_numbers, shown
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import REWARD_SPEC

Array = NDArray[Any]

CLICK_SPEC = BoundedArraySpec((), np.float32, 0.0, 1.0, "reward")


class RewardModel(abc.ABC):
    """The distribution of a reward, given a user's features and an item's.

    A subclass implements `draw`, and `mean` if it knows it; neither may change what it is given.

    Shapes:
        B: batch size.
        K: arms.
        G: features of a user, who is the context common to a row's arms.
        P: features of an item, which is an arm.
    """

    @property
    def spec(self) -> ArraySpec:
        """The spec of one reward: float32, with bounds where there are any."""
        return REWARD_SPEC

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        """Returns the mean reward, or raises NotImplementedError where it is unknown.

        Args:
            global_features: [B, G].
            arm_features: [B, P] for one arm a row, or [B, K, P] for all of them.

        Returns:
            [B], or [B, K].
        """
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, global_features: Array, arm_features: Array) -> Array:
        """Draws one reward a row: [B], for users [B, G] and the items chosen [B, P]."""


class LinearReward(RewardModel):
    """A reward linear in the features, with normal noise.

        R ~ N([global, arm] . theta, noise_std^2)

    One float32 normal is drawn a reward, even if `noise_std` is 0.

    Args:
        theta: [G + P], the weights of the user's features, then of the item's.
        noise_std: standard deviation of the noise.

    Source: TF-Agents' `LinearNormalReward`; Li et al. (2010), section 3.1.

    >>> reward = LinearReward([1.0, 10.0], noise_std=0.0)
    >>> reward.mean(np.array([[3.0]]), np.array([[[1.0], [2.0]]]))  # one user, two arms
    array([[13., 23.]])
    """

    def __init__(self, theta: ArrayLike, noise_std: float = 1.0) -> None:
        self._score = _LinearScore(theta)
        self._noise_std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        return self._score(global_features, arm_features)

    def draw(self, rng: np.random.Generator, global_features: Array, arm_features: Array) -> Array:
        noise = rng.standard_normal(len(global_features), np.float32)
        if self._noise_std != 1.0:
            noise *= self._noise_std
        score = self._score(global_features, arm_features)
        rewards: NDArray[np.float32] = score.astype(np.float32, copy=False) + noise
        return rewards


class LogisticReward(RewardModel):
    """A reward of 0 or 1, such as a click.

        P(R = 1) = 1 / (1 + exp(-[global, arm] . theta))

    One uniform number is drawn a reward.

    Args:
        theta: [G + P], the weights of the user's features, then of the item's.

    Source: Chapelle & Li, An empirical evaluation of Thompson sampling (2011), section 3.

    >>> reward = LogisticReward([0.0, 2.0])
    >>> reward.mean(np.array([[1.0]]), np.array([[[0.0], [500.0]]]))
    array([[0.5, 1. ]])
    """

    def __init__(self, theta: ArrayLike) -> None:
        self._score = _LinearScore(theta)

    @property
    def spec(self) -> BoundedArraySpec:
        return CLICK_SPEC

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        # Written so, it neither overflows nor loses the smallest probabilities.
        scores = self._score(global_features, arm_features)
        return np.asarray(np.exp(-np.logaddexp(0.0, -scores)))

    def draw(self, rng: np.random.Generator, global_features: Array, arm_features: Array) -> Array:
        return rng.random(len(global_features)) < self.mean(global_features, arm_features)


class RowReward(RewardModel):
    """A function of TF-Agents' kind: it draws one reward from one feature vector.

    It is called once a row, in order. Its mean is not known. The function has its own source of
    randomness, so seeds and saved states do not reproduce it.

    Args:
        function: takes a vector [G + P], the user's features and then the item's, which it may
            keep or change, and returns a number.
        name: what to call it in messages.

    Source: TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    >>> reward = RowReward(sum)
    >>> reward.draw(np.random.default_rng(), np.array([[1, 2]]), np.array([[3]]))
    array([6])
    """

    def __init__(self, function: Callable[[Array], Any], name: str = "function") -> None:
        if not callable(function):
            raise TypeError(f"{name} is {function!r}; expected a RewardModel or a function")
        self._function = function
        self._name = name

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        raise NotImplementedError(
            f"{self._name} draws rewards, their mean is not known; "
            f"pass a RewardModel with a mean, such as LinearReward(theta, noise_std)"
        )

    def draw(self, rng: np.random.Generator, global_features: Array, arm_features: Array) -> Array:
        features = np.concatenate((global_features, arm_features), axis=1)
        function = self._function
        return self._checked([function(row) for row in features])

    def _checked(self, rewards: list[Any]) -> Array:
        try:
            values = np.array(rewards)
        except ValueError:  # of different shapes
            values = np.array(None)
        if values.dtype.kind not in NUMBERS or values.ndim != 1 or np.isnan(values).any():
            for row, reward in enumerate(rewards):
                if np.ndim(reward) != 0 or np.asarray(reward).dtype.kind not in NUMBERS:
                    raise TypeError(
                        f"{self._name} returned {reward!r} for row {row}; expected a number"
                    )
                if reward != reward:
                    raise ValueError(f"{self._name} returned NaN for row {row}")
        return values


RewardFunction: TypeAlias = RewardModel | Callable[[Array], Any]
"""A reward model, or a function that draws one reward from one vector."""


def as_reward_model(
    name: str, function: RewardFunction, global_features: Array, arm_features: Array
) -> RewardModel:
    """Returns `function` as a reward model. A function of one vector becomes a `RowReward`.

    A model is tried on features [1, G] and [1, P]. `name` is the argument's name, for messages.

    Raises:
        TypeError: it is neither.
        ValueError: the model does not fit the features.
    """
    if not isinstance(function, RewardModel):
        return RowReward(function, name)
    shape = np.shape(function.draw(np.random.default_rng(0), global_features, arm_features))
    if shape != (1,):
        raise ValueError(f"{name} drew shape {shape} for one row; expected (1,)")
    return function


class _LinearScore:
    """The product of concatenated features and theta, without concatenating them."""

    def __init__(self, theta: ArrayLike) -> None:
        array = check_numbers("theta", theta, ndim=1).astype(np.float64)
        if not (np.abs(array) <= MAX_PARAMETER).all():
            raise ValueError(
                f"theta is {shown(array)}; expected numbers from {-MAX_PARAMETER:g} "
                f"to {MAX_PARAMETER:g}"
            )
        self._theta = array
        self._theta_float32 = array.astype(np.float32)

    def __call__(self, global_features: Array, arm_features: Array) -> Array:
        """Returns [B], or [B, K] if `arm_features` is [B, K, P]."""
        # In float32 if the features are, lest a large batch of arms is copied to a wider one.
        narrow = arm_features.dtype.char == "f" and global_features.dtype.char == "f"
        theta = self._theta_float32 if narrow else self._theta
        num_global = global_features.shape[1]
        try:
            score: Array = global_features.dot(theta[:num_global])
            if arm_features.ndim == 2:
                return np.asarray(score + arm_features.dot(theta[num_global:]))
            rows, num_arms, num_arm = arm_features.shape
            arm_score = arm_features.reshape(rows * num_arms, num_arm).dot(theta[num_global:])
        except ValueError as error:
            raise ValueError(
                f"theta has {len(theta)} entries; expected one for each of {num_global} global "
                f"and {arm_features.shape[-1]} arm features"
            ) from error
        return np.asarray(score[:, np.newaxis] + arm_score.reshape(rows, num_arms))
