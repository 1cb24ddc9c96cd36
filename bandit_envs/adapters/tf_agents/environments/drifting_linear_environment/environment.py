"""The replacement of TF-Agents' environment that drifts."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from bandit_envs.adapters.tf_agents.environments.drifting_linear_environment.dynamics import (
    DriftingLinearDynamics,
)
from bandit_envs.adapters.tf_agents.environments.non_stationary_stochastic_environment import (
    NonStationaryStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.tfp_distributions import Distribution
from bandit_envs.seeding import Seed


@configurable("drifting_linear_environment")
class DriftingLinearEnvironment(NonStationaryStochasticEnvironment):
    """The replacement of TF-Agents' `DriftingLinearEnvironment`.

    It takes the arguments of `DriftingLinearDynamics`.
    """

    def __init__(
        self,
        observation_distribution: Distribution,
        observation_to_reward_distribution: Distribution,
        drift_distribution: Distribution,
        additive_reward_distribution: Distribution,
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            DriftingLinearDynamics(
                observation_distribution,
                observation_to_reward_distribution,
                drift_distribution,
                additive_reward_distribution,
                seed=seed,
            )
        )
