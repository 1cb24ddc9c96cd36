"""Contexts that are items of a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import first_nan
from bandit_envs.base.checks import check_numbers
from bandit_envs.sampling.context_sampler import ContextSampler


class Catalog(ContextSampler):
    """Items of a table, as a recommender offers them: no item twice in a row.

    Each row has n items drawn uniformly without replacement, in random order; rows are independent.

    Args:
        features: the table, [number of items, dim]; it is copied, and its dtype kept.

    Source: Li et al., A contextual-bandit approach to personalized news article recommendation
    (2010), section 2: each round offers a set of articles.

    >>> catalog = Catalog(np.eye(4))
    >>> catalog(np.random.default_rng(0), (2, 4)).sum(axis=1)  # each item once a row
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """

    trusted = True

    def __init__(self, features: ArrayLike) -> None:
        table = check_numbers("features", features, ndim=2)
        if len(table) == 0:
            raise ValueError(f"features has shape {table.shape}; expected (items, dim), items >= 1")
        super().__init__(table.shape[1], table.dtype)
        index = first_nan(table)
        if index is not None:
            raise ValueError(f"features[{index[0]}] is {table[index[0]]}; expected no NaN")
        self._features = table

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        if len(size) == 1:
            items = rng.integers(len(self._features), size=size)
        else:
            items = _distinct(rng, len(self._features), math.prod(size[:-1]), size[-1])
        contexts: NDArray[Any] = self._features.take(items.reshape(size), axis=0)
        return contexts


def _distinct(rng: np.random.Generator, limit: int, rows: int, count: int) -> NDArray[np.int64]:
    """Draws `count` different integers below `limit` for each row: [rows, count] int64."""
    if count > limit:
        raise ValueError(f"features has {limit} items; expected at least {count}, one an arm")
    if 2 * count > limit:
        everything = np.broadcast_to(np.arange(limit), (rows, limit))
        return rng.permuted(everything, axis=1)[:, :count]
    # Draw again whatever repeats an earlier number of its row, until nothing does. Which ones are
    # drawn again depends on which are equal, never on their values: so all outcomes are as likely.
    chosen = rng.integers(limit, size=(rows, count))
    repeated = _repeats(chosen)
    while repeated.any():
        chosen[repeated] = rng.integers(limit, size=np.count_nonzero(repeated))
        repeated = _repeats(chosen)
    return chosen


def _repeats(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    order = values.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    repeats = np.zeros(values.shape, np.bool_)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return repeats
