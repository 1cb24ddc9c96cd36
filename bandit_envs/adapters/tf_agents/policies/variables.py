"""The variables of an agent of TF-Agents, as arrays."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import tensorflow as tf

from bandit_envs.arrays import Array

Values: TypeAlias = tuple[Array, ...]
"""The values of all variables of an agent."""


class AgentVariables:
    """The variables of an agent, among them those that its first training makes.

    TensorFlow's variables are used as scratch space: they are set to arrays, used, and read. So
    what an agent knows are arrays, which can be copied and saved.

    Args:
        agent: an agent or a policy of TF-Agents.
        train: trains it once, on anything; None if it does not learn.
        others: variables that belong to it, and are the first of the values.
    """

    _lock: ClassVar = threading.RLock()
    _in_use: ClassVar[Values | None] = None
    """The values of the last agent that was used. Agents may share variables."""

    def __init__(
        self,
        agent: tf.Module,
        train: Callable[[], object] | None = None,
        others: Sequence[tf.Variable] = (),
    ) -> None:
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        with self._lock:
            self._variables = [*others, *find_variables(agent)]
            values = {variable.ref(): np.asarray(variable.numpy()) for variable in self._variables}
            if train is not None:
                with tf.variable_creator_scope(_note_values(values)):
                    train()
                self._variables = [*others, *find_variables(agent)]
            self.initial: Values = tuple(values[each.ref()] for each in self._variables)
            self._write(self.initial)

    @contextlib.contextmanager
    def set_to(self, values: Values) -> Iterator[None]:
        """Gives the variables these values while they are used.

        The global step of TensorFlow, which all agents of a process share, gets back its own.
        """
        with self._lock:
            outside = self._global_step.numpy()
            self._write(values)
            try:
                yield
            except BaseException:  # they may have been changed
                AgentVariables._in_use = None
                raise
            finally:
                self._global_step.assign(outside)

    def tensors(self) -> list[tf.Tensor]:
        """Returns tensors of the values: in a graph, of those after all that it does before."""
        return [tf.identity(variable) for variable in self._variables]

    def note(self, tensors: Sequence[tf.Tensor]) -> Values:
        """Returns copies of the values that the variables have now, given tensors of them."""
        values = tuple(np.asarray(tensor.numpy()) for tensor in tensors)
        AgentVariables._in_use = values
        return values

    def _write(self, values: Values) -> None:
        """Sets the variables, except for those that have their values."""
        is_in_use = values is AgentVariables._in_use
        for variable, value in zip(self._variables, values):
            if not is_in_use or variable is self._global_step:
                variable.assign(value)
        AgentVariables._in_use = values


def find_variables(root: tf.Module) -> list[tf.Variable]:
    """Returns all variables that an object of TensorFlow keeps, and those of its optimizers.

    Their order is the same in each process, whatever their names are.
    """
    parts = tf.train.TrackableView(root).descendants()
    tracked = [part for part in parts if isinstance(part, tf.Variable)]
    found: dict[object, tf.Variable] = {variable.ref(): variable for variable in tracked}
    for part in parts:
        kept = []
        if isinstance(part, tf.compat.v1.train.Optimizer):
            kept += _slots(part, tracked)  # its variables are sorted by name
        others = getattr(part, "variables", ())
        kept += others() if callable(others) else others
        for variable in kept:
            found.setdefault(variable.ref(), variable)
    return list(found.values())


def _slots(
    optimizer: tf.compat.v1.train.Optimizer, variables: list[tf.Variable]
) -> list[tf.Variable]:
    """Returns what an optimizer keeps of each variable, such as its momentum."""
    names = optimizer.get_slot_names()
    slots = [optimizer.get_slot(variable, name) for variable in variables for name in names]
    return [slot for slot in slots if slot is not None]


def _note_values(values: dict[object, Array]) -> Callable[..., tf.Variable]:
    """Returns a creator of variables that notes their first values."""

    def create(next_creator: Callable[..., tf.Variable], **options: object) -> tf.Variable:
        variable = next_creator(**options)
        values[variable.ref()] = np.asarray(variable.numpy())
        return variable

    return create
