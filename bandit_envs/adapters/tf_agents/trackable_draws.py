"""Draws of functions of TensorFlow from a generator whose state can be read and set."""

# TensorFlow has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from bandit_envs.arrays import Array, Rng
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed, generator

# TensorFlow has no public way to replace an operation while a graph is made, or to read how far its
# own generators have drawn. These callbacks are those of its debugger.
try:
    from tensorflow.python.framework import op_callbacks
except ImportError:  # a later TensorFlow may not have them: the environments need none
    op_callbacks = None

KEYS = 2**63
"""Keys of generators are below."""

Tensors: TypeAlias = "Sequence[tf.Tensor]"
Draw: TypeAlias = "Callable[[tf.Tensor, tf.Tensor, Tensors], tf.Tensor]"
"""Draws what an operation draws, given its output, a seed, and its inputs."""


class TrackableDraws(tf.Module):
    """Lets compiled functions draw from a generator that `tf.train.Checkpoint` saves and restores.

    A function of TensorFlow that is compiled keeps the seed with which it was compiled, and nobody
    can read how far it has drawn. So each operation that draws is replaced while the function is
    compiled: a run goes on from a checkpoint as if it had not stopped.

    A SavedModel that the function calls draws as it likes.

    Args:
        seed: whatever `numpy.random.default_rng` takes; None for fresh entropy.

    Raises:
        ImportError: TensorFlow does not have the callbacks that see each operation.

    >>> draws = TrackableDraws(seed=0)
    >>> draw = draws.compile(lambda: tf.random.uniform([3]))
    >>> before = tf.identity(draws.state)
    >>> first = draw()
    >>> bool(tf.reduce_all(draw() == first))
    False
    >>> _ = draws.state.assign(before)
    >>> bool(tf.reduce_all(draw() == first))
    True
    """

    def __init__(self, seed: Seed = None) -> None:
        super().__init__()
        if op_callbacks is None:
            found = f"TensorFlow {tf.__version__} has no op_callbacks, which show what it draws"
            raise ImportError(f"{found}; expected TensorFlow 2.15 to 2.21")
        state = first_state(int(generator(seed).integers(KEYS)))
        self._generator = tf.random.Generator.from_state(state, alg="philox")

    @property
    def state(self) -> tf.Variable:
        """The state of the generator: [3] int64."""
        return self._generator.state

    def restart(self, rng: Rng) -> None:
        """Starts the generator anew, from a key that is drawn."""
        self._generator.state.assign(first_state(int(rng.integers(KEYS))))

    def compile(self, function: Callable[..., Nest]) -> Callable[..., Nest]:
        """Returns a function, compiled, that draws from the generator.

        Args:
            function: such as `driver.run`, `agent.train`, or one of yours that calls both in a loop
                over `tf.range`; compiled or not. One that is compiled without AutoGraph, as by
                `common.function` of TF-Agents, stays without it, and is compiled sooner.
        """
        plain = getattr(function, "python_function", function)  # of one that is compiled
        autograph = getattr(function, "_autograph", True)  # TensorFlow does not tell it in public
        redirected = self.redirect(plain)
        compiled: Callable[..., Nest] = tf.function(
            redirected, autograph=autograph, reduce_retracing=True
        )
        return compiled

    def redirect(self, function: Callable[..., Nest]) -> Callable[..., Nest]:
        """Returns a function that draws from the generator once it is compiled.

        The functions that it calls become part of it.

        Raises:
            NotImplementedError: when it is compiled, of an operation of another kind that draws.
        """

        def redirected(*arguments: Nest, **options: Nest) -> Nest:
            callback = functools.partial(self._draw_instead)  # one for each call, as calls nest
            with _without_calls(), _with_callback(callback):
                return function(*arguments, **options)

        return redirected

    def _draw_instead(
        self,
        op_type: str,
        inputs: Tensors,
        attrs: object,
        outputs: Tensors,
        op_name: str | None = None,
        *,
        graph: tf.Graph | None = None,
    ) -> Tensors | None:
        """Returns what replaces the outputs of an operation of a graph; None if nothing does."""
        draw = DRAWS.get(op_type)
        if graph is None:
            return None
        if draw is None:
            _check_is_no_draw(outputs)
            return None
        seed = self._generator.make_seeds()[:, 0]
        drawn = draw(outputs[0], seed, inputs)
        drawn.set_shape(outputs[0].shape)
        return [drawn]


def first_state(key: int) -> Array:
    """Returns the state of a generator that has drawn nothing, by the Philox algorithm."""
    return np.array([0, 0, key], np.int64)


def _uniform(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    return tf.random.stateless_uniform(inputs[0], seed, dtype=output.dtype)


def _uniform_integers(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    shape, low, high = inputs
    return tf.random.stateless_uniform(shape, seed, low, high, output.dtype)


def _normal(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    return tf.random.stateless_normal(inputs[0], seed, dtype=output.dtype)


def _truncated_normal(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    return tf.random.stateless_truncated_normal(inputs[0], seed, dtype=output.dtype)


def _categories(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    logits, count = inputs
    return tf.random.stateless_categorical(logits, count, seed, output.dtype)


def _gamma(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    shape, alpha = inputs
    return tf.random.stateless_gamma(_of_each(shape, alpha), seed, alpha, dtype=output.dtype)


def _poisson(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    shape, rate = inputs
    return tf.random.stateless_poisson(_of_each(shape, rate), seed, rate, dtype=output.dtype)


def _shuffled(output: tf.Tensor, seed: tf.Tensor, inputs: Tensors) -> tf.Tensor:
    return tf.random.experimental.stateless_shuffle(inputs[0], seed)


def _of_each(shape: tf.Tensor, parameter: tf.Tensor) -> tf.Tensor:
    """Returns the shape of draws of a shape, from each number of a parameter."""
    return tf.concat([shape, tf.shape(parameter, shape.dtype)], axis=0)


DRAWS: dict[str, Draw] = {
    "RandomUniform": _uniform,
    "RandomUniformInt": _uniform_integers,
    "RandomStandardNormal": _normal,
    "TruncatedNormal": _truncated_normal,
    "Multinomial": _categories,
    "RandomGamma": _gamma,
    "RandomPoissonV2": _poisson,
    "RandomShuffle": _shuffled,
}
"""How to draw what TensorFlow's operations draw, from a seed that is an argument."""


def _check_is_no_draw(outputs: Tensors) -> None:
    """Raises NotImplementedError if an operation of a graph draws from a generator of its own."""
    if not outputs:
        return
    kind = outputs[0].op.op_def
    if kind.is_stateful and any(attribute.name == "seed2" for attribute in kind.attr):
        found = f"the operation {kind.name} draws from a generator that nobody can save"
        raise NotImplementedError(f"{found}; expected one of {sorted(DRAWS)}")


@contextlib.contextmanager
def _with_callback(callback: Callable[..., Tensors | None]) -> Iterator[None]:
    """Shows a callback each operation that is made."""
    op_callbacks.add_op_callback(callback)
    try:
        yield
    finally:
        op_callbacks.remove_op_callback(callback)


@contextlib.contextmanager
def _without_calls() -> Iterator[None]:
    """Makes what compiled functions do part of the function that calls them.

    They may have been compiled before, with operations that draw.
    """
    was_eager = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(was_eager)
