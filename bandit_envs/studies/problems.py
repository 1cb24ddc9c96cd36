"""The environments of studies, made of numbers: a batch in which a number of runs can be made."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.checks import LARGEST, checked_number
from bandit_envs.environments import KArmedTestbed, StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal


def make_testbed(
    k: float = 10,
    value_mean: float = 0.0,
    value_std: float = 1.0,
    reward_std: float = 1.0,
    drift_std: float = 0.0,
    *,
    runs: int,
    seed: np.random.SeedSequence,
) -> KArmedTestbed:
    """Returns a testbed in which every row is a run.

    Raises:
        TypeError, ValueError: as for `KArmedTestbed`, or `k` is not an integer.
    """
    return KArmedTestbed(
        _whole("k", k),
        batch_size=runs,
        seed=seed,
        value_mean=value_mean,
        value_std=value_std,
        reward_std=reward_std,
        drift_std=drift_std,
    )


def make_per_arm(
    global_dim: float = 40,
    arm_dim: float = 50,
    arms: float = 70,
    batch_size: float = 20,
    noise: float = 1.0,
    *,
    runs: int,
    seed: np.random.SeedSequence,
) -> StationaryStochasticPerArmPyEnvironment:
    """Returns a per-arm bandit of one run, whatever `runs` is: its rows share a problem.

    Features are standard normal; theta is drawn so that the mean reward has variance 1.

    Raises:
        TypeError, ValueError: as for the environment and its parts, or a size is not an integer.
    """
    theta_seed, env_seed = seed.spawn(2)
    users, items = Normal(_whole("global_dim", global_dim)), Normal(_whole("arm_dim", arm_dim))
    dim = users.spec.shape[0] + items.spec.shape[0]
    theta = np.random.default_rng(theta_seed).standard_normal(dim) / np.sqrt(dim)
    return StationaryStochasticPerArmPyEnvironment(
        users,
        items,
        _whole("arms", arms),
        LinearReward(theta, checked_number("noise", noise, 0.0, LARGEST)),
        batch_size=_whole("batch_size", batch_size),
        seed=env_seed,
    )


def _whole(name: str, value: float) -> int:
    number = checked_number(name, value)
    if number != int(number):
        raise ValueError(f"{name} is {number:g}; expected an integer")
    return int(number)
