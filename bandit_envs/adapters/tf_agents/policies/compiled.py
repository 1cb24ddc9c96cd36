"""Functions of time steps of TF-Agents, compiled for batches of any size."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.arrays import Array
from bandit_envs.nests import Nest

DRAWING = ("Random", "Multinomial", "TruncatedNormal")
"""What is in the names of TensorFlow's operations that draw."""

ROWS = 2
"""The size of the batch for which a function is compiled first that has to know the size."""


class CompiledFunction:
    """A function of a time step, compiled once for batches of any size.

    A function that has to know the size while it is compiled, as some policies do, is compiled for
    each size.

    Args:
        function: of a time step of tensors [n, ...], and of tensors of the `arguments`.
        policy: the policy whose time steps it takes.
        arguments: the specs of its other arguments.
    """

    def __init__(
        self,
        function: Callable[..., Nest],
        policy: tf_policy.TFPolicy,
        *arguments: tf.TensorSpec,
    ) -> None:
        def batches_of(size: int | None) -> ts.TimeStep:
            return tf.nest.map_structure(
                lambda spec: tf.TensorSpec([size, *spec.shape], spec.dtype), policy.time_step_spec
            )

        signature = [batches_of(None), *arguments]
        compiled = tf.function(function, input_signature=signature, autograph=False)
        try:
            self._call = compiled.get_concrete_function()
        except (TypeError, ValueError):
            compiled = tf.function(function, autograph=False)
            self._call = compiled.get_concrete_function(batches_of(ROWS), *arguments)
        self._compiled = compiled

    @property
    def draws(self) -> bool:
        """Whether it draws from a generator of TensorFlow: its seed is no argument."""
        operations = {operation.type for operation in self._call.graph.get_operations()}
        return any(map(_is_draw, operations | self._called_operations()))

    @property
    def draws_last_apart_from_first(self) -> bool:
        """Whether the last tensor that it returns comes from draws other than those of the first.

        What comes from a draw by way of the first tensor does not count.
        """
        first, *_, last = self._call.outputs
        reached = _operations_between(first.op, last.op)
        return any(map(_is_draw, reached | self._called_operations()))

    def _called_operations(self) -> set[str]:
        """Returns the types of the operations in the functions that it calls."""
        library = self._call.graph.as_graph_def().library
        return {node.op for function in library.function for node in function.node_def}

    def __call__(self, time_step: ts.TimeStep, *arguments: tf.Tensor) -> Nest:
        """Returns the tensors that the function returns."""
        return self._compiled(time_step, *arguments)


def _operations_between(given: tf.Operation, wanted: tf.Operation) -> set[str]:
    """Returns the types of the operations that lead to one, but for those that lead to another."""
    passed = {given}
    while given.type == "Identity":  # of the same tensor
        given = given.inputs[0].op
        passed.add(given)
    types = set()
    waiting = [wanted]
    while waiting:
        operation = waiting.pop()
        if operation not in passed:
            passed.add(operation)
            types.add(operation.type)
            waiting.extend(tensor.op for tensor in operation.inputs)
    return types


def _is_draw(operation: str) -> bool:
    """Whether a type of operations draws from a generator of TensorFlow."""
    is_random = any(name in operation for name in DRAWING)
    return is_random and not operation.startswith("Stateless")


def as_policy_takes_it(spec: tf.TensorSpec, leaf: Array) -> Array:
    """Returns a leaf of an observation, with 0 and 1 where the spec asks for them in a mask."""
    is_mask = tf.as_dtype(spec.dtype).is_integer and getattr(leaf, "dtype", None) == np.bool_
    return leaf.astype(np.int32) if is_mask else leaf


def initial_state(policy: tf_policy.TFPolicy, time_step: ts.TimeStep) -> Nest:
    """Returns the state of a policy without one: a nest of nothing."""
    return policy.get_initial_state(tf.shape(time_step.step_type)[0])


def first_time_step(policy: tf_policy.TFPolicy, observation: Nest) -> ts.TimeStep:
    """Returns the time step of tensors [n, ...] in which a policy finds an observation.

    Raises:
        ValueError: the observation does not fit the policy.
    """

    def to_tensor(spec: tf.TensorSpec, leaf: Array) -> tf.Tensor:
        tensor = tf.convert_to_tensor(as_policy_takes_it(spec, leaf), spec.dtype)
        spec.shape.assert_is_compatible_with(tensor.shape[1:])
        return tensor

    spec = policy.time_step_spec
    try:
        tensors = tf.nest.map_structure(to_tensor, spec.observation, observation)
    except (TypeError, ValueError) as error:
        expected = f"expected {spec.observation}"
        raise ValueError(f"observation does not fit the policy: {error}; {expected}") from error
    size = len(tf.nest.flatten(tensors)[0])
    return ts.restart(tensors, batch_size=size, reward_spec=spec.reward)
