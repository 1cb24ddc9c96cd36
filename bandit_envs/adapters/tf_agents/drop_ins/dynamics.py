"""Replacements of TF-Agents' non-stationary environments of TensorFlow."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.bandits.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
)
from tf_agents.specs import tensor_spec

from bandit_envs.adapters.tf_agents.distributions import (
    Distribution,
    DistributionSampler,
    check_distribution,
    draw,
)
from bandit_envs.adapters.tf_agents.drop_ins.bandits import configurable
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment, Clock
from bandit_envs.adapters.tf_agents.users import from_tf_agents_spec
from bandit_envs.arrays import Array, Indices, Rng, take_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import short_repr
from bandit_envs.environments.contexts.drifting_linear import (
    DriftingLinearBandit,
    DriftingLinearState,
)
from bandit_envs.environments.contexts.piecewise_linear import PiecewiseLinearBandit
from bandit_envs.nests import Nest, map_structure
from bandit_envs.seeding import Seed


class LinearDynamics:
    """Dynamics whose expected rewards are linear in the observation.

    It is what `NonStationaryStochasticEnvironment` is made of, and knows what is optimal.

    Args:
        bandit: the bandit that steps.
    """

    def __init__(self, bandit: DriftingLinearBandit | PiecewiseLinearBandit) -> None:
        self.bandit = bandit
        self.clock = Clock()

    @property
    def batch_size(self) -> int:
        """The number of rows, B."""
        return self.bandit.batch_size

    @property
    def observation_spec(self) -> tf.TensorSpec:
        """The spec of one row's observation."""
        spec = self.bandit.observation_spec()
        return tensor_spec.TensorSpec(spec.shape, spec.dtype, "observation_spec")

    @property
    def action_spec(self) -> tensor_spec.BoundedTensorSpec:
        """The spec of one row's action."""
        last = self.bandit.num_actions - 1
        return tensor_spec.BoundedTensorSpec((), tf.int32, 0, last, "action")

    def compute_optimal_reward(self, observation: tf.Tensor) -> tf.Tensor:
        """Returns the largest expected reward of each row of an observation [B, d]: [B].

        Weights and additive rewards are those of the last step. TF-Agents' function leaves the mean
        of the additive rewards out.
        """

        def largest(contexts: Array) -> Array:
            return np.asarray(self._means_of_last_step(contexts).max(axis=1))

        return self.clock.run_in_numpy(largest, observation, np.float32)

    def compute_optimal_action(self, observation: tf.Tensor) -> tf.Tensor:
        """Returns the action with the largest expected reward, as `compute_optimal_reward`: [B]."""

        def best(contexts: Array) -> Array:
            return np.asarray(self._means_of_last_step(contexts).argmax(axis=1))

        return self.clock.run_in_numpy(best, observation, np.int32)

    def _means_of_last_step(self, contexts: Array) -> Array:
        """Returns the expected rewards of contexts [B, d] at the last step, or now: [B, K]."""
        now = self.bandit._bandit_state()
        state = now.state if now.action is None else now.previous
        return self.bandit._expected_rewards(state._replace(context=contexts))


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
        self._drift = drift
        self._additive_distribution = additive

    def _state_owner(self) -> str:
        return DriftingLinearBandit.__name__

    def _initial_state(self, rng: Rng) -> DriftingLinearState:
        state = super()._initial_state(rng)
        return state._replace(weights=self._rotate(rng, state.weights))

    def _draw_angle(self, rng: Rng) -> float:
        return float(draw(rng, self._drift))

    def _draw_additive(self, rng: Rng, action: Indices) -> Array:
        return draw(rng, self._additive_distribution).take(action)


@configurable
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
        contexts, weights = _linear_samplers(
            observation_distribution,
            observation_to_reward_distribution,
            additive_reward_distribution,
        )
        super().__init__(
            _DriftingLinearOfDistributions(
                contexts, weights, drift_distribution, additive_reward_distribution, seed
            )
        )


