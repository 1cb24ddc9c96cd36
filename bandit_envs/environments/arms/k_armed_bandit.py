"""The bandit whose arms have any distributions."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_parameters
from bandit_envs.rewards import Corrupted, NormalReward, as_distribution


class KArmedBandit(BanditPyEnvironment["Indices | None"]):
    """A bandit whose arms have any distributions. Each row is an independent run.

        R_t ~ the distribution of arm A_t

    The distributions never change. The state says whose arms a row has: those of the rows [B] of
    the parameters; None for its own. The observation is one constant feature, 1.0. The expected
    rewards are unknown if an arm has no finite mean.

    Args:
        arms: a `rewards.RewardDistribution` of all arms, with parameters [K], or [B, K] for a
            problem a row; or a sequence of K distributions of one arm each. Any of these may be a
            frozen distribution of SciPy.
        batch_size: B.

    Source: Lattimore & Szepesvari, Bandit Algorithms (2020), section 4.

    >>> from bandit_envs import rewards
    >>> env = KArmedBandit([rewards.Bernoulli(0.7), rewards.Gamma(2.0, 0.5)], batch_size=3, seed=0)
    >>> time_step = env.reset()
    >>> env.expected_rewards()[0].tolist(), env.step([0, 1, 0]).reward.shape
    ([0.7, 1.0], (3,))
    """

    independent_rows = True

    def __init__(self, arms: Any, batch_size: int = 1, **options: typing.Unpack[Options]) -> None:
        self._distribution = as_distribution("arms", arms)
        num_actions = np.atleast_1d(self._distribution.mean).shape[-1]
        reward_spec = self._distribution.spec
        super().__init__(None, num_actions, reward_spec, batch_size=batch_size, **options)
        self._means = self._distribution.means(self._batch_size)

    def _initial_state(self, rng: Rng) -> Indices | None:
        return None

    def _expected_rewards(self, state: Indices | None) -> Array:
        if not np.isfinite(self._means).all():
            raise NotImplementedError(f"an arm of {self._name} has no finite mean")
        return self._means if state is None else self._means[state]

    def _draw_rewards(self, rng: Rng, state: Indices | None, action: Indices) -> Array:
        if state is None:
            return self._distribution.draw(rng, action)
        return self._distribution.draw(rng, action, state)

    def _share(self, state: Indices | None) -> Indices:
        return np.zeros(self._batch_size, np.intp)


def k_armed(
    means: ArrayLike = (0.0, 0.2, 0.4, 0.6, 0.8),
    stds: ArrayLike = 1.0,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> KArmedBandit:
    """Normal arms; `means` are [K], `stds` [K] or one number for all arms.

        R_t ~ N(means[A_t], stds[A_t]^2)

    Source: rlberry-research's `NormalBandit`.
    """
    return KArmedBandit(_normal_arms(means, stds), batch_size=batch_size, **options)


def corrupted_k_armed(
    means: ArrayLike = (0.0, 0.2, 0.4, 0.6, 0.8),
    stds: ArrayLike = 1.0,
    cor_prop: float = 0.05,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> KArmedBandit:
    """Normal arms, of whose rewards a proportion `cor_prop` is replaced by N(1000, 1).

        R_t ~ (1 - cor_prop) N(means[A_t], stds[A_t]^2) + cor_prop N(1000, 1)

    Source: rlberry-research's `CorruptedNormalBandit`.
    """
    (proportion,) = check_parameters(cor_prop=(cor_prop, 0.0, 1.0))
    arms = Corrupted(_normal_arms(means, stds), proportion, NormalReward(1000.0))
    return KArmedBandit(arms, batch_size=batch_size, **options)


def _normal_arms(means: ArrayLike, stds: ArrayLike) -> NormalReward:
    """Returns normal arms; messages call the parameters as the presets do."""
    mean, std = check_parameters(
        means=(means, -MAX_PARAMETER, MAX_PARAMETER), stds=(stds, 0.0, MAX_PARAMETER)
    )
    return NormalReward(mean, std)
