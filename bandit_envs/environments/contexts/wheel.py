"""The wheel bandit of Riquelme, Tucker & Snoek."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_parameters
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec

NUM_ACTIONS = 5
FULL_TURN = np.float32(2.0 * np.pi)  # radians


class WheelState(NamedTuple):
    """The contexts [B, 2], and their regions [B]: 0 in the circle, 1 to 4 for quadrants outside."""

    context: NDArray[np.float32]
    region: NDArray[np.int8]


class WheelPyEnvironment(BanditPyEnvironment[WheelState]):
    """The wheel bandit, a contextual bandit with a rare high reward.

    Each row draws its own contexts; all rows share the parameters.

        x         ~ uniform in the unit disc
        R | x, a  ~ N(mu_high, std_high^2)            if |x| > delta and a is x's quadrant
                    N(mu_base[a], std_base[a]^2)      otherwise

    The quadrants (+, +), (+, -), (-, +) and (-, -) belong to the actions 1 to 4, and zero counts as
    positive. Action 0 is the best of the others: the larger delta, the rarer the high reward. The
    observation is [B, 2] float32.

    Args:
        delta: radius of the inner circle, above 0 and below 1.
        mu_base: [5], the mean rewards of the actions wherever the high reward does not apply; the
            first must be the largest.
        std_base: [5], the standard deviations of these rewards.
        mu_high: the mean of the high reward.
        std_high: its standard deviation.
        batch_size: B; None for 1.
        name, seed, horizon: as in `BanditPyEnvironment`.

    Source: TF-Agents' `WheelPyEnvironment`; Riquelme et al., Deep Bayesian Bandits Showdown (2018),
    section 5.4, where the quadrants belong to the actions 0 to 3.

    >>> env = WheelPyEnvironment(0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.1] * 5, 50.0, 0.1, seed=0)
    >>> observation = env.reset().observation
    >>> env.optimal_action() == compute_optimal_action(observation, 0.5)
    array([ True])
    """

    skips_nan_check = True  # its contexts are finite numbers

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        delta: float,
        mu_base: ArrayLike,
        std_base: ArrayLike,
        mu_high: float,
        std_high: float,
        batch_size: int | None = None,
        name: str | None = "wheel",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        self._delta = check_number("delta", delta)
        if not 0.0 < self._delta < 1.0:
            raise ValueError(f"Delta must be in (0, 1), but saw delta: {self._delta:g}")
        (means,) = check_parameters(mu_base=(mu_base, -MAX_PARAMETER, MAX_PARAMETER))
        (stds,) = check_parameters(std_base=(std_base, 0.0, MAX_PARAMETER))
        if means.shape != (NUM_ACTIONS,):
            raise ValueError(f"The length of 'mu_base' must be 5, but saw 'mu_base': {means}")
        if stds.shape != (NUM_ACTIONS,):
            raise ValueError(f"The length of 'std_base' must be 5. It is {stds}.")
        if means[0] != means.max():
            raise ValueError(
                f"The first action in mu_base should have the highest reward; got {means}"
            )
        mean_high = check_number("mu_high", mu_high, -MAX_PARAMETER, MAX_PARAMETER)
        std_high = check_number("std_high", std_high, 0.0, MAX_PARAMETER)
        self._means = _make_table(means, mean_high)
        self._stds = _make_table(stds, std_high)
        super().__init__(
            ArraySpec((2,), np.float32, "observation"),
            NUM_ACTIONS,
            batch_size=1 if batch_size is None else batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    def _initial_state(self, rng: Rng) -> WheelState:
        uniform = rng.random((2, self._batch_size), np.float32)
        radius = np.sqrt(uniform[0])
        angle = FULL_TURN * uniform[1]
        columns = np.empty_like(uniform)
        columns[0] = radius * np.cos(angle)
        columns[1] = radius * np.sin(angle)
        return self._state_of(columns.T)

    def _state_of(self, observation: NDArray[np.float32]) -> WheelState:
        return WheelState(observation, _region_of(observation, self._delta))

    def _observe(self, state: WheelState) -> NDArray[np.float32]:
        return state.context

    def _expected_rewards(self, state: WheelState) -> NDArray[np.float32]:
        return self._means.take(state.region, axis=0)

    def _draw_rewards(self, rng: Rng, state: WheelState, action: Indices) -> NDArray[np.float32]:
        noise = rng.standard_normal(self._batch_size, np.float32)
        cells = NUM_ACTIONS * state.region + action  # take is three times as fast as two indices
        return self._means.take(cells) + self._stds.take(cells) * noise

    def _next_state(self, rng: Rng, state: WheelState, action: Indices) -> WheelState:
        return self._initial_state(rng)


def compute_optimal_action(observation: ArrayLike, delta: float) -> NDArray[np.int32]:
    """Returns the action of the region of each context [B, 2]: [B].

    It is optimal if `mu_high` is at least `mu_base[0]`.
    """
    return _region_of(np.asarray(observation), delta).astype(np.int32)


def compute_optimal_reward(
    observation: ArrayLike, delta: float, mu_inside: float, mu_high: float
) -> NDArray[np.float32]:
    """Returns the mean reward of `compute_optimal_action`: [B].

    It is `mu_inside` up to the radius `delta`, and `mu_high` outside.
    """
    is_outside = compute_optimal_action(observation, delta) > 0
    return np.where(is_outside, mu_high, mu_inside).astype(np.float32)


def wheel(  # noqa: PLR0917 - as the class
    delta: float = 0.5,
    mu_base: ArrayLike = (1.2, 1.0, 1.0, 1.0, 1.0),
    std_base: ArrayLike = (0.01, 0.01, 0.01, 0.01, 0.01),
    mu_high: float = 50.0,
    std_high: float = 0.01,
    batch_size: int = 100,
    **options: typing.Unpack[Options],
) -> WheelPyEnvironment:
    """The wheel bandit: a high reward outside a circle, for another action in each quadrant."""
    return WheelPyEnvironment(
        delta, mu_base, std_base, mu_high, std_high, batch_size=batch_size, **options
    )


def _region_of(observation: Array, delta: float) -> NDArray[np.int8]:
    """Returns 0 for contexts [B, 2] inside the circle, else the number of the quadrant: [B]."""
    x = observation[:, 0]
    y = observation[:, 1]
    quadrant = 1 + 2 * (x < 0.0).astype(np.int8) + (y < 0.0)  # int8 is four times as fast as int64
    is_outside = x * x + y * y > delta * delta
    return np.asarray(is_outside * quadrant)


def _make_table(base: Array, high: float) -> NDArray[np.float32]:
    """Returns a parameter of the rewards for each region and each action: [5, 5]."""
    table = np.tile(base, (NUM_ACTIONS, 1))
    for quadrant in range(1, NUM_ACTIONS):
        table[quadrant, quadrant] = high
    return table.astype(np.float32)
