"""The bandit whose arms change with the number of their own pulls: they rot or rise."""

from __future__ import annotations

import functools
import typing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, check_table
from bandit_envs.base.hook_results import RunOptimum

PULLS = np.arange(1.0, 1001.0)


class RestedBandit(BanditPyEnvironment[NDArray[np.int32]]):
    """A bandit whose arms change each time they are pulled. Each row is an independent run.

        R_t ~ N(means[A_t, n], std^2),    n = the pulls of A_t so far

    The last mean lasts. Arms are rotting if their means do not increase, and rising if they do not
    decrease. `optimal_action` looks one step ahead, which for rotting arms is optimal in the long
    run as well; for others, it is not, and `optimum_of_run` says what the best policy earns. A
    reset starts all arms anew.

    Args:
        means: [K, N], N of each arm.
        std: the standard deviation of rewards, at least 0.
        batch_size: B.

    Source: Levine, Crammer & Mannor, Rotting bandits (2017); Metelli et al., Stochastic rising
    bandits (2022).

    >>> env = RestedBandit([[1.0, 0.5, 0.0], [0.75, 0.75, 0.75]], std=0.0, seed=0)
    >>> time_step = env.reset()
    >>> [env.step(env.optimal_action()).reward.item() for _ in range(3)]
    [1.0, 0.75, 0.75]
    """

    independent_rows = True
    actions_change_state = True

    def __init__(
        self,
        means: ArrayLike,
        std: float = 1.0,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        self._means = check_table("means", means, ndim=2).astype(np.float32)
        self._std = np.float32(check_number("std", std, 0.0, MAX_PARAMETER))
        num_arms, length = self._means.shape
        super().__init__(None, num_arms, batch_size=batch_size, **options)
        self._first = np.arange(num_arms) * length  # where the means of each arm begin
        self._one_pull = np.eye(num_arms, dtype=np.int32)

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        pulls = np.arange(check_integer("num_steps", num_steps, minimum=1))
        means = self._means[:, np.minimum(pulls, self._means.shape[1] - 1)].astype(np.float64)
        changes = np.diff(means, axis=1)
        falls = (changes <= 0.0).all(axis=1)
        rises = (changes >= 0.0).all(axis=1) & ~falls
        groups = [mean.cumsum() for mean in means[~(falls | rises)]]
        if falls.any():  # the largest means can be taken first
            groups.append(np.sort(means[falls], axis=None)[::-1][: len(pulls)].cumsum())
        if rises.any():  # to share the pulls of a run is worse than to give all to one arm
            groups.append(means[rises].cumsum(axis=1).max(axis=0))
        return RunOptimum(functools.reduce(_share_pulls, groups), "all policies")

    def _initial_state(self, rng: Rng) -> NDArray[np.int32]:
        return np.zeros((self._batch_size, self.num_actions), np.int32)

    def _expected_rewards(self, state: NDArray[np.int32]) -> Array:
        return self._means_after(state, self._first)

    def _expected_reward(self, state: NDArray[np.int32], action: Indices) -> Array:
        return self._means_after(self._of_action(state, action), self._first.take(action))

    def _draw_rewards(self, rng: Rng, state: NDArray[np.int32], action: Indices) -> Array:
        rewards = rng.standard_normal(self._batch_size, np.float32)
        rewards *= self._std
        rewards += self._expected_reward(state, action)
        return rewards

    def _next_state(self, rng: Rng, state: NDArray[np.int32], action: Indices) -> NDArray[np.int32]:
        return state + self._one_pull.take(action, axis=0)

    def _share(self, state: NDArray[np.int32]) -> NDArray[np.int32]:
        return state  # a user wears out arms alone

    def _means_after(self, pulls: NDArray[np.int32], first: Indices) -> Array:
        """Returns the means after so many `pulls` of the arms whose means begin at `first`."""
        return np.asarray(self._means.take(first + np.minimum(pulls, self._means.shape[1] - 1)))


def _share_pulls(one: Floats, others: Floats) -> Floats:
    """Returns the most that 1 to T pulls can earn if they are shared by two groups of arms: [T].

    It is a convolution with the maximum in place of the sum.

    Args:
        one: the most that 1 to T pulls of the first group earn: [T].
        others: likewise of the second group.
    """
    first = np.append(0.0, one)
    second = np.append(0.0, others)
    pulls = range(1, len(first))
    return np.array([(first[: n + 1] + second[n::-1]).max() for n in pulls])


def rotting(
    starts: ArrayLike = (1.0, 0.8, 0.6, 0.4),
    rate: float = 0.25,
    std: float = 0.2,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> RestedBandit:
    """Arms whose mean falls with the number n of their pulls. Each row is an independent run.

        R_t ~ N(starts[A_t] / n^rate, std^2)

    The mean stays as it is after 1000 pulls.

    Args:
        starts: the means of the first pulls: [K].
        rate: how fast means fall, at least 0.
        std: the standard deviation of rewards.
        batch_size: B.
        options: `seed`, `horizon` and `name`.

    >>> env = rotting([1.0, 0.75], rate=1.0, std=0.0)
    >>> time_step = env.reset()
    >>> [env.step([0]).reward.item() for _ in range(2)], env.optimal_action()
    ([1.0, 0.5], array([1], dtype=int32))
    """
    factors = PULLS ** -check_number("rate", rate, 0.0)
    means = np.multiply.outer(check_table("starts", starts, 1, 0.0), factors)
    options.setdefault("name", "rotting")
    return RestedBandit(means, std, batch_size, **options)


def rising(
    ends: ArrayLike = (0.4, 0.6, 0.8, 1.0),
    rates: ArrayLike = (0.1, 0.05, 0.02, 0.01),
    std: float = 0.2,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> RestedBandit:
    """Arms whose mean rises with the number n of their pulls. Each row is an independent run.

        R_t ~ N(ends[A_t] (1 - exp(-rates[A_t] n)), std^2)

    The mean stays as it is after 1000 pulls.

    Args:
        ends: what the means rise to: [K].
        rates: how fast they rise, at least 0: [K].
        std: the standard deviation of rewards.
        batch_size: B.
        options: `seed`, `horizon` and `name`.

    >>> env = rising([0.5, 1.0], rates=[1.0, 0.1], std=0.0)
    >>> time_step = env.reset()
    >>> [round(env.step([1]).reward.item(), 2) for _ in range(3)]
    [0.1, 0.18, 0.26]
    """
    speeds = check_table("rates", rates, 1, 0.0)
    limits = check_table("ends", ends, 1, 0.0)
    if speeds.shape != limits.shape:
        raise ValueError(f"rates has {len(speeds)} numbers; expected {len(limits)}, as ends")
    means = limits[:, np.newaxis] * -np.expm1(np.multiply.outer(-speeds, PULLS))
    options.setdefault("name", "rising")
    return RestedBandit(means, std, batch_size, **options)
