"""Samplers of nests of contexts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import check_array
from bandit_envs.base.checks import shown
from bandit_envs.sampling.context_sampler import ContextSampler
from bandit_envs.specs import ArraySpec, Nest, map_structure


class SamplerNest:
    """Draws a nest of batches by a nest of samplers; `name` is for messages."""

    def __init__(self, name: str, samplers: Nest) -> None:
        self._name, self._samplers = name, samplers
        self.spec = map_structure(self._spec_of, samplers)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...]) -> Nest:
        """Returns a nest of arrays [*size, ...]."""
        return map_structure(lambda leaf: leaf.sample(rng, size, self._name), self._samplers)

    def _spec_of(self, sampler: Any) -> ArraySpec:
        if not isinstance(sampler, ContextSampler):
            expected = "expected a nest of ContextSamplers, or a function without arguments"
            raise TypeError(f"{self._name} has {shown(sampler)}; {expected}")
        return sampler.spec


class FunctionNest:
    """Draws a nest of batches by a function without arguments, which returns one context's nest.

    It is called once when it is wrapped, to learn the specs, and then once a context. Its leaves
    are arrays of any dtype, and numbers. It has its own source of randomness.

    Source: TF-Agents' `StationaryStochasticStructuredPyEnvironment`.
    """

    def __init__(self, name: str, function: Callable[[], Nest]) -> None:
        self._name, self._function = name, function
        self.spec = map_structure(ArraySpec.from_array, function())

    def sample(self, rng: np.random.Generator, size: tuple[int, ...]) -> Nest:
        contexts = [self._function() for _ in range(math.prod(size))]
        try:
            nest = map_structure(self._stacked, self.spec, *contexts)
        except (TypeError, ValueError) as error:
            what = f"{self._name} returned another nest than at first"
            raise type(error)(f"{what}: {error}") from error
        return map_structure(lambda leaf: leaf.reshape(*size, *leaf.shape[1:]), nest)

    def _stacked(self, spec: ArraySpec, *leaves: Any) -> NDArray[Any]:
        values = np.array(leaves)
        if values.dtype != spec.dtype:
            raise TypeError(f"found {values.dtype}; expected {spec.dtype}")
        return check_array("found", values, (len(leaves), *spec.shape))


def as_nest_sampler(name: str, source: Nest) -> SamplerNest | FunctionNest:
    """Returns a nest of samplers, or a function without arguments, as an object that samples."""
    if callable(source) and not isinstance(source, ContextSampler):
        return FunctionNest(name, source)
    return SamplerNest(name, source)
