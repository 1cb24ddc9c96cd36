"""A bandit of this package as an environment of TensorFlow that knows what was optimal."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import DTypeLike
from tf_agents.environments import tf_py_environment
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.environment import STEPPING, TFAgentsBanditEnvironment
from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.wrappers import Wrapper


class Clock:
    """Counts samples, and orders what functions of NumPy do in a graph.

    TensorFlow orders operations that use one variable as they stand in the program. So a function
    that runs between a read and an assignment of the variable runs after what stands before it,
    such as the step of an environment, and before what stands behind it.
    """

    def __init__(self) -> None:
        self.time = tf.Variable(0, trainable=False, dtype=tf.int64, name="env_time")

    def run(self, function: Callable[[], Nest], samples: int = 0) -> Nest:
        """Returns the tensors of `function()` and then adds `samples` to the time."""
        with tf.control_dependencies([self.time.read_value()]):
            tensors = function()
        with tf.control_dependencies(tf.nest.flatten(tensors)):
            self.time.assign_add(samples)
        return tensors

    def run_in_numpy(
        self, function: Callable[..., Array], tensors: Nest, dtype: DTypeLike
    ) -> tf.Tensor:
        """Returns what `function` makes of the arrays in `tensors`: a tensor [B] of `dtype`."""

        def call(*arrays: Array) -> Array:
            with STEPPING:
                return np.asarray(function(*arrays), dtype)

        def operation() -> tf.Tensor:
            return tf.numpy_function(call, tf.nest.flatten(tensors), dtype)

        found = self.run(operation)
        found.set_shape([None])
        return found


class BanditTFPyEnvironment(tf_py_environment.TFPyEnvironment):
    """A bandit as an environment of TensorFlow with a clock, as TF-Agents' have one.

    Args:
        bandit: a bandit without a horizon. From now on, use it through this one only.
        clock: the clock that it advances; by default, its own.
    """

    def __init__(
        self, bandit: BanditPyEnvironment[Any] | Wrapper, clock: Clock | None = None
    ) -> None:
        super().__init__(TFAgentsBanditEnvironment(bandit))
        self._bandit = bandit
        self._clock = Clock() if clock is None else clock

    @property
    def _env_time(self) -> tf.Variable:
        """The number of samples so far, under the name that TF-Agents' tests read."""
        return self._clock.time

    def set_state(self, state: Any) -> None:
        """Returns to a `state` of `get_state`, and to its time step."""
        self.pyenv.set_state(state)
        self._time_step = self.pyenv._current_time_step

    def _step(self, actions: Nest) -> ts.TimeStep:
        # As in TF-Agents, actions may have another dtype.
        cast = tf.nest.map_structure(self._taken, self.action_spec(), actions)

        def step() -> ts.TimeStep:
            return super(BanditTFPyEnvironment, self)._step(cast)

        return self._clock.run(step, self.batch_size)

    def _taken(self, spec: tf.TensorSpec, action: tf.Tensor) -> tf.Tensor:
        """Returns an action as the bandit takes it."""
        return tf.cast(action, spec.dtype)


def bandit_of(name: str, environment: tf_py_environment.TFPyEnvironment) -> PyEnvironment:
    """Returns the environment of this package that an argument is, in TensorFlow or not."""
    found = environment
    if isinstance(found, tf_py_environment.TFPyEnvironment):
        found = found.pyenv
    if hasattr(found, "wrapped_env") and not isinstance(found, PyEnvironment):
        found = found.wrapped_env()
    if not isinstance(found, PyEnvironment):
        expected = "expected an environment of bandit_envs, in TensorFlow or not"
        raise TypeError(f"{name} is {environment!r}; {expected}")
    return found
