"""Samplers of contexts: of independent features, and of items of a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import Array, Indices, Rng, check_array
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, check_numbers
from bandit_envs.sampling.context_sampler import ContextSampler

NUMBERS_PER_TURN = 100
"""The numbers that NumPy shuffles in the time that dealing one item to every row takes."""

LARGEST_DECK = 20
"""The items for each one offered, up to which dealing is faster than drawing again."""


class Normal(ContextSampler):
    """Independent normal features, N(loc, scale^2).

    Args:
        dim: features in a context.
        loc: the mean.
        scale: the standard deviation, at least 0.
        dtype: float32 or float64.

    >>> Normal(3).sample(np.random.default_rng(0), (2, 5)).shape
    (2, 5, 3)
    """

    skips_nan_check = True

    def __init__(
        self, dim: int, loc: float = 0.0, scale: float = 1.0, dtype: DTypeLike = np.float32
    ) -> None:
        super().__init__(dim, dtype)
        if self._spec.dtype.char not in "fd":
            raise TypeError(f"dtype is {self._spec.dtype}; expected float32 or float64")
        self._loc = check_number("loc", loc, -MAX_PARAMETER, MAX_PARAMETER)
        self._scale = check_number("scale", scale, 0.0, MAX_PARAMETER)

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        values: Array = rng.standard_normal((*size, self._dim), self._spec.dtype.type)
        if self._scale != 1.0:
            values *= self._scale
        if self._loc != 0.0:
            values += self._loc
        return values


class Uniform(ContextSampler):
    """Independent features, uniform from `low` to `high`, which rounding may reach, in float32.

    Args:
        dim: features in a context.
        low: the smallest value.
        high: the largest value, at least `low`.

    >>> contexts = Uniform(3, -1.0, 1.0).sample(np.random.default_rng(0), (1000,))
    >>> contexts.shape, bool(abs(contexts).max() <= 1.0)
    ((1000, 3), True)
    """

    skips_nan_check = True

    def __init__(self, dim: int, low: float, high: float) -> None:
        super().__init__(dim)
        self._low = check_number("low", low, -MAX_PARAMETER, MAX_PARAMETER)
        self._width = check_number("high", high, self._low, MAX_PARAMETER) - self._low

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> NDArray[np.float32]:
        values = rng.random((*size, self._dim), np.float32)
        if self._width != 1.0:
            values *= self._width
        if self._low != 0.0:
            values += self._low
        return values


class UnitSphere(ContextSampler):
    """Vectors of length 1 whose direction is uniform, in float32.

    Args:
        dim: features in a context, at least 1.

    >>> contexts = UnitSphere(3).sample(np.random.default_rng(0), (1000,))
    >>> contexts.shape, np.allclose((contexts**2).sum(axis=1), 1.0)
    ((1000, 3), True)
    """

    skips_nan_check = True

    def __init__(self, dim: int) -> None:
        super().__init__(check_integer("dim", dim, minimum=1))

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> NDArray[np.float32]:
        values = rng.standard_normal((*size, self._dim), np.float32)
        squares = np.einsum("...i,...i", values, values)[..., np.newaxis]
        values /= np.sqrt(np.maximum(squares, np.float32(1e-30)))
        return values


class Integers(ContextSampler):
    """Independent integer features, uniform from `low` to `high - 1`, in int32.

    `Integers(1, low, high)` can also draw how many actions each row has.

    Args:
        dim: features in a context.
        low: the smallest value.
        high: the largest value plus 1, above `low`.

    >>> contexts = Integers(2, -10, 10).sample(np.random.default_rng(0), (1000,))
    >>> int(contexts.min()), int(contexts.max())
    (-10, 9)
    """

    skips_nan_check = True

    def __init__(self, dim: int, low: int, high: int) -> None:
        super().__init__(dim, np.int32)
        self._low = check_integer("low", low, -(2**31))
        self._high = check_integer("high", high, self._low + 1, 2**31)

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> NDArray[np.int32]:
        return rng.integers(self._low, self._high, (*size, self._dim), np.int32)


class Catalog(ContextSampler):
    """Items of a table, as a recommender offers them: no item twice in a row.

    Each row has n items drawn uniformly without replacement, in random order; rows are independent.

    Args:
        features: the table, [number of items, dim]; it is copied, and its dtype kept.

    Source: Li et al., A contextual-bandit approach to personalized news article recommendation
    (2010), section 2: each round offers a set of articles.

    >>> catalog = Catalog(np.eye(4))
    >>> catalog.sample(np.random.default_rng(0), (2, 4)).sum(axis=1)  # each item once a row
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """

    skips_nan_check = True

    def __init__(self, features: ArrayLike) -> None:
        table = check_numbers("features", features, ndim=2)
        super().__init__(table.shape[1], table.dtype)
        self._features = check_array("features has", table, table.shape)

    def _sample(self, rng: Rng, size: tuple[int, ...]) -> Array:
        if len(size) == 1:
            items = rng.integers(len(self._features), size=size)
        else:
            items = _draw_distinct(rng, len(self._features), math.prod(size[:-1]), size[-1])
        contexts: Array = self._features.take(items.reshape(size), axis=0)
        return contexts


def _draw_distinct(rng: Rng, limit: int, rows: int, count: int) -> NDArray[Any]:
    """Draws `count` different integers below `limit` for each row: [rows, count].

    Which of three ways is fastest depends on the sizes.
    """
    if count > limit:
        raise ValueError(f"features has {limit} items; expected at least {count}, one for each arm")
    if rows * limit <= NUMBERS_PER_TURN * count:
        everything = np.broadcast_to(np.arange(limit), (rows, limit))
        return rng.permuted(everything, axis=1)[:, :count]
    if limit <= LARGEST_DECK * count:
        return _deal(rng, limit, rows, count)
    return _draw_until_distinct(rng, limit, rows, count)


def _deal(rng: Rng, limit: int, rows: int, count: int) -> NDArray[Any]:
    """Makes the first `count` turns of a Fisher-Yates shuffle of each row, of all rows at once."""
    deck = np.empty((limit, rows), np.min_scalar_type(limit))
    deck[:] = np.arange(limit)[:, np.newaxis]
    turns = np.arange(count)[:, np.newaxis]
    # Turn t swaps item t with a random one of items t, t + 1, ..., limit - 1.
    uniform = rng.random((count, rows)) * (limit - turns)
    places = (uniform.astype(np.intp) + turns) * rows + np.arange(rows)
    cards = deck.reshape(-1)
    for turn, place in enumerate(places):
        drawn = cards.take(place)
        cards[place] = deck[turn]
        deck[turn] = drawn
    return deck[:count].T


def _draw_until_distinct(rng: Rng, limit: int, rows: int, count: int) -> NDArray[np.int64]:
    """Draws again what repeats an earlier number of its row, until nothing does.

    This depends on which numbers are equal, never on their values: so all outcomes have the same
    probability.
    """
    numbers = rng.integers(limit, size=(rows, count))
    unsure = np.arange(rows)
    while len(unsure):
        row, column = _find_repeats(numbers[unsure])
        repeating = unsure[row]
        numbers[repeating, column] = rng.integers(limit, size=len(row))
        unsure = np.unique(repeating)
    return numbers


def _find_repeats(values: NDArray[np.int64]) -> tuple[Indices, Indices]:
    """Returns the rows and columns of those `values` that are equal to an earlier one of a row."""
    count = values.shape[1]
    # Sorting by value, then by column, is faster with both in one number.
    keys = np.sort(values * count + np.arange(count), axis=1)
    ordered = keys // count
    row, place = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
    return row, keys[row, place + 1] % count