@configurable
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
        contexts, weights = _linear_samplers(
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


def _linear_samplers(
    observations: Distribution, weights: Distribution, additive: Distribution
) -> tuple[DistributionSampler, DistributionSampler]:
    """Returns the samplers of contexts and weights; ValueError if the shapes do not fit."""
    context_sampler = DistributionSampler("observation_distribution", observations)
    weights_sampler = DistributionSampler("observation_to_reward_distribution", weights)
    check_distribution("additive_reward_distribution", additive)
    for name, distribution, rank in (
        ("observation_distribution", observations, 2),
        ("additive_reward_distribution", additive, 1),
    ):
        found = distribution.batch_shape
        if len(found) != rank:
            raise ValueError(f"`{name}` must have batch shape with length {rank}; got {found}.")
    if additive.dtype != tf.float32:
        raise ValueError(f"Reward must have dtype float32; got {additive.dtype}")
    expected = (observations.batch_shape[1], additive.batch_shape[0])
    if tuple(weights.batch_shape) != expected:
        found = tuple(weights.batch_shape)
        raise ValueError(f"Observation to reward has {expected} as expected shape; got {found}")
    return context_sampler, weights_sampler


class _DynamicsState(NamedTuple):
    """The time in samples, the observation, and the values of the variables of the dynamics."""

    time: int
    observation: Nest
    variables: tuple[Array, ...]


class _BanditOfDynamics(BanditPyEnvironment[_DynamicsState]):
    """A bandit whose observations and rewards come from dynamics in TensorFlow.

    Args:
        dynamics: the dynamics, whose variables are theirs alone.
    """

    def __init__(self, dynamics: EnvironmentDynamics) -> None:
        super().__init__(
            map_structure(from_tf_agents_spec, dynamics.observation_spec),
            action_spec=from_tf_agents_spec(dynamics.action_spec),
            batch_size=int(dynamics.batch_size),
            name=type(dynamics).__name__,
        )
        self._dynamics = dynamics

    def _state_owner(self) -> str:
        return type(self._dynamics).__name__

    def _initial_state(self, rng: Rng) -> _DynamicsState:
        return self._state_at(0)

    def _next_episode(self, rng: Rng, state: _DynamicsState) -> _DynamicsState:
        return self._state_at(state.time)

    def _observe(self, state: _DynamicsState) -> Nest:
        return state.observation

    def _draw_rewards(self, rng: Rng, state: _DynamicsState, action: Indices) -> Array:
        for variable, value in zip(self._dynamics.variables, state.variables):
            variable.assign(value)  # those of a saved state, if one was restored
        observation = map_structure(tf.constant, state.observation)
        rewards = self._dynamics.reward(observation, tf.constant(state.time, tf.int64))
        return take_actions(np.asarray(rewards), action)

    def _next_state(self, rng: Rng, state: _DynamicsState, action: Indices) -> _DynamicsState:
        return self._state_at(state.time + self.batch_size)

    def _state_at(self, time: int) -> _DynamicsState:
        """Returns the state of the dynamics as they are, with the observation at a time."""
        observation = self._dynamics.observation(tf.constant(time, tf.int64))
        variables = tuple(variable.numpy() for variable in self._dynamics.variables)
        return _DynamicsState(time, map_structure(np.asarray, observation), variables)


@configurable
class NonStationaryStochasticEnvironment(BanditTFPyEnvironment):
    """The replacement of TF-Agents' `NonStationaryStochasticEnvironment`.

    Your own dynamics are called in TensorFlow, step by step, so they are slow. A saved state has
    the value of each `tf.Variable` in them, but not the position of TensorFlow's random generator.

    Args:
        environment_dynamics: `DriftingLinearDynamics` or `PiecewiseStationaryDynamics` of this
            package, or your own subclass of TF-Agents' `EnvironmentDynamics`.
    """

    def __init__(self, environment_dynamics: LinearDynamics | EnvironmentDynamics) -> None:
        if isinstance(environment_dynamics, LinearDynamics):
            super().__init__(environment_dynamics.bandit, environment_dynamics.clock)
        elif isinstance(environment_dynamics, EnvironmentDynamics):
            super().__init__(_BanditOfDynamics(environment_dynamics))
        else:
            expected = "expected EnvironmentDynamics"
            raise TypeError(
                f"environment_dynamics is {short_repr(environment_dynamics)}; {expected}"
            )
        self._environment_dynamics = environment_dynamics

    @property
    def environment_dynamics(self) -> LinearDynamics | EnvironmentDynamics:
        """The dynamics."""
        return self._environment_dynamics


@configurable
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


@configurable
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
