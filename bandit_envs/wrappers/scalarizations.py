"""Wrappers that pay one number for a vector of rewards."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array
from bandit_envs.base.checks import check_table
from bandit_envs.base.known_means import Means
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import REWARD_SPEC
from bandit_envs.wrappers.shared import require_single_actions
from bandit_envs.wrappers.wrapper import Wrapper


class Scalarization(Wrapper):
    """A wrapper that pays one number for a vector of R rewards.

    The mean of a function that is not linear does not follow from the mean of its argument. Such a
    scalarization knows its expected rewards only of deterministic rewards.

    Args:
        env: a bandit with rewards [B, R], whose action is one integer.
        knows_means: whether the function is linear, or the rewards of `env` always equal their
            means.
    """

    def __init__(self, env: PyEnvironment, knows_means: bool) -> None:
        super().__init__(env)
        require_single_actions(env)
        spec = env.reward_spec()
        if not isinstance(spec, ArraySpec) or len(spec.shape) != 1:
            raise TypeError(f"env has reward_spec {spec}; expected a vector of rewards")
        self._num_rewards = spec.shape[0]
        self._knows_means = knows_means
        self._reward_spec = REWARD_SPEC

    @abc.abstractmethod
    def _map_rewards(self, rewards: Array) -> Array:
        """Returns a number [...] for each vector of `rewards` [..., R]."""

    def _change_means(self, means: Means, are_met: bool) -> Means:
        return Means.of_table(self._name, self._mapped_means(means.table))

    def _map_means(self, means: Array) -> Array:
        if not self._knows_means:
            raise NotImplementedError(
                f"{self._name} does not know its expected rewards; "
                "if the wrapped rewards are, say deterministic=True"
            )
        available = np.asarray((means > -np.inf).any(axis=-1))
        mapped = self._map_rewards(np.where(available[..., np.newaxis], means, 0.0))
        return np.where(available, mapped, -np.inf)

    def _vector(self, name: str, values: ArrayLike) -> Array:
        vector = check_table(name, values, ndim=1)
        if len(vector) != self._num_rewards:
            raise ValueError(f"{name} is {vector}; expected {self._num_rewards} numbers")
        return vector


class LinearScalarization(Scalarization):
    """Pays sum_i weights_i R_i, for `weights` [R].

    Its expected rewards are known if those of R are.

    Source: TF-Agents' `LinearScalarizer`.

    >>> from bandit_envs import StationaryStochasticPyEnvironment, rewards, sampling
    >>> model = rewards.LinearActionReward(np.ones((5, 3, 2)), noise_std=0.0)  # of 2 rewards
    >>> vectors = StationaryStochasticPyEnvironment(sampling.Normal(3), model, batch_size=4)
    >>> env = LinearScalarization(vectors, weights=[0.5, 0.5])
    >>> env.reset().reward.shape, env.expected_rewards().shape
    ((4,), (4, 5))
    """

    def __init__(self, env: PyEnvironment, weights: ArrayLike) -> None:
        super().__init__(env, knows_means=True)
        self._weights = self._vector("weights", weights)

    def _map_rewards(self, rewards: Array) -> Array:
        return np.asarray(rewards @ self._weights)


class ChebyshevScalarization(Scalarization):
    """Pays min_i weights_i (R_i - reference_i), for `weights` and `reference` [R].

    Args:
        env: a bandit with rewards [B, R], whose action is one integer.
        weights: [R].
        reference: [R], a point in the space of rewards.
        deterministic: whether the rewards of `env` always equal their means. Only then are the
            expected rewards known.

    Source: TF-Agents' `ChebyshevScalarizer`; Drugan & Nowe (2013), section III.

    >>> from bandit_envs import StationaryStochasticPyEnvironment, rewards, sampling
    >>> model = rewards.LinearActionReward(np.ones((5, 3, 2)), noise_std=0.0)  # of 2 rewards
    >>> vectors = StationaryStochasticPyEnvironment(sampling.Normal(3), model, batch_size=4)
    >>> env = ChebyshevScalarization(vectors, [0.5, 0.5], [-9.0, -9.0], deterministic=True)
    >>> env.reset().reward.shape, env.expected_rewards().shape
    ((4,), (4, 5))
    """

    def __init__(
        self,
        env: PyEnvironment,
        weights: ArrayLike,
        reference: ArrayLike,
        *,
        deterministic: bool = False,
    ) -> None:
        super().__init__(env, deterministic)
        self._weights = self._vector("weights", weights)
        self._reference = self._vector("reference", reference)

    def _map_rewards(self, rewards: Array) -> Array:
        return np.asarray((self._weights * (rewards - self._reference)).min(axis=-1))


class HypervolumeScalarization(Scalarization):
    """Pays min_i max(slopes_i R_i + offsets_i, 0) / v_i, over the i with v_i > 0.

    v is `direction`, made of length 1.

    Args:
        env: a bandit with rewards [B, R], whose action is one integer.
        direction: [R], at least 0, and above 0 for one reward or more.
        slopes: [R].
        offsets: [R].
        deterministic: whether the rewards of `env` always equal their means. Only then are the
            expected rewards known.

    Source: TF-Agents' `HyperVolumeScalarizer`; Zhang & Golovin (2020).

    >>> from bandit_envs import StationaryStochasticPyEnvironment, rewards, sampling
    >>> model = rewards.LinearActionReward(np.ones((5, 3, 2)), noise_std=0.0)  # of 2 rewards
    >>> vectors = StationaryStochasticPyEnvironment(sampling.Normal(3), model, batch_size=4)
    >>> env = HypervolumeScalarization(vectors, [3, 4], [1, 1], [9, 9], deterministic=True)
    >>> env.reset().reward.shape, env.expected_rewards().shape
    ((4,), (4, 5))
    """

    def __init__(
        self,
        env: PyEnvironment,
        direction: ArrayLike,
        slopes: ArrayLike,
        offsets: ArrayLike,
        *,
        deterministic: bool = False,
    ) -> None:
        super().__init__(env, deterministic)
        vector = self._vector("direction", direction)
        if (vector < 0.0).any() or not vector.any():
            raise ValueError(
                f"direction is {vector}; expected no negative numbers, and one above 0"
            )
        self._used = np.flatnonzero(vector)
        self._direction = (vector / np.linalg.norm(vector))[self._used]
        self._slopes = self._vector("slopes", slopes)[self._used]
        self._offsets = self._vector("offsets", offsets)[self._used]

    def _map_rewards(self, rewards: Array) -> Array:
        mapped = self._slopes * rewards[..., self._used] + self._offsets
        return np.asarray((mapped.clip(0.0) / self._direction).min(axis=-1))
