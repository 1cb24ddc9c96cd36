"""Wrappers that change rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_positive
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.wrappers.wrapper import Wrapper


class RescaleReward(Wrapper):
    """Maps rewards into a bounded range, whatever range they come from.

    With (x0, x1) = env.reward_range, a reward x becomes (1 - z) * low + z * high, where

        z = (x - x0) / (x1 - x0)                   if both bounds are finite
        z = 2 / (1 + exp(-(x - x0))) - 1           if only x0 is
        z = 2 / (1 + exp(-(x - x1)))               if only x1 is
        z = 1 / (1 + exp(-x))                      if neither is

    Nothing is clipped: a reward outside its declared range is mapped outside the new one. The
    expected rewards are known in the first case only.

    Args:
        env, name: as for `Wrapper`.
        reward_range: low and high, the new range.

    Source: rlberry's `RescaleRewardWrapper`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = RescaleReward(KArmedTestbed(batch_size=1000, seed=0), (0.0, 1.0))
    >>> time_step = env.reset()
    >>> reward = env.step(np.zeros(1000, int)).reward
    >>> bool(reward.min() > 0.0), bool(reward.max() < 1.0), env.reward_range
    (True, True, (0.0, 1.0))
    """

    def __init__(
        self, env: PyEnvironment, reward_range: tuple[float, float], *, name: str | None = None
    ) -> None:
        super().__init__(env, name=name)
        self._range = _check_range(reward_range)
        self._reward_spec = _reward_spec(env, *self._range)
        self._wrapped_range = env.reward_range
        if self._wrapped_range[0] == self._wrapped_range[1]:
            raise ValueError(
                f"{env.name}.reward_range is {self._wrapped_range}; expected two different numbers"
            )

    def reward_spec(self) -> ArraySpec:
        return self._reward_spec

    def _map_rewards(self, rewards: NDArray[Any]) -> NDArray[np.float64]:
        smallest, largest = self._wrapped_range
        rewards = np.asarray(rewards, np.float64)
        if math.isinf(smallest) and math.isinf(largest):
            return self._interpolated(_logistic(rewards))
        if math.isinf(largest):
            return self._interpolated(np.tanh((rewards - smallest) / 2.0))
        if math.isinf(smallest):
            return self._interpolated(2.0 * _logistic(rewards - largest))
        # Halved, because the difference of two finite numbers may be infinite.
        return self._interpolated((rewards / 2 - smallest / 2) / (largest / 2 - smallest / 2))

    def _map_means(self, means: NDArray[Any]) -> NDArray[Any]:
        if math.isinf(self._wrapped_range[0]) or math.isinf(self._wrapped_range[1]):
            raise NotImplementedError(
                f"{self._name} does not know its expected rewards: "
                f"the range of the rewards of {self._env.name} has no bound"
            )
        available = means > -np.inf
        return np.where(available, self._map_rewards(np.where(available, means, 0.0)), -np.inf)

    def _interpolated(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        # In this form, shares of 0 and 1 give the ends of the range exactly.
        low, high = self._range
        return (1.0 - share) * low + share * high


class AffineReward(Wrapper):
    """Multiplies rewards by a positive number and adds a number: x becomes scale * x + shift.

    The optimal actions stay the same, and the expected rewards are known if they were.

    Args:
        env, name: as for `Wrapper`.
        scale: the factor.
        shift: the summand.

    Source: Gymnasium's `TransformReward`, restricted to functions that commute with the mean.

    >>> from bandit_envs import KArmedTestbed
    >>> testbed = KArmedTestbed(seed=0)
    >>> env = AffineReward(testbed, scale=2.0, shift=-1.0)
    >>> time_step = env.reset()
    >>> bool(np.all(env.expected_rewards() == 2.0 * testbed.expected_rewards() - 1.0))
    True
    """

    def __init__(
        self,
        env: PyEnvironment,
        scale: float = 1.0,
        shift: float = 0.0,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(env, name=name)
        self._scale = check_positive("scale", scale, maximum=MAX_PARAMETER)
        self._shift = check_number("shift", shift, -MAX_PARAMETER, MAX_PARAMETER)
        smallest, largest = env.reward_range
        self._reward_spec = _reward_spec(
            env, self._scale * smallest + self._shift, self._scale * largest + self._shift
        )

    def reward_spec(self) -> ArraySpec:
        return self._reward_spec

    def _map_rewards(self, rewards: NDArray[Any]) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = np.multiply(rewards, self._scale, dtype=np.float64)
        return scaled + self._shift

    def _map_means(self, means: NDArray[Any]) -> NDArray[np.float64]:
        return self._map_rewards(means)


class ClipReward(Wrapper):
    """Replaces rewards outside a range by its nearer end.

    The expected rewards are unknown: the clipped part depends on the rewards' whole distribution.

    Args:
        env, name: as for `Wrapper`.
        reward_range: the smallest and the largest reward returned.

    Source: Gymnasium's `ClipReward`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = ClipReward(KArmedTestbed(batch_size=1000, seed=0), (-1.0, 1.0))
    >>> time_step = env.reset()
    >>> float(env.step(np.zeros(1000, int)).reward.max())
    1.0
    """

    def __init__(
        self, env: PyEnvironment, reward_range: tuple[float, float], *, name: str | None = None
    ) -> None:
        super().__init__(env, name=name)
        self._range = _check_range(reward_range)
        self._reward_spec = _reward_spec(env, *np.clip(env.reward_range, *self._range).tolist())

    def reward_spec(self) -> ArraySpec:
        return self._reward_spec

    def _map_rewards(self, rewards: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.clip(rewards, *self._range))


def _check_range(reward_range: Any) -> tuple[float, float]:
    try:
        low, high = reward_range
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"reward_range is {reward_range!r}; expected a pair of numbers"
        ) from error
    low, high = check_number("reward_range[0]", low), check_number("reward_range[1]", high)
    if low >= high:
        raise ValueError(f"reward_range is ({low:g}, {high:g}); expected the first to be less")
    return low, high


def _reward_spec(env: PyEnvironment, low: float, high: float) -> ArraySpec:
    spec = env.reward_spec()
    if not isinstance(spec, ArraySpec):
        raise TypeError(f"env has reward_spec {spec}; expected one ArraySpec")
    dtype = np.result_type(spec.dtype, np.float32)
    if math.isinf(low) and math.isinf(high):
        return ArraySpec(spec.shape, dtype, spec.name)
    return BoundedArraySpec(spec.shape, dtype, low, high, spec.name)


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    # exp(-|x|) never overflows, and loses no digits where the result is near 0.
    power = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, power) / (1.0 + power)
