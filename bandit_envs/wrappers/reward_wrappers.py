"""Wrappers that change rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, sigmoid
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_numbers, check_positive
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.wrappers.wrapper import Wrapper


class RangeError(ValueError, AssertionError):
    """A `reward_range` is not two numbers, the smaller first; rlberry raises an AssertionError."""


class RescaleReward(Wrapper):
    """Maps rewards into a bounded range from any range.

    With (low, high) = reward_range, the new range, and (x0, x1) = env.reward_range, a reward x
    becomes (1 - z) * low + z * high, where

        z = (x - x0) / (x1 - x0)                   if both bounds are finite
        z = 2 / (1 + exp(-(x - x0))) - 1           if only x0 is
        z = 2 / (1 + exp(-(x - x1)))               if only x1 is
        z = 1 / (1 + exp(-x))                      if neither is

    Nothing is clipped: a reward outside its declared range is mapped outside the new one. The
    expected rewards are known in the first case only.

    Source: rlberry's `RescaleRewardWrapper`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = RescaleReward(KArmedTestbed(value_std=0.0, reward_std=0.0), (0.0, 10.0))
    >>> env.reset().is_first(), env.step([0]).reward, env.reward_range
    (array([ True]), array([5.], dtype=float32), (0.0, 10.0))
    """

    def __init__(self, env: PyEnvironment, reward_range: tuple[float, float]) -> None:
        super().__init__(env)
        self._range = _check_range(reward_range)
        self._reward_spec = reward_spec_within(env, *self._range)
        self._wrapped_range = smallest, largest = env.reward_range
        if smallest == largest:
            raise ValueError(f"the rewards of {env.name} are all {smallest}; expected a range")

    def _map_rewards(self, rewards: Array) -> Floats:
        smallest, largest = self._wrapped_range
        rewards = np.asarray(rewards, np.float64)
        if math.isinf(smallest) and math.isinf(largest):
            share = sigmoid(rewards)
        elif math.isinf(largest):
            share = np.tanh((rewards - smallest) / 2.0)
        elif math.isinf(smallest):
            share = 2.0 * sigmoid(rewards - largest)
        else:  # halved, because the difference of two finite numbers may be infinite
            share = (rewards / 2 - smallest / 2) / (largest / 2 - smallest / 2)
        # In this form, shares of 0 and 1 give the ends of the range exactly.
        low, high = self._range
        return np.asarray((1.0 - share) * low + share * high)

    def _map_means(self, means: Array) -> Array:
        if not np.isfinite(self._wrapped_range).all():
            raise NotImplementedError(f"{self._name} does not know its expected rewards")
        available = means > -np.inf
        mapped = _mapped_means(self, np.where(available, means, 0.0))
        return np.where(available, mapped, -np.inf)


class AffineReward(Wrapper):
    """Multiplies rewards by a positive number and adds a number: x becomes scale * x + shift.

    The optimal actions stay the same, and the expected rewards are known if they were.

    Args:
        env: a bandit.
        scale: above 0.
        shift: in units of the new rewards.

    Source: Gymnasium's `TransformReward`, restricted to functions that commute with the mean.

    >>> from bandit_envs import KArmedTestbed
    >>> env = AffineReward(KArmedTestbed(k=2, value_std=0.0), scale=2.0, shift=-1.0)
    >>> env.reset().is_first(), env.expected_rewards()
    (array([ True]), array([[-1., -1.]]))
    """

    def __init__(self, env: PyEnvironment, scale: float = 1.0, shift: float = 0.0) -> None:
        super().__init__(env)
        self._scale = check_positive("scale", scale, maximum=MAX_PARAMETER)
        self._shift = check_number("shift", shift, -MAX_PARAMETER, MAX_PARAMETER)
        ends = (self._scale * end + self._shift for end in env.reward_range)
        self._reward_spec = reward_spec_within(env, *ends)

    def _map_rewards(self, rewards: Array) -> Floats:
        scaled: Floats = np.multiply(rewards, self._scale, dtype=np.float64)
        return scaled + self._shift

    def _map_means(self, means: Array) -> Floats:
        return _mapped_means(self, means)


class ClipReward(Wrapper):
    """Replaces rewards outside `reward_range`, two numbers, by its nearer end.

    The expected rewards are unknown: the clipped part depends on the rewards' whole distribution.

    Source: Gymnasium's `ClipReward`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = ClipReward(KArmedTestbed(value_mean=9.0, reward_std=0.0), (-1.0, 1.0))
    >>> env.reset().is_first(), env.step([0]).reward
    (array([ True]), array([1.], dtype=float32))
    """

    def __init__(self, env: PyEnvironment, reward_range: tuple[float, float]) -> None:
        super().__init__(env)
        self._range = _check_range(reward_range)
        self._reward_spec = reward_spec_within(
            env, *np.clip(env.reward_range, *self._range).tolist()
        )

    def _map_rewards(self, rewards: Array) -> Array:
        return np.asarray(np.clip(rewards, *self._range))


def _mapped_means(wrapper: Any, means: Array) -> Floats:
    """Maps means by a linear function. For slates, means are sums over slots."""
    mapped: Floats = wrapper._map_rewards(means)
    if wrapper.action_kind.is_slate:
        mapped += (math.prod(wrapper.reward_spec().shape) - 1) * wrapper._map_rewards(0.0)
    return mapped


def _check_range(reward_range: tuple[float, float]) -> tuple[float, float]:
    ends = check_numbers("reward_range", reward_range, ndim=1).astype(np.float64)
    if ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise RangeError(f"reward_range is {reward_range}; expected two numbers, the smaller first")
    return float(ends[0]), float(ends[1])


def reward_spec_within(env: PyEnvironment, low: float, high: float) -> ArraySpec:
    """Returns the spec of rewards of `env`, as floats and with other bounds."""
    spec = env.reward_spec()
    if not isinstance(spec, ArraySpec):
        raise TypeError(f"env has reward_spec {spec}; expected one ArraySpec")
    dtype = np.result_type(spec.dtype, np.float32)
    if math.isinf(low) and math.isinf(high):
        return ArraySpec(spec.shape, dtype, spec.name)
    return BoundedArraySpec(spec.shape, dtype, low, high, spec.name)
