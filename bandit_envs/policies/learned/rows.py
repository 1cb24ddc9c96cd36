"""Rows of what policies have learned: of arrays [B, ...] in nests."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bandit_envs.arrays import Indices, Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.nests import Nest, map_structure


def check_rows(rows: Any, batch_size: int) -> Mask:
    """Returns which rows to learn from, [B] bool; ValueError if it is anything else."""
    mask = np.asarray(rows)
    if mask.dtype != np.bool_ or mask.shape != (batch_size,):
        expected = f"{batch_size} booleans, or None for all rows"
        raise ValueError(f"rows is {short_repr(rows)}; expected {expected}")
    return mask


def take_rows(nest: Nest, rows: Mask) -> Nest:
    """Returns some rows of a nest; a leaf may be None."""
    return map_structure(functools.partial(_take, rows), nest)


def merge_rows(before: Nest, after: Nest, rows: Mask) -> Nest:
    """Returns `after` in the `rows`, and `before` in all others.

    A number is shared by all rows: it is the new one.

    Raises:
        ValueError: an array does not have the rows first.
    """
    return map_structure(functools.partial(_merge, rows), before, after)


def repeat_rows(nest: Nest, batch_size: int, new_size: int) -> Nest:
    """Returns arrays [batch_size, ...] as [new_size, ...], whose row i is their row i mod B.

    Numbers and all else are shared by all rows.
    """
    rows = np.arange(new_size) % batch_size
    return map_structure(functools.partial(_repeat, rows, batch_size), nest)


def _take(rows: Mask, leaf: Any) -> Any:
    return None if leaf is None else np.asarray(leaf)[rows]


def _merge(rows: Mask, before: Any, after: Any) -> Any:
    shape = np.shape(after)
    if shape[:1] == rows.shape:
        is_new = rows.reshape(-1, *[1] * (len(shape) - 1))
        return np.where(is_new, after, before)
    if isinstance(after, (int, float, np.number)) or np.array_equal(before, after):
        return after
    problem = "cannot learn from some rows only, as an array of `learned` is not [B, ...]"
    expected = "the rows first, or learns_by_row = False if rows share a model"
    raise ValueError(f"policy {problem}; expected {expected}")


def _repeat(rows: Indices, batch_size: int, leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray) and leaf.shape[:1] == (batch_size,):
        return leaf[rows]
    return leaf
