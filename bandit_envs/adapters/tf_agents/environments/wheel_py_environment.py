"""The replacement of TF-Agents' module `wheel_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from numpy.typing import ArrayLike

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.environments.contexts.wheel import compute_optimal_action, compute_optimal_reward
from bandit_envs.seeding import Seed

__all__ = ["WheelPyEnvironment", "compute_optimal_action", "compute_optimal_reward"]


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
