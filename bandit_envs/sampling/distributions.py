"""Contexts of independent features."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandit_envs.checks import LARGEST, checked_integer, checked_number
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

    def __init__(self, dim: int, loc: float = 0.0, scale: float = 1.0) -> None:
        super().__init__(dim)
        self._loc = checked_number("loc", loc, -LARGEST, LARGEST)
        self._scale = checked_number("scale", scale, 0.0, LARGEST)

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

    def __init__(self, dim: int, low: float, high: float) -> None:
        super().__init__(dim)
        self._low = checked_number("low", low, -LARGEST, LARGEST)
        self._width = checked_number("high", high, self._low, LARGEST) - self._low

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

    def __init__(self, dim: int, low: int, high: int) -> None:
        super().__init__(dim, np.int32)
        lowest = checked_integer("low", low, minimum=INT32.min)
        end = checked_integer("high", high, minimum=lowest + 1)
        if end > INT32.max + 1:
            raise ValueError(f"high is {end}; expected at most {INT32.max + 1}")
        # Arrays, for NumPy would make them of numbers at every draw.
        self._low, self._high = np.array(lowest, np.int64), np.array(end, np.int64)

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int32]:
        return rng.integers(self._low, self._high, _Shape((*size, self._dim)), np.int32)


class _Shape(tuple[int, ...]):
    """A shape that says how many numbers it takes.

    `Generator.integers` asks `numpy.prod`, and that asks a method `prod`, if there is one. Of a
    tuple it makes an array first, which costs more than a small draw.
    """

    __slots__ = ()

    def prod(self, **_: object) -> int:
        return math.prod(self)
