"""Nests: arrays, or their specs, in dicts, lists, tuples and named tuples of any depth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, read_only

__all__ = [
    "flatten",
    "map_structure",
]

Nest = Any
"""A leaf, or a dict, list, tuple or named tuple of nests; of arrays, or of their specs."""

CONTAINERS: Any = (dict, list, tuple)


def map_structure(function: Callable[..., Any], nest: Nest, *others: Nest) -> Nest:
    """Applies `function` to the leaves of nests of one structure and returns the nest of results.

    Whatever is not a dict, list or tuple is a leaf; `function` takes one leaf of each nest.

    Raises:
        TypeError: a container of one nest is of another kind in another nest.
        ValueError: the keys or lengths differ.
    """
    if not isinstance(nest, CONTAINERS):
        return function(nest, *others)
    if type(nest) is dict and not others:  # the common kind first: every step passes here
        return {key: map_structure(function, leaf) for key, leaf in nest.items()}
    kind: Any = next(kind for kind in CONTAINERS if isinstance(nest, kind))
    for other in others:
        if not isinstance(other, kind):
            raise TypeError(f"found a {type(other).__name__}; expected a {type(nest).__name__}")
        if kind is dict and other.keys() != nest.keys():
            raise ValueError(f"keys are {list(other)}; expected {list(nest)}")
        if len(other) != len(nest):
            raise ValueError(f"length is {len(other)}; expected {len(nest)}")
    keys = nest if kind is dict else range(len(nest))
    results = [
        map_structure(function, nest[key], *(other[key] for other in others)) for key in keys
    ]
    if kind is dict:
        return dict(zip(nest, results))
    return type(nest)(*results) if hasattr(nest, "_fields") else type(nest)(results)


def flatten(nest: Nest) -> list[Any]:
    """Returns the leaves of a nest, in order."""
    leaves: list[Any] = []
    map_structure(leaves.append, nest)
    return leaves


def read_only_nest(nest: Nest) -> Nest:
    """Returns a nest of new read-only views, in new containers."""
    if type(nest) is np.ndarray:  # the two common kinds first: every step passes here
        return read_only(nest)
    if type(nest) is dict:
        return {
            key: read_only(leaf) if type(leaf) is np.ndarray else read_only_nest(leaf)
            for key, leaf in nest.items()
        }
    return map_structure(lambda leaf: read_only(np.asarray(leaf)), nest)


def flat_leaves(nest: Nest, dims: int) -> list[Array]:
    """Returns the leaves of a nest of arrays, flattened after the first `dims` dimensions."""
    leaves = []
    for leaf in flatten(nest):
        count = math.prod(leaf.shape[dims:])
        leaves.append(leaf.reshape(*leaf.shape[:dims], count))
    return leaves


def join_leaves(nest: Nest, dims: int) -> Array:
    """Returns the `flat_leaves` of a nest in one array."""
    flat = flat_leaves(nest, dims)
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=-1)
