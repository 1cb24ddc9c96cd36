"""The k-armed testbed of Sutton & Barto."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, short_repr
from bandit_envs.rendering import Arms
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec


class KArmedTestbed(BanditPyEnvironment[Array]):
    """The k-armed testbed. Each row is an independent problem with its own arm values.

        q*(a)   ~ N(value_mean, value_std^2)      at reset
        R_t     ~ N(q*(A_t), reward_std^2)
        q*(a)  += N(0, drift_std^2)               after each step, if drift_std > 0

    The observation [B, 1] is one constant feature, 1.0.

    Random stream: `KArmedTestbed(k, seed=s, dtype=np.float64)` with a batch of one and no drift
    draws what `np.random.default_rng(s)` draws in `normal(size=k)` at reset, and in `normal()` in
    each step.

    Args:
        k: number of arms.
        batch_size: B.
        value_mean: the mean of the arm values.
        value_std: their standard deviation, at least 0.
        reward_std: the standard deviation of rewards, at least 0.
        drift_std: that of the steps of the arm values, at least 0.
        dtype: floating dtype of values and rewards: float32 or float64.

    Source: Sutton & Barto, Reinforcement Learning, 2nd ed., section 2.3 and exercise 2.5.

    >>> env = KArmedTestbed(k=3, batch_size=4, seed=0)
    >>> env.reset().observation.shape
    (4, 1)
    >>> env.step([0, 1, 2, 0]).reward.shape, env.optimal_action().shape
    ((4,), (4,))
    """

    independent_rows = True

    def __init__(
        self,
        k: int = 10,
        *,
        batch_size: int = 1,
        seed: Seed = None,
        horizon: int | None = None,
        value_mean: float = 0.0,
        value_std: float = 1.0,
        reward_std: float = 1.0,
        drift_std: float = 0.0,
        dtype: DTypeLike = np.float32,
        name: str = "k-armed testbed",
    ) -> None:
        self._dtype = _check_dtype(dtype)
        num_arms = check_integer("k", k, minimum=1)
        spec = ArraySpec((), self._dtype, "reward")
        super().__init__(
            None, num_arms, spec, batch_size=batch_size, seed=seed, horizon=horizon, name=name
        )
        self._value_mean = check_number("value_mean", value_mean, -MAX_PARAMETER, MAX_PARAMETER)
        self._value_std = check_number("value_std", value_std, 0.0, MAX_PARAMETER)
        self._reward_std = check_number("reward_std", reward_std, 0.0, MAX_PARAMETER)
        self._drift_std = check_number("drift_std", drift_std, 0.0, MAX_PARAMETER)

    def pay(self, rng: Rng, value: Array | float, size: int | None = None) -> Array:
        """Draws a reward for an arm value, a number; with `size`, [size] for an array of values."""
        rewards = self._normal(rng, size, self._reward_std)
        rewards += value
        return rewards

    def _initial_state(self, rng: Rng) -> Array:
        shape = (self._batch_size, self.num_actions)
        return np.asarray(self._value_mean + self._normal(rng, shape, self._value_std))

    def _expected_rewards(self, state: Array) -> Array:
        return state

    def _draw_rewards(self, rng: Rng, state: Array, action: Indices) -> Array:
        size = None if self._batch_size == 1 else self._batch_size  # a number is drawn faster
        return self.pay(rng, self._of_action(state, action), size)

    def _next_state(self, rng: Rng, state: Array, action: Indices) -> Array:
        if self._drift_std == 0.0:
            return state
        steps = self._normal(rng, state.shape, self._drift_std)
        steps += state
        return steps

    def _share(self, state: Array) -> Array:
        return np.repeat(state[:1], self._batch_size, axis=0)

    def _normal(self, rng: Rng, size: int | tuple[int, ...] | None, std: float) -> Array:
        """Draws normal numbers of mean 0."""
        values: Array = rng.standard_normal(size, self._dtype)
        if std != 1.0:
            values *= std
        return values

    def _rendered_arms(self, row: int) -> Arms:
        return super()._rendered_arms(row)._replace(reward_std=self._reward_std)


def _check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Returns the dtype that a user names, which is one that generators draw."""
    try:
        checked = np.dtype(dtype)
    except TypeError:
        checked = np.dtype(object)
    if checked not in (np.float32, np.float64):
        raise ValueError(f"dtype is {short_repr(dtype)}; expected float32 or float64")
    return checked
