"""The replacement of TF-Agents' module `piecewise_stochastic_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np

from bandit_envs.adapters.tf_agents.environments.non_stationary_stochastic_environment import (
    NonStationaryStochasticEnvironment,
)
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.linear_dynamics import (
    LinearDynamics,
    linear_samplers,
)
from bandit_envs.adapters.tf_agents.tfp_distributions import Distribution, DistributionSampler
from bandit_envs.environments.contexts.piecewise_linear import PiecewiseLinearBandit
from bandit_envs.seeding import Seed

__all__ = ["PiecewiseStationaryDynamics", "PiecewiseStochasticEnvironment"]


@configurable("piecewise_stochastic_environment")
class PiecewiseStationaryDynamics(LinearDynamics):
    """The replacement of TF-Agents' `PiecewiseStationaryDynamics`, on a `PiecewiseLinearBandit`.

    Args:
        observation_distribution: of contexts, with batch shape [B, d].
        interval_distribution: of the length of a piece, in samples; a number.
        observation_to_reward_distribution: of the weights of a piece, [d, K].
        additive_reward_distribution: of what a piece adds to the rewards, [K].
        seed: as for `bandit_envs.PiecewiseLinearBandit`. TF-Agents draws with TensorFlow's seed.
    """

    def __init__(
        self,
        observation_distribution: Distribution,
        interval_distribution: Distribution,
        observation_to_reward_distribution: Distribution,
        additive_reward_distribution: Distribution,
        *,
        seed: Seed = None,
    ) -> None:
        contexts, weights = linear_samplers(
            observation_distribution,
            observation_to_reward_distribution,
            additive_reward_distribution,
        )
        super().__init__(
            PiecewiseLinearBandit(
                contexts,
                DistributionSampler("interval_distribution", interval_distribution, np.int64),
                weights,
                DistributionSampler("additive_reward_distribution", additive_reward_distribution),
                contexts.num_rows,
                count_samples=True,
                seed=seed,
            )
        )


@configurable("piecewise_stochastic_environment")
class PiecewiseStochasticEnvironment(NonStationaryStochasticEnvironment):
    """The replacement of TF-Agents' `PiecewiseStochasticEnvironment`.

    It takes the arguments of `PiecewiseStationaryDynamics`.
    """

    def __init__(
        self,
        observation_distribution: Distribution,
        interval_distribution: Distribution,
        observation_to_reward_distribution: Distribution,
        additive_reward_distribution: Distribution,
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            PiecewiseStationaryDynamics(
                observation_distribution,
                interval_distribution,
                observation_to_reward_distribution,
                additive_reward_distribution,
                seed=seed,
            )
        )
