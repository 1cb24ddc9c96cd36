"""The replacement of TF-Agents' dynamics that drift."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.linear_dynamics import (
    LinearDynamics,
    linear_samplers,
)
from bandit_envs.adapters.tf_agents.tfp_distributions import (
    Distribution,
    DistributionSampler,
    check_distribution,
    sampler_of,
)
from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.environments.contexts.drifting_linear import (
    DriftingLinearBandit,
    DriftingLinearState,
)
from bandit_envs.seeding import Seed


class _DriftingLinearOfDistributions(DriftingLinearBandit):
    """The drifting bandit whose random numbers come from distributions of TensorFlow."""

    def __init__(
        self,
        contexts: DistributionSampler,
        weights: DistributionSampler,
        drift: Distribution,
        additive: Distribution,
        seed: Seed,
    ) -> None:
        super().__init__(
            contexts,
            weights,
            additive_mean=np.asarray(additive.mean()),
            batch_size=contexts.num_rows,
            shared_noise=True,
            seed=seed,
        )
        self._draw_drift = sampler_of(drift)
        self._draw_additive_rewards = sampler_of(additive)

    def _state_owner(self) -> str:
        return DriftingLinearBandit.__name__

    def _initial_state(self, rng: Rng) -> DriftingLinearState:
        state = super()._initial_state(rng)
        return state._replace(weights=self._rotate(rng, state.weights))

    def _draw_angle(self, rng: Rng) -> float:
        return float(self._draw_drift(rng, ()))

    def _draw_additive(self, rng: Rng, action: Indices) -> Array:
        return self._draw_additive_rewards(rng, ()).take(action)


@configurable("drifting_linear_environment")
class DriftingLinearDynamics(LinearDynamics):
    """The replacement of TF-Agents' `DriftingLinearDynamics`, on a `DriftingLinearBandit`.

    Args:
        observation_distribution: of contexts, with batch shape [B, d].
        observation_to_reward_distribution: of the weights, [d, K].
        drift_distribution: of the angle of a rotation, in radians; a number.
        additive_reward_distribution: of what is added to the rewards of all rows, [K].
        seed: as for `bandit_envs.DriftingLinearBandit`. TF-Agents draws with TensorFlow's seed.
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
        check_distribution("drift_distribution", drift_distribution)
        contexts, weights = linear_samplers(
            observation_distribution,
            observation_to_reward_distribution,
            additive_reward_distribution,
        )
        super().__init__(
            _DriftingLinearOfDistributions(
                contexts, weights, drift_distribution, additive_reward_distribution, seed
            )
        )
