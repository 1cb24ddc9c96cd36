"""The k-armed testbed of Sutton & Barto."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bandit_envs import rendering
from bandit_envs.bandit_py_environment import BanditPyEnvironment
from bandit_envs.checks import LARGEST, checked_integer, checked_number
from bandit_envs.specs import ArraySpec
from bandit_envs.state import Seed
from bandit_envs.trajectories import read_only

OBSERVATION_SPEC = ArraySpec((1,), np.float32, "observation")


class KArmedTestbed(BanditPyEnvironment):
    """The k-armed testbed. Every row is an independent problem with arm values of its own.

        q*(a)   ~ N(value_mean, value_std^2)      at reset
        R_t     ~ N(q*(A_t), reward_std^2)
        q*(a)  += N(0, drift_std^2)               after each step, if drift_std > 0

    The observation is one constant feature, 1.0: it tells nothing.

    Random stream: `KArmedTestbed(k, seed=s, dtype=np.float64)` with a batch of one and no drift
    draws what `rng = np.random.default_rng(s)` does in `rng.normal(size=k)` at reset, then one
    normal a step.

    Shapes:
        B: batch_size, independent problems.
        K: k, arms. The action and the reward are [B], the observation [B, 1].

    Args:
        k: number of arms.
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        horizon: pulls in an episode; None for a stream.
        value_mean: mean of the arm values.
        value_std: standard deviation of the arm values.
        reward_std: standard deviation of a reward about its arm's value.
        drift_std: standard deviation of each arm value's independent random walk, a step.
        dtype: floating dtype of values and rewards: float32 or float64.
        name: what to call the environment.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: `k`, `batch_size` or `horizon` is less than 1, a standard deviation is negative,
            a number is beyond 1e37, or `dtype` is another one.

    Source: Sutton & Barto, Reinforcement Learning, 2nd ed., section 2.3; exercise 2.5 for the
    random walk.

    >>> env = KArmedTestbed(k=3, batch_size=4, seed=0)
    >>> env.reset().observation.shape
    (4, 1)
    >>> env.step([0, 1, 2, 0]).reward.shape, env.optimal_action().shape
    ((4,), (4,))
    """

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
        name: str = "k_armed_testbed",
    ) -> None:
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        if self._dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype is {self._dtype}; expected float32 or float64")
        super().__init__(
            OBSERVATION_SPEC,
            checked_integer("k", k, minimum=1),
            ArraySpec((), self._dtype, "reward"),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._value_mean = checked_number("value_mean", value_mean, -LARGEST, LARGEST)
        self._value_std = checked_number("value_std", value_std, 0.0, LARGEST)
        self._reward_std = checked_number("reward_std", reward_std, 0.0, LARGEST)
        self._drift_std = checked_number("drift_std", drift_std, 0.0, LARGEST)
        self._observation = read_only(np.ones((self.batch_size, 1), np.float32))

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        arms = rendering.arms_of(self, row, self._reward_std)
        return rendering.render(arms, mode, owner=self)

    def close(self) -> None:
        rendering.close(owner=self)

    def _initial_state(self, rng: np.random.Generator) -> NDArray[Any]:
        shape = (self._batch_size, self._num_actions)
        return np.asarray(self._value_mean + self._normal(rng, shape, self._value_std))

    def _observe(self, state: NDArray[Any]) -> NDArray[np.float32]:
        return self._observation

    def _expected_rewards(self, state: NDArray[Any]) -> NDArray[Any]:
        return state

    def _draw_rewards(
        self, rng: np.random.Generator, state: NDArray[Any], action: NDArray[np.intp]
    ) -> NDArray[Any]:
        # One row needs no offset; many need the fastest mode, as all indices are within bounds.
        if self._batch_size == 1:
            means = state.take(action)
        else:
            means = state.take(self._row_offsets + action, mode="wrap")
        rewards: NDArray[Any] = means + self._normal(rng, self._batch_size, self._reward_std)
        return rewards

    def _next_state(
        self, rng: np.random.Generator, state: NDArray[Any], action: NDArray[np.intp]
    ) -> NDArray[Any]:
        if self._drift_std == 0.0:
            return state
        steps = self._normal(rng, state.shape, self._drift_std)
        steps += state
        return steps

    def _normal(self, rng: np.random.Generator, size: Any, std: float) -> NDArray[Any]:
        values: NDArray[Any] = rng.standard_normal(size, self._dtype)
        if std != 1.0:
            values *= std
        return values
