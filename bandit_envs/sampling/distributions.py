"""Contexts of independent features."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number
from bandit_envs.sampling.context_sampler import ContextSampler

INT32 = np.iinfo(np.int32)
SMALL = 4096


class Normal(ContextSampler):
    """Independent normal features, N(loc, scale^2), in float32.

    Args:
        dim: features in a context.
        loc: their mean.
        scale: their standard deviation.

    Source: `numpy.random.Generator.normal`.

    >>> Normal(3)(np.random.default_rng(0), (2, 5)).shape
    (2, 5, 3)
    """

    trusted = True

    def __init__(self, dim: int, loc: float = 0.0, scale: float = 1.0) -> None:
        super().__init__(dim)
        self._loc = check_number("loc", loc, -MAX_PARAMETER, MAX_PARAMETER)
        self._scale = check_number("scale", scale, 0.0, MAX_PARAMETER)

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float32]:
        values = rng.standard_normal((*size, self._dim), np.float32)
        if self._scale != 1.0:
            values *= self._scale
        if self._loc != 0.0:
            values += self._loc
        return values


class Uniform(ContextSampler):
    """Independent features, uniform from `low` to `high`, in float32.

    Args:
        dim: features in a context.
        low: the smallest value.
        high: the end of the interval; rounding may reach it.

    Source: `numpy.random.Generator.uniform`.

    >>> contexts = Uniform(3, -1.0, 1.0)(np.random.default_rng(0), (1000,))
    >>> contexts.shape, bool(abs(contexts).max() <= 1.0)
    ((1000, 3), True)
    """

    trusted = True

    def __init__(self, dim: int, low: float, high: float) -> None:
        super().__init__(dim)
        self._low = check_number("low", low, -MAX_PARAMETER, MAX_PARAMETER)
        self._width = check_number("high", high, self._low, MAX_PARAMETER) - self._low

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float32]:
        values = rng.random((*size, self._dim), np.float32)
        values *= self._width
        values += self._low
        return values


class Integers(ContextSampler):
    """Independent integer features, uniform from `low` to `high - 1`, in int32.

    `Integers(1, low, high)` also says how many actions each row has.

    Args:
        dim: features in a context.
        low: the smallest value.
        high: one more than the largest value.

    Source: `numpy.random.Generator.integers`; TF-Agents' per-arm example draws its features so.

    >>> contexts = Integers(2, -10, 10)(np.random.default_rng(0), (1000,))
    >>> int(contexts.min()), int(contexts.max())
    (-10, 9)
    """

    trusted = True

    def __init__(self, dim: int, low: int, high: int) -> None:
        super().__init__(dim, np.int32)
        lowest = check_integer("low", low, minimum=INT32.min)
        end = check_integer("high", high, minimum=lowest + 1)
        if end > INT32.max + 1:
            raise ValueError(f"high is {end}; expected at most {INT32.max + 1}")
        self._low, self._high = lowest, end

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int32]:
        shape, width = (*size, self._dim), self._high - self._low
        if width > SMALL or math.prod(shape) > SMALL:
            return rng.integers(self._low, self._high, shape, np.int32)
        # For small draws half the time of `integers`; probabilities are exact to 2**-53.
        return (rng.random(shape) * width).astype(np.int32) + np.int32(self._low)
