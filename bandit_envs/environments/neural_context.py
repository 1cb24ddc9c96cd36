"""The contextual bandit with the nonlinear rewards that neural policies are compared on."""

from __future__ import annotations

import functools
import typing

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.rewards import FunctionReward
from bandit_envs.sampling import Normal, UnitSphere
from bandit_envs.seeding import split_seed

FUNCTIONS = "square", "quadratic", "cosine"


def _mean(function: str, parameter: Array, x: Array) -> Array:
    products = x @ parameter.T
    if function == "cosine":
        return np.asarray(np.cos(3.0 * products))
    squares = np.square(products)
    return np.asarray(10.0 * squares if function == "square" else squares.sum(axis=-1))


class NeuralContextBandit(StationaryStochasticPerArmPyEnvironment):
    """Contextual bandit whose mean reward is a nonlinear function h of the features of an action.

        R_t ~ N(h(x), noise_std^2),    x = the features of A_t ~ uniform on the unit sphere
        h(x) = 10 (x . a)^2 ("square"),  x^T A^T A x ("quadratic")  or  cos(3 x . a) ("cosine")

    The argument `function` names h. The vector a, of length 1, and the matrix A, of standard normal
    entries, are drawn from `seed`. There are no features of users.

    Source: Zhou, Li & Gu, Neural contextual bandits with UCB-based exploration (2020), section 7.

    >>> env = NeuralContextBandit("square", dim=3, num_actions=5, batch_size=2, seed=0)
    >>> env.reset().observation["per_arm"].shape
    (2, 5, 3)
    """

    def __init__(
        self,
        function: str = "cosine",
        dim: int = 20,
        num_actions: int = 4,
        noise_std: float = 1.0,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        if function not in FUNCTIONS:
            expected = ", ".join(FUNCTIONS)
            raise ValueError(f"function is {short_repr(function)}; expected one of {expected}")
        rng, options["seed"] = split_seed(options.get("seed"))
        size = check_integer("dim", dim, minimum=1)
        if function == "quadratic":
            parameter = rng.standard_normal((size, size))
        else:
            parameter = UnitSphere(size).sample(rng, ()).astype(np.float64)
        reward = FunctionReward(functools.partial(_mean, function, parameter), noise_std)
        features = Normal(0), UnitSphere(size)
        options = {"name": type(self).__name__, **options}
        super().__init__(*features, num_actions, reward, batch_size=batch_size, **options)
