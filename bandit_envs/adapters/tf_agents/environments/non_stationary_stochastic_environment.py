"""The replacement of TF-Agents' module `non_stationary_stochastic_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.bandits.environments.non_stationary_stochastic_environment import (
    EnvironmentDynamics,
)

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.linear_dynamics import (
    LinearDynamics,
)
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment
from bandit_envs.adapters.tf_agents.users import from_tf_agents_spec
from bandit_envs.arrays import Array, Indices, Rng, take_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import short_repr
from bandit_envs.nests import Nest, map_structure

__all__ = ["EnvironmentDynamics", "NonStationaryStochasticEnvironment"]


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


@configurable("non_stationary_stochastic_environment")
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
