"""Functions of time steps of TF-Agents, compiled for batches of any size."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.numpy_calls import check_threads
from bandit_envs.arrays import Array
from bandit_envs.nests import Nest, map_structure
from bandit_envs.wrappers.delays import without_feedback

ConcreteFunction: TypeAlias = "tf.types.experimental.ConcreteFunction"
"""A graph that is a function of tensors."""

DRAWING = ("Random", "Multinomial", "TruncatedNormal", "CandidateSampler", "Rng", "StatefulUniform")
"""What is in the names of TensorFlow's operations that draw, also by a `tf.random.Generator`."""

ROWS = 2
"""The size of the batch for which a function is compiled first that has to know the size."""


class CompiledFunction:
    """A function of the first time step of an episode, compiled once for batches of any size.

    A function that has to know the size while it is compiled, as some policies do, is compiled for
    each size. The time step is made of an observation in the graph, where it costs little.

    Args:
        function: of a time step of tensors [n, ...], and of nests of tensors as the `arguments`.
        policy: the policy whose time steps it takes.
        arguments: the specs of its other arguments, in which n is None.

    Raises:
        NotImplementedError: the function raises it.
    """

    def __init__(
        self,
        function: Callable[..., Nest],
        policy: tf_policy.TFPolicy,
        *arguments: Nest,
    ) -> None:
        self._function = function
        self._policy = policy
        self._specs = (batched(policy.time_step_spec.observation), *arguments)
        self._of_size: dict[int | None, ConcreteFunction] = {}
        try:
            self._call = self._compile(None)
            self._takes_any_size = True
        except (TypeError, ValueError):
            self._call = self._compile(ROWS)
            self._takes_any_size = False

    def _compile(self, size: int | None) -> ConcreteFunction:
        """Returns the function of tensors, compiled for a size; None is any."""

        def sized(spec: tf.TensorSpec) -> tf.TensorSpec:
            shape = [size if length is None else length for length in spec.shape]
            return tf.TensorSpec(shape, spec.dtype)

        def of_tensors(*tensors: tf.Tensor) -> Nest:
            observation, *arguments = tf.nest.pack_sequence_as(self._specs, tensors)
            return self._function(self._time_step(observation), *arguments)

        signature = [sized(spec) for spec in tf.nest.flatten(self._specs)]
        compiled = tf.function(of_tensors, input_signature=signature, autograph=False)
        self._of_size[size] = compiled.get_concrete_function()
        return self._of_size[size]

    def _time_step(self, observation: Nest) -> ts.TimeStep:
        """Returns the time step of tensors [n, ...] in which a policy finds an observation."""
        first = tf.nest.flatten(observation)[0]
        return ts.restart(observation, batch_shape(first), self._policy.time_step_spec.reward)

    def __call__(self, observation: Nest, *arguments: Nest) -> Nest:
        """Returns the tensors that the function returns, given an observation [n, ...].

        Raises:
            RuntimeError: it is called by a compiled driver, and TensorFlow has one thread.
            ValueError: the observation does not fit the policy.
        """
        check_threads(f"a {type(self._policy).__name__} of TF-Agents in a policy of bandit_envs")
        seen = to_tensors(self._policy, observation)
        tensors = [*tf.nest.flatten(seen), *tf.nest.flatten(arguments)]
        if self._takes_any_size:
            return self._call(*tensors)
        size = len(tensors[0])
        function = self._of_size.get(size) or self._compile(size)
        return function(*tensors)

    @property
    def draws(self) -> bool:
        """Whether it draws from a generator of TensorFlow: its seed is not an argument."""
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


def _operations_between(given: tf.Operation, wanted: tf.Operation) -> set[str]:
    """Returns the types of the operations that lead to one, except those that lead to another."""
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


def as_policy_takes_it(spec: Nest, observation: Nest) -> Nest:
    """Returns an observation with 0 and 1 where the spec asks for them in a mask.

    Where `DelayedRewards` has added entries, it is the observation without them.

    Raises:
        TypeError, ValueError: it is not of the structure of the spec.
    """

    def convert(part: tf.TensorSpec, leaf: Array) -> Array:
        is_mask = tf.as_dtype(part.dtype).is_integer and getattr(leaf, "dtype", None) == np.bool_
        return leaf.astype(np.int32) if is_mask else leaf

    is_same = isinstance(spec, dict) and isinstance(observation, dict)
    if not (is_same and spec.keys() == observation.keys()):
        observation = without_feedback(observation)
    return map_structure(convert, spec, observation)


def initial_state(policy: tf_policy.TFPolicy, time_step: ts.TimeStep) -> Nest:
    """Returns the state of a policy without one: a nest of nothing."""
    return policy.get_initial_state(tf.shape(time_step.step_type)[0])


def batch_shape(tensor: tf.Tensor) -> tf.TensorShape | tf.Tensor:
    """Returns [n] of a tensor [n, ...], as a tensor if the size is not known to the graph."""
    known = tensor.shape[:1]
    return known if known.is_fully_defined() else tf.shape(tensor)[:1]


def batched(specs: Nest) -> Nest:
    """Returns the specs of batches of any size, given those of single rows."""
    return tf.nest.map_structure(lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype), specs)


def chosen_items(observation: Nest, action: tf.Tensor) -> Nest:
    """Returns the features of the items that were chosen: of [n, K, ...] those at [n, ...]."""
    return tf.nest.map_structure(
        lambda leaf: tf.gather(leaf, action, batch_dims=1), observation["per_arm"]
    )


def to_tensors(policy: tf_policy.TFPolicy, observation: Nest) -> Nest:
    """Returns the tensors [n, ...] in which a policy finds an observation.

    Raises:
        ValueError: the observation does not fit the policy.
    """

    def to_tensor(spec: tf.TensorSpec, leaf: Array) -> tf.Tensor:
        tensor = tf.convert_to_tensor(leaf, spec.dtype)
        spec.shape.assert_is_compatible_with(tensor.shape[1:])
        return tensor

    spec = policy.time_step_spec.observation
    try:
        return tf.nest.map_structure(to_tensor, spec, as_policy_takes_it(spec, observation))
    except (TypeError, ValueError) as error:
        expected = f"expected {spec}"
        raise ValueError(f"observation does not fit the policy: {error}; {expected}") from error
