"""The replacement of TF-Agents' module `wheel_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.environments.contexts import wheel
from bandit_envs.seeding import Seed

__all__ = ["WheelPyEnvironment", "compute_optimal_action", "compute_optimal_reward"]


@configurable("wheel_py_environment")
def compute_optimal_action(observation: ArrayLike, delta: float) -> NDArray[np.int32]:
    """Returns the action of the region of each context [B, 2]: [B].

    It is optimal if `mu_high` is at least `mu_base[0]`.
    """
    return wheel.compute_optimal_action(observation, delta)


@configurable("wheel_py_environment")
def compute_optimal_reward(
    observation: ArrayLike, delta: float, mu_inside: float, mu_high: float
) -> NDArray[np.float32]:
    """Returns the mean reward of `compute_optimal_action`: [B].

    It is `mu_inside` up to the radius `delta`, and `mu_high` outside.
    """
    return wheel.compute_optimal_reward(observation, delta, mu_inside, mu_high)


@configurable("wheel_py_environment")
class WheelPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `WheelPyEnvironment`.

    Args:
        delta, mu_base, std_base, mu_high, std_high, batch_size, name, seed: as for
            `bandit_envs.WheelPyEnvironment`.
    """

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
    ) -> None:
        super().__init__(
            environments.WheelPyEnvironment(
                delta, mu_base, std_base, mu_high, std_high, batch_size, name, seed=seed
            )
        )
        self._name = name
