"""Contexts of independent features."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number
from bandit_envs.sampling.context_sampler import ContextSampler

INT32 = np.iinfo(np.int32)


class Normal(ContextSampler):
    """Independent normal features, N(loc, scale^2), in float32.

    Args:
        dim: features in a context.
        loc: their mean.
        scale: their standard deviation.

    Raises:
        TypeError: an argument is not a number.
        ValueError: `dim` or `scale` is negative, or a number is beyond 1e37.

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

    Raises:
        TypeError: an argument is not a number.
        ValueError: `dim` is negative, `low` exceeds `high`, or one of them is beyond 1e37.

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

    Raises:
        TypeError: an argument is not an integer.
        ValueError: `dim` is negative, `low` is not less than `high`, or a value is beyond int32.

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
        # Arrays, because NumPy would make arrays of numbers at every draw.
        self._low, self._high = np.array(lowest, np.int64), np.array(end, np.int64)

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int32]:
        # A flat draw takes half the time of a small one with a shape.
        flat = rng.integers(self._low, self._high, math.prod(size) * self._dim, np.int32)
        return flat.reshape(*size, self._dim)
