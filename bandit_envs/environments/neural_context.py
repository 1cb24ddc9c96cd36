"""Contextual bandits with the nonlinear rewards that neural policies are compared on."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bandit_envs.base.arrays import Array
from bandit_envs.base.checks import check_integer, shown
from bandit_envs.base.state import split_seed
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.rewards import FunctionReward
from bandit_envs.sampling import Normal, UnitSphere


def square(parameter: Array, x: Array) -> Array:
    """Returns 10 (x . a)^2."""
    return np.asarray(10.0 * np.square(x @ parameter))


def quadratic(parameter: Array, x: Array) -> Array:
    """Returns x^T A^T A x."""
    return np.asarray(np.square(x @ parameter.T).sum(axis=-1))


def cosine(parameter: Array, x: Array) -> Array:
    """Returns cos(3 x . a)."""
    return np.asarray(np.cos(3.0 * (x @ parameter)))


FUNCTIONS = {"square": square, "quadratic": quadratic, "cosine": cosine}


def neural_context(
    function: str = "cosine",
    dim: int = 20,
    num_actions: int = 4,
    noise_std: float = 1.0,
    batch_size: int = 1,
    **options: Any,
) -> StationaryStochasticPerArmPyEnvironment:
    """Contextual bandit with nonlinear rewards: a mean of h(x), for features x of each action.

    The vectors x have length 1, and `function` names h: "square" for 10 (x . a)^2, "quadratic" for
    x^T A^T A x, or "cosine" for cos(3 x . a). The vector a, of length 1, and the matrix A, of
    standard normal entries, are drawn from `seed`. There are no features of users.

    Source: Zhou, Li & Gu, Neural contextual bandits with UCB-based exploration (2020), section 7.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"function is {shown(function)}; expected one of {', '.join(FUNCTIONS)}")
    rng, options["seed"] = split_seed(options.get("seed"))
    size = check_integer("dim", dim, minimum=1)
    if function == "quadratic":
        parameter = rng.standard_normal((size, size))
    else:
        parameter = UnitSphere(size)(rng, ()).astype(np.float64)
    reward = FunctionReward(functools.partial(FUNCTIONS[function], parameter), noise_std)
    options = {"batch_size": batch_size, "name": "neural_context", **options}
    return StationaryStochasticPerArmPyEnvironment(
        Normal(0), UnitSphere(size), num_actions, reward, **options
    )
