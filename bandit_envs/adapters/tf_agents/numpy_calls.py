"""Functions of NumPy in graphs of TensorFlow."""

# TensorFlow has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from bandit_envs.arrays import Array

Function = TypeVar("Function", bound=Callable[..., Any])

THREADS_OF_ENVIRONMENT = "TF_NUM_INTEROP_THREADS"
"""The variable of the environment that gives TensorFlow its threads, unless a program does."""


class _Calls(threading.local):
    """Whether this thread is in a call that a graph waits for with the only thread it has."""

    hold_the_only_thread = False


CALLS = _Calls()


def as_it_is(function: Function) -> Function:
    """Decorates a function that a `tf.function` shall not rewrite.

    It would rewrite the functions of NumPy in it, too, which makes them slow.
    """
    decorated: Function = tf.autograph.experimental.do_not_convert(function)
    return decorated


def numpy_function(function: Callable[..., Any], tensors: Sequence[tf.Tensor], dtypes: Any) -> Any:
    """Returns what `tf.numpy_function` does.

    A compiled function that is called in a graph's call of NumPy needs a thread of TensorFlow, and
    the call holds one. If there is no other, functions that users have compiled with `tf.function`
    run operation by operation in the call, or they would wait forever.
    """

    def call(*arrays: Array) -> Any:
        with _holding_the_only_thread():
            return function(*arrays)

    # Asked for each graph, as asking takes longer than a step of a small environment.
    holds_the_only_thread = not tf.executing_eagerly() and num_threads() == 1
    return tf.numpy_function(call if holds_the_only_thread else function, tensors, dtypes)


def check_threads(what: str) -> None:
    """Raises RuntimeError if a compiled function would wait forever for a thread.

    Args:
        what: calls the function; the message begins with it.
    """
    if CALLS.hold_the_only_thread:
        problem = f"{what} would wait forever in a compiled function: TensorFlow has one thread"
        advice = "call tf.config.threading.set_inter_op_parallelism_threads(2) first"
        raise RuntimeError(f"{problem}; {advice}, or do not compile the driver")


def check_calls(what: str, function: Callable[[], tf.Tensor]) -> None:
    """Raises RuntimeError, as `check_threads` does, if a function calls one that is compiled.

    Args:
        what: calls the function; the message begins with it.
        function: takes no arguments.
    """
    if CALLS.hold_the_only_thread:
        graph = tf.function(function, autograph=False).get_concrete_function().graph
        if any("PartitionedCall" in operation.type for operation in graph.get_operations()):
            check_threads(what)


def num_threads() -> int:
    """Returns how many operations TensorFlow runs at once."""
    chosen = tf.config.threading.get_inter_op_parallelism_threads()
    given = os.environ.get(THREADS_OF_ENVIRONMENT, "")
    if not chosen and given.isdigit():
        chosen = int(given)
    if not chosen and hasattr(os, "sched_getaffinity"):
        chosen = len(os.sched_getaffinity(0))
    return chosen or os.cpu_count() or 1


@contextlib.contextmanager
def _holding_the_only_thread() -> Iterator[None]:
    """Within it, functions of `tf.function` are not compiled."""
    if CALLS.hold_the_only_thread:
        yield
        return
    before = tf.config.functions_run_eagerly()
    CALLS.hold_the_only_thread = True
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
        CALLS.hold_the_only_thread = False
