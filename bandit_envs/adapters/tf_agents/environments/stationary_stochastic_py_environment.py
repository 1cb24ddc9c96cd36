"""The replacement of TF-Agents' module `stationary_stochastic_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.rewards.action_models import ActionRewards
from bandit_envs.sampling import SamplingFunction
from bandit_envs.seeding import Seed

__all__ = ["StationaryStochasticPyEnvironment"]


@configurable("stationary_stochastic_py_environment")
class StationaryStochasticPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticPyEnvironment`.

    Args:
        context_sampling_fn, reward_fns, constraint_fns, batch_size, name, seed: as for
            `bandit_envs.StationaryStochasticPyEnvironment`.
    """

    def __init__(
        self,
        context_sampling_fn: SamplingFunction,
        reward_fns: ActionRewards,
        constraint_fns: ActionRewards | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            environments.StationaryStochasticPyEnvironment(
                context_sampling_fn, reward_fns, constraint_fns, batch_size, name, seed=seed
            )
        )
        self._name = name
