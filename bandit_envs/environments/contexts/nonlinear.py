"""The contextual bandit with the nonlinear rewards that neural policies are compared on."""

from __future__ import annotations

import functools
import typing

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.environments.contexts.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.rewards import FunctionReward
from bandit_envs.sampling import Normal, UnitSphere
from bandit_envs.seeding import split_seed


def square(parameter: Floats, x: Array) -> Floats:
    """Returns 10 (x . a)^2 for features x [..., dim] and a vector a [dim]: [...]."""
    return np.asarray(10.0 * np.square(x @ parameter))


def quadratic(parameter: Floats, x: Array) -> Floats:
    """Returns x^T A^T A x for features x [..., dim] and a matrix A [dim, dim]: [...]."""
    return np.asarray(np.square(x @ parameter.T).sum(axis=-1))


def cosine(parameter: Floats, x: Array) -> Floats:
    """Returns cos(3 x . a) for features x [..., dim] and a vector a [dim]: [...]."""
    return np.asarray(np.cos(3.0 * (x @ parameter)))


FUNCTIONS = {"square": square, "quadratic": quadratic, "cosine": cosine}


def neural_context(
    function: str = "cosine",
    dim: int = 20,
    num_actions: int = 4,
    noise_std: float = 1.0,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> StationaryStochasticPerArmPyEnvironment:
    """Contextual bandit whose mean reward is a nonlinear function h of the features of an action.

        R_t ~ N(h(x), noise_std^2),    x = the features of A_t ~ uniform on the unit sphere
        h(x) = 10 (x . a)^2 ("square"),  x^T A^T A x ("quadratic")  or  cos(3 x . a) ("cosine")

    The vector a, of length 1, and the matrix A, of standard normal entries, are drawn from `seed`.
    Every step has new features. There are none of users: the observation is a dict of `global`
    [B, 0] and `per_arm` [B, K, dim].

    Args:
        function: the name of h.
        dim: the features of an action.
        num_actions: K.
        noise_std: the standard deviation of the noise, at least 0.
        batch_size: B.
        options: `seed`, `horizon` and `name`.

    Source: Zhou, Li & Gu, Neural contextual bandits with UCB-based exploration (2020), section 7.

    >>> env = neural_context("square", dim=3, num_actions=5, batch_size=2, seed=0)
    >>> env.reset().observation["per_arm"].shape
    (2, 5, 3)
    """
    if function not in FUNCTIONS:
        expected = ", ".join(FUNCTIONS)
        raise ValueError(f"function is {short_repr(function)}; expected one of {expected}")
    rng, options["seed"] = split_seed(options.get("seed"))
    size = check_integer("dim", dim, minimum=1)
    count = check_integer("num_actions", num_actions, minimum=1)
    sphere = UnitSphere(size)
    if function == "quadratic":
        parameter = rng.standard_normal((size, size))
    else:
        parameter = sphere.sample(rng, ()).astype(np.float64)
    reward = FunctionReward(functools.partial(FUNCTIONS[function], parameter), noise_std)
    options.setdefault("name", "neural_context")
    return StationaryStochasticPerArmPyEnvironment(
        Normal(0), sphere, count, reward, batch_size=batch_size, **options
    )
