"""Gymnasium's spaces from our specs, and nests of arrays to and from elements of spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces

from bandit_envs.adapters.batch_of_one import ACCEPTED_KINDS
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, is_continuous, is_discrete


def space_from_spec(spec: Nest) -> Space[Any]:
    """Returns the space of one row's values.

    A dict becomes a `Dict`, a list or tuple a `Tuple`. Bounded integers become a `Discrete` or, if
    they have dimensions, a `MultiDiscrete`; everything else becomes a `Box` in the spec's dtype,
    in which the largest floating-point numbers, as bounds, stand for infinity.

    Args:
        spec: a nest of specs.

    Raises:
        TypeError: a leaf of `spec` is not a spec.
    """
    if isinstance(spec, dict):
        return spaces.Dict({key: space_from_spec(leaf) for key, leaf in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_from_spec(leaf) for leaf in spec])
    if not isinstance(spec, ArraySpec):
        raise TypeError(f"spec is {spec!r}; expected an ArraySpec")
    bounded = BoundedArraySpec.from_spec(spec)
    low = np.broadcast_to(bounded.minimum, spec.shape)
    high = np.broadcast_to(bounded.maximum, spec.shape)
    if is_discrete(spec) and np.all(np.subtract(high, low, dtype=np.float64) < 2**31 - 1):
        start = low.astype(np.int64)
        counts = high.astype(np.int64) - start + 1
        if spec.shape == ():
            return spaces.Discrete(counts.item(), start=start.item())
        return spaces.MultiDiscrete(counts, start=start)
    if is_continuous(spec):
        largest = np.finfo(spec.dtype).max
        low = np.where(low <= -largest, -np.inf, low).astype(spec.dtype)
        high = np.where(high >= largest, np.inf, high).astype(spec.dtype)
    return spaces.Box(low, high, dtype=spec.dtype.type)


def take_row(space: Space[Any], arrays: Nest, row: int) -> Any:
    """Returns a copy of one row of a nest of arrays [B, ...], as an element of `space`."""
    if isinstance(space, spaces.Dict):
        return {key: take_row(leaf, arrays[key], row) for key, leaf in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(take_row(leaf, array, row) for leaf, array in zip(space, arrays))
    if isinstance(space, spaces.Discrete):
        return int(arrays[row])
    return np.array(arrays[row], space.dtype)


def copy_batch(space: Space[Any], arrays: Nest) -> Any:
    """Returns a copy of a nest of arrays [B, ...], as an element of a batched `space`."""
    if isinstance(space, spaces.Dict):
        return {key: copy_batch(leaf, arrays[key]) for key, leaf in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(copy_batch(leaf, array) for leaf, array in zip(space, arrays))
    return np.array(arrays, space.dtype)


def split_batch(space: Space[Any], arrays: Nest) -> list[Any]:
    """Returns the rows of a nest of arrays [B, ...], each as an element of `space`.

    Their arrays are views.
    """
    if isinstance(space, spaces.Dict):
        columns = [split_batch(leaf, arrays[key]) for key, leaf in space.items()]
        return [dict(zip(space, row)) for row in zip(*columns)]
    if isinstance(space, spaces.Tuple):
        return list(zip(*(split_batch(leaf, array) for leaf, array in zip(space, arrays))))
    if isinstance(space, spaces.Discrete):
        return list(arrays.tolist())
    return list(arrays)


def stack_rows(spec: Nest, elements: Any, batch_size: int) -> Nest:
    """Returns an element of a batched space as arrays [B, ...] as `spec` says.

    Raises:
        TypeError: a number is of another kind than the spec's.
    """
    if isinstance(spec, dict):
        return {key: stack_rows(leaf, elements[key], batch_size) for key, leaf in spec.items()}
    if isinstance(spec, (list, tuple)):
        leaves = [stack_rows(leaf, part, batch_size) for leaf, part in zip(spec, elements)]
        return type(spec)(*leaves) if hasattr(spec, "_fields") else type(spec)(leaves)
    array = np.asarray(elements)
    if array.dtype.kind not in ACCEPTED_KINDS[spec.dtype.kind]:
        raise TypeError(f"action is {array.dtype}: {elements!r}; expected {spec.dtype}")
    return array.astype(spec.dtype).reshape(batch_size, *spec.shape)
