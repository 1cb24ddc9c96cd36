"""Choices of an index in every row of a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng
from bandit_envs.base.checks import short_repr

UNKNOWN = 1e105
"""From here on a value stands for an action of which nothing is known: rewards are smaller."""

MANY = 64  # columns from which on finding the largest values before sorting them is faster


def argmax_random_ties(rng: Rng, values: Array, available: Mask | None = None) -> Indices:
    """Returns the index of each row's largest value; of several, it draws one uniformly: [B].

    The `values` [B, K] have no NaN; those that are not `available` [B, K] do not count.
    """
    if available is not None:
        values = np.where(available, values, -np.inf)
    num_rows, num_actions = values.shape
    best, largest = largest_values(values)
    is_largest = values == largest
    if np.count_nonzero(is_largest) == num_rows:
        return best
    places = np.flatnonzero(is_largest)  # those of a row follow those of the row before
    candidates = np.bincount(places // num_actions, minlength=num_rows)
    first = candidates.cumsum() - candidates
    return np.asarray(places[first + rng.integers(candidates)] % num_actions)


def hope_for_best(values: Floats, available: Mask | None = None) -> Floats:
    """Returns values [B, K], in which actions of which nothing is known equal the best of others.

    So they share the choices with the best action, whatever the size of rewards is, until they are
    known; none of them takes all choices, even if rewards come late. Where nothing is known of any
    available action, values stay as they are, and so does an infinite value.

    >>> hope_for_best(np.array([[1.0, 3.0, 1e150]]))
    array([[1., 3., 3.]])
    """
    is_unknown = values > UNKNOWN
    if not is_unknown.any():
        return values
    is_unknown &= values < np.inf
    others = np.where(is_unknown, -np.inf, values)
    if available is not None:
        others = np.where(available, others, -np.inf)
    best = others.max(axis=1, keepdims=True)
    return np.where(is_unknown & (best > -np.inf), best, values)


def largest_values(values: Array) -> tuple[Indices, Array]:
    """Returns the index of each row's first largest value, [B], and the value, [B, 1].

    Raises:
        ValueError: one of the `values` [B, K] is NaN.
    """
    best: Indices = values.argmax(axis=1)
    if len(values) == 1:  # as in a service
        place = best.item()
        _refuse_nan(values.item(place), 0)
        return best, values[:, place : place + 1]
    starts = np.arange(0, values.size, values.shape[1])
    largest = values.reshape(-1).take(starts + best)
    row = largest.argmax()  # for argmax, NaN is the largest number
    _refuse_nan(largest.item(row), int(row))
    return best, largest[:, np.newaxis]


def _refuse_nan(score: float, row: int) -> None:
    """Raises ValueError if the largest score of a row is NaN."""
    if math.isnan(score):
        raise ValueError(f"the scores of row {row} have NaN; expected numbers")


def largest_random_ties(rng: Rng, values: Array, size: int) -> Indices:
    """Returns the indices of each row's largest values, largest first: [B, size].

    Equal values of a row [K] stand in random order. The `values` [B, K] have no NaN.
    """
    num_rows, num_actions = values.shape
    ties = rng.random(values.shape)
    if num_actions < MANY:
        return np.lexsort((ties, -values))[:, :size]
    places = np.flatnonzero(_may_be_largest(values, ties, size))
    rows = places // num_actions
    order = np.lexsort((ties.reshape(-1)[places], -values.reshape(-1)[places], rows))
    first = np.searchsorted(rows, np.arange(num_rows))[:, np.newaxis]
    return np.asarray(places[order[first + np.arange(size)]] % num_actions)


def _may_be_largest(values: Array, ties: Floats, size: int) -> Mask:
    """Returns which values may be among the largest of their rows, or of equals of least `ties`.

    Among them are all that are, and few others: [B, K]. The `ties` [B, K] are from 0 to 1.
    """
    bound = _bound_of_largest(values, size)
    found = values >= bound
    if np.count_nonzero(found) < 4 * size * len(values):
        return found
    ranks = 1.0 - ties
    ranks *= found
    ranks[values > bound] = 2.0
    return np.asarray(ranks >= _bound_of_largest(ranks, size))


def _bound_of_largest(values: Array, size: int) -> Array:
    """Returns a number of each row, [B, 1], that its `size` largest values [B, K] reach.

    It is the smallest of the largest values of `size` of some groups of columns.
    """
    num_rows, num_actions = values.shape
    num_groups = max(size, math.isqrt(size * num_actions))
    height = num_actions // num_groups
    groups = values[:, : height * num_groups].reshape(num_rows, height, num_groups)
    return np.asarray(np.partition(groups.max(axis=1), -size, axis=1)[:, -size, np.newaxis])


def draw_indices(rng: Rng, weights: Array) -> Indices:
    """Returns an index of each row, drawn in proportion to `weights` [B, K]: [B]."""
    if len(weights) == 1:  # as in a service
        row = weights[0].cumsum()
        place = row.searchsorted(rng.random() * row[-1], "right")
        return np.array([place % len(row)])
    cumulative = weights.cumsum(axis=1)
    # Below the last sum even where rounding leaves that sum below 1.
    drawn = rng.random(len(weights)) * cumulative[:, -1]
    return np.asarray((cumulative > drawn[:, np.newaxis]).argmax(axis=1))


def available_only(weights: Floats, available: Mask | None) -> Floats:
    """Returns probabilities [B, K], given that one of the available actions is chosen.

    Where all of those are 0, they become equally likely.
    """
    if available is None:
        return weights
    found = np.where(available, weights, 0.0)
    rounded_to_zero = ~found.any(axis=1)
    found[rounded_to_zero] = available[rounded_to_zero]
    return normalized(found)


def rows_of(mask: Mask | None, rows: Indices) -> Mask | None:
    """Returns some rows of a mask [B, K]; None stands for all actions in all rows."""
    return None if mask is None else mask[rows]


def explore(
    rng: Rng, best: Array, epsilon: float | Floats, available: Mask | None, num_actions: int
) -> Array:
    """Returns the best actions [B], or with probability epsilon any available ones.

    Args:
        rng: draws.
        best: [B].
        epsilon: a number, or one for each row, [B].
        available: [B, K]; None for all.
        num_actions: K.
    """
    drawn = rng.random(len(best))
    rows = (drawn < epsilon).nonzero()[0]
    if rows.size == 0:
        return best
    actions = best.copy()
    if available is not None:
        actions[rows] = draw_indices(rng, available[rows])
    else:  # of the numbers below epsilon, drawn / epsilon is uniform
        below = epsilon[rows] if isinstance(epsilon, np.ndarray) else epsilon
        actions[rows] = drawn[rows] / below * num_actions
    return actions


def check_exploration(hook: str, epsilon: Any, num_rows: int) -> float | Floats:
    """Returns the probability of exploring that a `hook` returned: a number, or one for each row.

    Raises:
        ValueError: it is something else, or not from 0 to 1.
    """
    if isinstance(epsilon, float) and 0.0 <= epsilon <= 1.0:
        return epsilon
    table = np.asarray(epsilon)
    if table.shape not in ((), (num_rows,)):
        found = f"an array of shape {table.shape}"
        raise ValueError(f"{hook} returned {found}; expected a number, or shape ({num_rows},)")
    if table.dtype.kind not in "fiu" or not (table.min() >= 0.0 and table.max() <= 1.0):
        raise ValueError(f"{hook} returned {short_repr(epsilon)}; expected numbers from 0 to 1")
    return table if table.shape else float(table)


def index_probabilities(index: Floats, epsilon: float | Floats, available: Mask | None) -> Floats:
    """Returns the probabilities of actions of which one with the largest index is chosen: [B, K].

    Args:
        index: [B, K].
        epsilon: of choosing any available action: a number, or one for each row, [B].
        available: [B, K]; None for all.
    """
    if available is not None:
        index = np.where(available, index, -np.inf)
    _, largest = largest_values(index)
    table = uniform(index == largest)
    if isinstance(epsilon, np.ndarray):
        epsilon = epsilon[:, np.newaxis]
    any_available = 1.0 / index.shape[1] if available is None else uniform(available)
    table *= 1.0 - epsilon
    table += epsilon * any_available
    return table


def softmax(values: Array, scale: float | Floats = 1.0) -> Floats:
    """Returns the softmax of `scale` times the values of each row: [B, K].

    Args:
        values: [B, K].
        scale: a number; or one for each row, [B]. Then rows do not depend on each other, not even
            by rounding.
    """
    weights = values - values.max(axis=1, keepdims=True)  # at most 0, so that exp is safe
    is_by_row = isinstance(scale, np.ndarray)
    weights *= scale[:, np.newaxis] if isinstance(scale, np.ndarray) else scale
    np.exp(weights, out=weights)
    sums = weights.sum(axis=1) if is_by_row else row_sums(weights)
    weights /= sums[:, np.newaxis]
    return np.asarray(weights)


def row_sums(table: Array) -> Floats:
    """Returns the sums of the rows of a table [B, K]: [B].

    A product is faster than `sum`, but its rounding depends on the number of rows.
    """
    return np.asarray(table @ np.ones(table.shape[1]))


def normalized(weights: Array) -> Floats:
    """Returns weights [B, K] divided by the sums of their rows."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def uniform(chosen_from: Mask) -> Floats:
    """Returns equal probabilities of the actions in a mask [B, K], and 0 for all others.

    The mask has at least one action in each row. Most masks of best actions have just one.
    """
    table = chosen_from.astype(np.float64)
    if len(table) == 1:  # as in a service
        table /= np.count_nonzero(chosen_from)
        return table
    numbers = row_sums(table)
    has_several = numbers > 1.0
    table[has_several] /= numbers[has_several, np.newaxis]
    return table


def draw_normal(rng: Rng, mean: Floats, std: Floats) -> Floats:
    """Draws from normal distributions with the means [B, K] and standard deviations [B, K]."""
    values = rng.standard_normal(mean.shape)
    values *= std
    values += mean
    return values
