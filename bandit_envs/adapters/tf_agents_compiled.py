"""Functions of time steps of TF-Agents, compiled for batches of any size."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.arrays import Array
from bandit_envs.nests import Nest

DRAWING = ("Random", "Multinomial", "TruncatedNormal")
"""What is in the names of TensorFlow's operations that draw."""


class CompiledFunction:
    """A function of a time step, compiled once for batches of any size.

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
        rows = tf.nest.map_structure(
            lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype), policy.time_step_spec
        )
        signature = [rows, *arguments]
        compiled = tf.function(function, input_signature=signature, autograph=False)
        self._call = compiled.get_concrete_function()
        self._compiled = compiled

    @property
    def draws(self) -> bool:
        """Whether it draws from a generator of TensorFlow: its seed is no argument."""
        graph = self._call.graph.as_graph_def()
        nodes = list(graph.node)
        for function in graph.library.function:
            nodes.extend(function.node_def)
        drawing = (node.op for node in nodes if any(name in node.op for name in DRAWING))
        return not all(operation.startswith("Stateless") for operation in drawing)

    def __call__(self, time_step: ts.TimeStep, *arguments: tf.Tensor) -> Nest:
        """Returns the tensors that the function returns."""
        return self._compiled(time_step, *arguments)


@contextlib.contextmanager
def without_compilation() -> Iterator[None]:
    """Runs the functions of TensorFlow as they are written.

    A graph has the seed with which it was made. So a graph that is made anew draws the same numbers
    again once `tf.random.set_seed` was called.
    """
    was_eager = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(was_eager)


def first_time_step(policy: tf_policy.TFPolicy, observation: Nest) -> ts.TimeStep:
    """Returns the time step of tensors [n, ...] in which a policy finds an observation.

    Raises:
        ValueError: the observation does not fit the policy.
    """

    def to_tensor(spec: tf.TensorSpec, leaf: Array) -> tf.Tensor:
        tensor = tf.convert_to_tensor(leaf, spec.dtype)
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
