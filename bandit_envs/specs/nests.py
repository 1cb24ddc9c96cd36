"""Nests: a leaf, or a dict, list, tuple or named tuple of nests; of arrays, or of their specs."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import read_only
from bandit_envs.specs.array_spec import ArraySpec, BoundedArraySpec, is_continuous

Nest = Any
"""A leaf, or a dict, list, tuple or named tuple of nests."""


def map_structure(function: Callable[..., Any], nest: Nest, *others: Nest) -> Nest:
    """Applies `function` to the leaves of nests of one structure and returns the nest of results.

    Args:
        function: takes one leaf of each nest.
        nest: gives the structure: whatever is not a dict, list or tuple is a leaf.
        *others: nests with the same keys, lengths and containers.

    Raises:
        TypeError: a container of one nest is of another kind in another nest.
        ValueError: the keys or lengths differ.
    """
    if isinstance(nest, dict):
        for other in others:
            _require(isinstance(other, dict), nest, other)
            if other.keys() != nest.keys():
                raise ValueError(f"keys are {list(other)}; expected {list(nest)}")
        return {
            key: map_structure(function, nest[key], *(other[key] for other in others))
            for key in nest
        }
    if isinstance(nest, (list, tuple)):
        for other in others:
            _require(isinstance(other, list) == isinstance(nest, list), nest, other)
            _require(isinstance(other, (list, tuple)), nest, other)
            if len(other) != len(nest):
                raise ValueError(f"length is {len(other)}; expected {len(nest)}")
        results = [map_structure(function, *leaves) for leaves in zip(nest, *others)]
        if hasattr(nest, "_fields"):
            return type(nest)(*results)
        return type(nest)(results)
    return function(nest, *others)


def read_only_nest(nest: Nest) -> Nest:
    """Returns a nest of new read-only views, in new containers."""
    if type(nest) is np.ndarray:  # the two common kinds first: every step passes here
        return read_only(nest)
    if type(nest) is dict:
        return {key: read_only_nest(leaf) for key, leaf in nest.items()}
    return map_structure(lambda leaf: read_only(np.asarray(leaf)), nest)


def _require(same: bool, nest: Nest, other: Nest) -> None:
    if not same:
        raise TypeError(f"found a {type(other).__name__}; expected a {type(nest).__name__}")


def assert_arrays_nest(arrays: Nest, spec: Nest) -> None:
    """Checks that a nest of arrays conforms to a nest of specs.

    Raises:
        TypeError: the containers differ, or a leaf of `spec` is not a spec.
        ValueError: keys or lengths differ, or an array does not fit its spec.
    """

    def check(leaf: Any, array: Any) -> None:
        if not isinstance(leaf, ArraySpec):
            raise TypeError(f"spec is {leaf!r}; expected an ArraySpec")
        if not leaf.check_array(array):
            found = reprlib.repr(array)
            if isinstance(array, np.ndarray):
                found = f"{array.dtype} array of shape {array.shape}: {str(array)[:160]}"
            raise ValueError(f"found {found}; expected {leaf}")

    map_structure(check, spec, arrays)


def check_arrays_nest(arrays: Nest, spec: Nest) -> bool:
    """Whether a nest of arrays has the structure, shapes, dtypes and bounds of a nest of specs."""
    try:
        assert_arrays_nest(arrays, spec)
    except (TypeError, ValueError):
        return False
    return True


def add_outer_dims_nest(spec: Nest, outer_dims: Iterable[int]) -> Nest:
    """Returns the nest of specs with `outer_dims`, such as `(batch_size,)`, before each shape."""
    outer = tuple(outer_dims)

    def add(leaf: ArraySpec) -> ArraySpec:
        # Bounds of full shape still broadcast, for the new dimensions are on the left.
        return leaf.replace(shape=outer + leaf.shape)

    return map_structure(add, spec)


def sample_spec_nest(rng: np.random.Generator, spec: Nest, outer_dims: Iterable[int] = ()) -> Nest:
    """Draws a nest of arrays `[*outer_dims, *spec.shape]` uniformly within the bounds of specs.

    An unbounded spec is drawn from its dtype's whole range.
    """

    def sample(leaf: ArraySpec) -> NDArray[Any]:
        bounded = BoundedArraySpec.from_spec(leaf)
        low, high = bounded.minimum, bounded.maximum
        if is_continuous(bounded):
            # Halved, so that the width of the widest interval is still finite.
            with np.errstate(under="ignore"):
                middle, radius = low / 2 + high / 2, high / 2 - low / 2
            values = middle + radius * rng.uniform(-1.0, 1.0, bounded.shape)
            return np.asarray(np.clip(values, low, high), bounded.dtype)
        values = rng.integers(low, high, bounded.shape, dtype=bounded.dtype.type, endpoint=True)
        return np.asarray(values, bounded.dtype)

    return map_structure(sample, add_outer_dims_nest(spec, outer_dims))
