"""The replacement of TF-Agents' module `stationary_stochastic_per_arm_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from tf_agents.bandits.environments.stationary_stochastic_per_arm_py_environment import (
    GLOBAL_KEY,
    NUM_ACTIONS_KEY,
    PER_ARM_KEY,
)

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.arrays import Array
from bandit_envs.rewards.item_models import RewardFunction
from bandit_envs.sampling import SamplingFunction
from bandit_envs.seeding import Seed

__all__ = [
    "GLOBAL_KEY",
    "NUM_ACTIONS_KEY",
    "PER_ARM_KEY",
    "StationaryStochasticPerArmPyEnvironment",
]


class _PerArmOfAnyAction(environments.StationaryStochasticPerArmPyEnvironment):
    """The per-arm bandit that also rewards the actions beyond `num_actions`, as TF-Agents' does."""

    def _check_available(self, action: Array) -> None:
        """Accepts every action."""

    def _state_owner(self) -> str:
        return environments.StationaryStochasticPerArmPyEnvironment.__name__


@configurable("stationary_stochastic_per_arm_py_environment")
class StationaryStochasticPerArmPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    As there, actions beyond `num_actions` are rewarded too.

    The arguments are those of `bandit_envs.StationaryStochasticPerArmPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: SamplingFunction,
        arm_context_sampling_fn: SamplingFunction,
        max_num_actions: int,
        reward_fn: RewardFunction,
        num_actions_fn: SamplingFunction | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_per_arm",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            _PerArmOfAnyAction(
                global_context_sampling_fn,
                arm_context_sampling_fn,
                max_num_actions,
                reward_fn,
                num_actions_fn,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name
