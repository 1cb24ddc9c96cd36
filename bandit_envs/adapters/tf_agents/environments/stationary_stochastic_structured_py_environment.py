"""The replacement of TF-Agents' module `stationary_stochastic_structured_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

from tf_agents.bandits.environments.stationary_stochastic_structured_py_environment import (
    GLOBAL_KEY,
    PER_ARM_KEY,
)

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed

__all__ = ["GLOBAL_KEY", "PER_ARM_KEY", "StationaryStochasticStructuredPyEnvironment"]


@configurable("stationary_stochastic_structured_py_environment")
class StationaryStochasticStructuredPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticStructuredPyEnvironment`.

    The arguments are those of `bandit_envs.StationaryStochasticStructuredPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: Nest,
        arm_context_sampling_fn: Nest,
        num_actions: int,
        reward_fn: Any,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_structured",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            environments.StationaryStochasticStructuredPyEnvironment(
                global_context_sampling_fn,
                arm_context_sampling_fn,
                num_actions,
                reward_fn,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name
