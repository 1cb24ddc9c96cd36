"""A bandit of this package as an environment of TensorFlow that knows what was optimal."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.environment import (
    STEPPING,
    TFAgentsBanditEnvironment,
    remedy_for,
    warn_of_misuse,
)
from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is, numpy_function
from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.wrappers import Wrapper


class Clock:
    """Counts samples, and calls functions of NumPy from TensorFlow in the order of the program.

    In a graph, TensorFlow orders operations that use one variable as they stand in the program. So
    a function that runs between a read and an assignment of the variable runs after what stands
    before it, such as the step of an environment, and before what stands behind it. In eager mode,
    a function is called where it stands, without operations of TensorFlow around it, each of which
    takes longer than a step.

    Attributes:
        time: the number of samples so far.
    """

    def __init__(self) -> None:
        self.time = tf.Variable(0, trainable=False, dtype=tf.int64, name="env_time")

    @as_it_is
    def run(
        self,
        function: Callable[..., Sequence[Array]],
        tensors: Nest,
        specs: Sequence[tf.TensorSpec],
        samples: int = 0,
    ) -> list[tf.Tensor]:
        """Returns tensors of what `function` returns, and then adds `samples` to the time.

        Args:
            function: takes an array for each of `tensors`, and returns one for each of `specs`.
            tensors: a nest.
            specs: the shapes and dtypes of what `function` returns.
            samples: how many samples the function takes.
        """

        def call(*arrays: Array) -> Sequence[Array]:
            with STEPPING:
                return function(*arrays)

        flat = tf.nest.flatten(tensors)
        if tf.executing_eagerly():
            arrays = call(*map(np.asarray, flat))
            if samples:
                self.time.assign_add(samples)
            return [tf.constant(array, spec.dtype) for array, spec in zip(arrays, specs)]
        with tf.control_dependencies([self.time.read_value()]):
            results = numpy_function(call, flat, [spec.dtype for spec in specs])
        for result, spec in zip(results, specs):
            result.set_shape(spec.shape)
        with tf.control_dependencies(results):
            self.time.assign_add(samples)
        return list(results)

    @as_it_is
    def run_for_rows(
        self, function: Callable[..., Array], tensors: Nest, dtype: tf.DType
    ) -> tf.Tensor:
        """Returns what `function` makes of the arrays in `tensors`: a tensor [B] of `dtype`."""

        def call(*arrays: Array) -> list[Array]:
            return [function(*arrays).astype(dtype.as_numpy_dtype)]

        (found,) = self.run(call, tensors, [tf.TensorSpec([None], dtype)])
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
        specs = tensor_spec.add_outer_dim(self.time_step_spec(), self.batch_size)
        self._leaf_specs = tf.nest.flatten(specs)

    @property
    def _env_time(self) -> tf.Variable:
        """The number of samples so far, under the name that TF-Agents' tests read."""
        return self._clock.time

    def set_state(self, state: Any) -> None:
        """Returns to a `state` of `get_state`, and to its time step."""
        self.pyenv.set_state(state)
        self._time_step = self.pyenv._current_time_step

    @as_it_is
    def _current_time_step(self) -> ts.TimeStep:
        return self._time_step_of(self._time_step_in_numpy, [])

    @as_it_is
    def _reset(self) -> ts.TimeStep:
        return self._time_step_of(self.pyenv.reset, [])

    @as_it_is
    def _step(self, actions: Nest) -> ts.TimeStep:
        # As in TF-Agents, actions may have another dtype.
        taken = tf.nest.map_structure(self._taken, self.action_spec(), actions)

        def step(*leaves: Array) -> ts.TimeStep:
            return self.pyenv.step(tf.nest.pack_sequence_as(self.action_spec(), leaves))

        return self._time_step_of(step, taken, self.batch_size)

    def _time_step_in_numpy(self) -> ts.TimeStep:
        return self.pyenv.reset() if self._time_step is None else self._time_step

    def _time_step_of(
        self, function: Callable[..., ts.TimeStep], tensors: Nest, samples: int = 0
    ) -> ts.TimeStep:
        """Returns the tensors of the time step that `function` returns, and keeps its arrays."""

        def call(*arrays: Array) -> list[Array]:
            self._time_step = function(*arrays)
            leaves: list[Array] = tf.nest.flatten(self._time_step)
            return leaves

        leaves = self._clock.run(call, tensors, self._leaf_specs, samples)
        return tf.nest.pack_sequence_as(self.time_step_spec(), leaves)

    def _taken(self, spec: tf.TensorSpec, action: tf.Tensor) -> tf.Tensor:
        """Returns an action as the bandit takes it."""
        return tf.cast(action, spec.dtype)


def as_tf_environment(env: BanditPyEnvironment[Any] | Wrapper) -> BanditTFPyEnvironment:
    """Returns a bandit of this package as a `TFPyEnvironment` that is faster in compiled loops.

    It is what `TFPyEnvironment(as_tf_agents(env))` is, with the same streams; and it runs in the
    order of the program, so that baselines and metrics may stand anywhere in a loop.

    Args:
        env: a bandit without a horizon. From now on, use it through the result only.

    >>> from bandit_envs import KArmedTestbed
    >>> environment = as_tf_environment(KArmedTestbed(k=3, batch_size=1, seed=0))
    >>> @tf.function
    ... def total_reward():
    ...     total = tf.constant(0.0)
    ...     for _ in tf.range(100):
    ...         total += environment.step(tf.constant([2])).reward[0]
    ...     return total
    >>> total_reward().shape
    TensorShape([])
    """
    warn_of_misuse(env)
    return BanditTFPyEnvironment(env)


def bandit_of(name: str, environment: tf_py_environment.TFPyEnvironment) -> PyEnvironment:
    """Returns the environment of this package that an argument is, in TensorFlow or not."""
    found = environment
    if isinstance(found, tf_py_environment.TFPyEnvironment):
        found = found.pyenv
    if hasattr(found, "wrapped_env") and not isinstance(found, PyEnvironment):
        found = found.wrapped_env()
    if not isinstance(found, PyEnvironment):
        expected = "expected an environment of bandit_envs, in TensorFlow or not"
        raise TypeError(f"{name} is {environment!r}; {expected}{remedy_for(found)}")
    return found
