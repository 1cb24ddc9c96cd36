"""Nests: a leaf, or a dict, list, tuple or named tuple of nests; of arrays, or of their specs."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import read_only
from bandit_envs.specs.array_spec import ArraySpec, BoundedArraySpec, SlateSpec, is_continuous

Nest = Any
"""A leaf, or a dict, list, tuple or named tuple of nests."""


def map_structure(function: Callable[..., Any], nest: Nest, *others: Nest) -> Nest:
    """Applies `function` to the leaves of nests of one structure and returns the nest of results.

    Whatever is not a dict, list or tuple is a leaf; `function` takes one leaf of each nest.

    Raises:
        TypeError: a container of one nest is of another kind in another nest.
        ValueError: the keys or lengths differ.
    """
    kind: Any = next((kind for kind in (dict, list, tuple) if isinstance(nest, kind)), None)
    if kind is None:
        return function(nest, *others)
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
        return {key: read_only_nest(leaf) for key, leaf in nest.items()}
    return map_structure(lambda leaf: read_only(np.asarray(leaf)), nest)


def assert_arrays_nest(arrays: Nest, spec: Nest, what: str = "") -> None:
    """Raises TypeError or ValueError if a nest of arrays does not fit a nest of specs.

    The message starts with `what`.
    """

    def check(leaf: Any, array: Any) -> None:
        if not _spec(leaf).check_array(array):
            found = reprlib.repr(array)
            if isinstance(array, np.ndarray):
                found = f"{array.dtype} array of shape {array.shape}: {str(array)[:160]}"
            raise ValueError(f"found {found}; expected {leaf}")

    try:
        map_structure(check, spec, arrays)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}{error}") from error


def check_arrays_nest(arrays: Nest, spec: Nest) -> bool:
    """Whether a nest of arrays fits a nest of specs: structure, shapes, dtypes and bounds."""
    try:
        assert_arrays_nest(arrays, spec)
    except (TypeError, ValueError):
        return False
    return True


def add_outer_dims_nest(spec: Nest, outer_dims: Iterable[int]) -> Nest:
    """Returns the nest of specs with `outer_dims`, such as `(batch_size,)`, before each shape."""
    outer = tuple(outer_dims)
    return map_structure(lambda leaf: _spec(leaf).replace(shape=outer + leaf.shape), spec)


def sample_spec_nest(rng: np.random.Generator, spec: Nest, outer_dims: Iterable[int] = ()) -> Nest:
    """Draws a nest of arrays `[*outer_dims, *spec.shape]` uniformly within the bounds of specs.

    An unbounded spec is drawn from its dtype's whole range.
    """

    def sample(leaf: ArraySpec) -> NDArray[Any]:
        bounded = BoundedArraySpec.from_spec(leaf)
        low, high, shape, dtype = bounded.minimum, bounded.maximum, bounded.shape, bounded.dtype
        if isinstance(bounded, SlateSpec):
            keys = rng.random((*shape[:-1], int(high.max()) + 1))
            return keys.argsort(axis=-1)[..., : shape[-1]].astype(dtype)
        if not is_continuous(bounded):
            return rng.integers(low, high, shape, dtype.type, endpoint=True).astype(dtype)
        share = rng.random(shape)  # so weighted, the widest interval does not overflow
        return np.asarray(np.clip((1.0 - share) * low + share * high, low, high), dtype)

    return map_structure(sample, add_outer_dims_nest(spec, outer_dims))


def _spec(leaf: Any) -> ArraySpec:
    if not isinstance(leaf, ArraySpec):
        raise TypeError(f"spec is {leaf!r}; expected an ArraySpec")
    return leaf
