"""Distributions of TensorFlow Probability whose law NumPy draws: one function for each class."""

# TensorFlow Probability has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import tensorflow_probability as tfp

from bandit_envs.arrays import Array, Floats, Rng

tfd = tfp.distributions
tfb = tfp.bijectors

Distribution: TypeAlias = "tfp.distributions.Distribution"
Size: TypeAlias = tuple[int, ...]
Draw: TypeAlias = Callable[[Rng, Size], Array]
"""Takes a generator and `size`, and returns a new array [*size, *batch_shape, *event_shape]."""


def numpy_law(distribution: Distribution) -> Draw | None:
    """Returns a function that draws from the law of a distribution; None if its law is not known.

    The laws of the classes in `LAWS` are known if their parameters are constant. The function
    draws other numbers than TensorFlow does, of the same distribution. Subclasses may draw
    otherwise, so their laws are not known.
    """
    make = LAWS.get(type(distribution))
    if make is None or distribution.variables:
        return None
    return make(distribution)


def _normal(distribution: Distribution) -> Draw:
    """Independent normal numbers: also of `MultivariateNormalDiag`."""
    mean = distribution.mean().numpy()
    std = distribution.stddev().numpy()
    noise = _standard_normal(distribution)

    def draw(rng: Rng, size: Size) -> Array:
        values = noise(rng, size)
        values *= std
        values += mean
        return values

    return draw


def _multivariate_normal(distribution: Distribution) -> Draw:
    mean = distribution.mean().numpy()
    factor = distribution.scale.to_dense().numpy()
    noise = _standard_normal(distribution)
    return lambda rng, size: (factor @ noise(rng, size)[..., np.newaxis])[..., 0] + mean


def _standard_normal(distribution: Distribution) -> Draw:
    """Standard normal numbers, in the shape and dtype of a distribution."""
    shape = _shape(distribution)
    dtype = distribution.dtype.as_numpy_dtype
    if dtype == np.float32:
        return lambda rng, size: rng.standard_normal(size + shape, np.float32)
    return lambda rng, size: rng.standard_normal(size + shape).astype(dtype)


def _log_normal(distribution: Distribution) -> Draw:
    normal = _normal(distribution.distribution)
    return lambda rng, size: np.exp(normal(rng, size))


def _uniform(distribution: Distribution) -> Draw:
    low = distribution.low.numpy()
    width = distribution.high.numpy() - low
    return _converted(distribution, lambda rng, shape: rng.random(shape) * width + low)


def _bernoulli(distribution: Distribution) -> Draw:
    probability = distribution.probs_parameter().numpy()
    return _converted(distribution, lambda rng, shape: rng.random(shape) < probability)


def _categorical(distribution: Distribution) -> Draw:
    """The number of the first category whose cumulative probability is above a uniform number."""
    sums: Floats = np.cumsum(distribution.probs_parameter().numpy(), axis=-1, dtype=np.float64)
    ends = sums[..., :-1] / sums[..., -1:]

    def draw(rng: Rng, shape: Size) -> Array:
        above = rng.random(shape)[..., np.newaxis] >= ends
        return np.asarray(above.sum(axis=-1))

    return _converted(distribution, draw)


def _deterministic(distribution: Distribution) -> Draw:
    """One value: also of `VectorDeterministic`."""
    return _converted(distribution, _constant(distribution.loc.numpy()))


def _constant(value: Array) -> Draw:
    return lambda rng, shape: np.broadcast_to(value, shape)


def _exponential(distribution: Distribution) -> Draw:
    rate = distribution.rate.numpy()
    return _converted(distribution, lambda rng, shape: rng.standard_exponential(shape) / rate)


def _laplace(distribution: Distribution) -> Draw:
    loc = distribution.loc.numpy()
    scale = distribution.scale.numpy()
    return _converted(distribution, lambda rng, shape: rng.laplace(loc, scale, shape))


def _gamma(distribution: Distribution) -> Draw:
    concentration = distribution.concentration.numpy()
    scale = distribution.mean().numpy() / concentration
    return _converted(
        distribution, lambda rng, shape: rng.standard_gamma(concentration, shape) * scale
    )


def _beta(distribution: Distribution) -> Draw:
    ones = distribution.concentration1.numpy()
    zeros = distribution.concentration0.numpy()
    return _converted(distribution, lambda rng, shape: rng.beta(ones, zeros, shape))


def _poisson(distribution: Distribution) -> Draw:
    rate = distribution.rate_parameter().numpy()
    return _converted(distribution, lambda rng, shape: rng.poisson(rate, shape))


def _independent(distribution: Distribution) -> Draw | None:
    """The distribution inside: dimensions of its batch are dimensions of the event."""
    return numpy_law(distribution.distribution)


def _transformed(distribution: Distribution) -> Draw | None:
    """The distribution inside, and then shifts and scales."""
    inner = numpy_law(distribution.distribution)
    steps = _affine_steps(distribution.bijector)
    shape = _shape(distribution)
    if inner is None or steps is None or _shape(distribution.distribution) != shape:
        return None

    def draw(rng: Rng, size: Size) -> Array:
        values = inner(rng, size)
        for operation, number in steps:
            values = operation(values, number)
        return values

    return draw


def _affine_steps(bijector: Any) -> list[tuple[np.ufunc, Array]] | None:
    """Returns what a bijector adds and multiplies, first things first; None if it does more."""
    kind = type(bijector)
    if kind is tfb.Shift:
        return [(np.add, bijector.shift.numpy())]
    if kind is tfb.Scale and bijector.scale is not None:
        return [(np.multiply, bijector.scale.numpy())]
    if kind is not tfb.Chain:
        return None
    steps: list[tuple[np.ufunc, Array]] = []
    for part in reversed(bijector.bijectors):
        further = _affine_steps(part)
        if further is None:
            return None
        steps.extend(further)
    return steps


def _shape(distribution: Distribution) -> Size:
    """Returns the shape of what a distribution draws."""
    return tuple(distribution.batch_shape) + tuple(distribution.event_shape)


def _converted(distribution: Distribution, draw: Draw) -> Draw:
    """Returns a function that draws in the shape and dtype of a distribution.

    Args:
        distribution: of TensorFlow Probability.
        draw: takes a generator and the whole shape of what it draws.
    """
    shape = _shape(distribution)
    dtype = distribution.dtype.as_numpy_dtype
    return lambda rng, size: draw(rng, size + shape).astype(dtype)


LAWS: Mapping[type[Any], Callable[[Distribution], Draw | None]] = {
    tfd.Bernoulli: _bernoulli,
    tfd.Beta: _beta,
    tfd.Categorical: _categorical,
    tfd.Deterministic: _deterministic,
    tfd.Exponential: _exponential,
    tfd.Gamma: _gamma,
    tfd.Independent: _independent,
    tfd.Laplace: _laplace,
    tfd.LogNormal: _log_normal,
    tfd.MultivariateNormalDiag: _normal,
    tfd.MultivariateNormalFullCovariance: _multivariate_normal,
    tfd.MultivariateNormalTriL: _multivariate_normal,
    tfd.Normal: _normal,
    tfd.Poisson: _poisson,
    tfd.TransformedDistribution: _transformed,
    tfd.Uniform: _uniform,
    tfd.VectorDeterministic: _deterministic,
}
"""What makes a function that draws, for each class of distributions."""
