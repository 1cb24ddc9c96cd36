"""Distributions of TensorFlow Probability as samplers and rewards of this package."""

# TensorFlow Probability has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import functools
from typing import TypeAlias

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from bandit_envs.adapters.tf_agents.numpy_calls import check_calls
from bandit_envs.adapters.tf_agents.numpy_laws import Draw, Size, numpy_law
from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.checks import short_repr
from bandit_envs.rewards import RewardDistribution
from bandit_envs.sampling import ContextSampler

Distribution: TypeAlias = "tfp.distributions.Distribution"


def check_distribution(name: str, distribution: Distribution) -> Distribution:
    """Returns `distribution`; TypeError if it is not one of TensorFlow Probability."""
    if not isinstance(distribution, tfp.distributions.Distribution):
        expected = "expected a distribution of TensorFlow Probability"
        raise TypeError(f"{name} is {short_repr(distribution)}; {expected}")
    return distribution


def sampler_of(distribution: Distribution) -> Draw:
    """Returns a function that draws from a distribution.

    NumPy draws where it knows the law. Else TensorFlow does, with seeds from the generator. Some
    distributions then call what is compiled, which a graph that holds the only thread refuses.
    """
    law = numpy_law(distribution)
    if law is not None:
        return law

    def draw(rng: Rng, size: Size) -> Array:
        seed = tf.constant(rng.integers(2**31, size=2), tf.int32)
        sample = functools.partial(distribution.sample, size, seed=seed)
        check_calls(f"a draw from {distribution.name}", sample)
        return np.asarray(sample())

    return draw


class DistributionSampler(ContextSampler):
    """Draws the rows of a distribution [rows, dim], each row from its own distribution.

    A distribution [dim] has one row, and a number is a row of one.

    Args:
        name: of the argument, for messages.
        distribution: of TensorFlow Probability.
        dtype: what is drawn is converted to it; by default, the distribution's.
    """

    def __init__(
        self, name: str, distribution: Distribution, dtype: type[np.generic] | None = None
    ) -> None:
        check_distribution(name, distribution)
        shape = tuple(distribution.batch_shape) + tuple(distribution.event_shape)
        if len(shape) > 2:
            raise ValueError(f"{name} draws arrays of shape {shape}; expected [rows, columns]")
        self.num_rows = shape[0] if len(shape) == 2 else 1
        super().__init__(
            shape[-1] if shape else 1,
            dtype=distribution.dtype.as_numpy_dtype if dtype is None else dtype,
        )
        self._rows_shape = (self.num_rows, *self.spec.shape)
        self._draw = sampler_of(distribution)

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        drawn = self._draw(rng, ()).reshape(self._rows_shape)
        return drawn[: size[0]].astype(self.spec.dtype, copy=False)


class DistributionRewards(RewardDistribution):
    """Rewards from a distribution of event shape [C, K]: of K actions for labels from 0 to C - 1.

    Args:
        distribution: of TensorFlow Probability, with a mean.
    """

    def __init__(self, distribution: Distribution) -> None:
        mean = np.asarray(distribution.mean(), np.float64)
        super().__init__(mean, np.full_like(mean, np.nan))
        self._draw_tables = sampler_of(distribution)

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        tables = self._draw_tables(rng, (len(action),))
        labels = np.arange(len(action)) if row is None else row
        return np.asarray(tables[np.arange(len(action)), labels, action], np.float32)
