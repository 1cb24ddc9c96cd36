"""Actions that an environment has to refuse."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    Nest,
    is_continuous,
    is_discrete,
    map_structure,
)

Described = tuple[str, Any]


def bad_actions(spec: Nest, action: Nest) -> Iterator[Described]:
    """Yields a description and an action for everything that can be wrong with an action.

    Args:
        spec: the nest of specs of one row's action.
        action: a nest of arrays [B, ...] with which nothing is wrong; the others are made from it.
    """
    leaves: list[tuple[ArraySpec, NDArray[Any]]] = []
    map_structure(lambda leaf, array: leaves.append((leaf, array)), spec, action)
    for index, (leaf, array) in enumerate(leaves):
        where = f" in leaf {index}" if len(leaves) > 1 else ""
        for what, bad in _bad_leaves(leaf, array):
            position = itertools.count()
            yield (
                f"{what}{where}",
                map_structure(
                    lambda good, bad=bad, index=index, position=position: (
                        bad if next(position) == index else good
                    ),
                    action,
                ),
            )
    yield from _bad_containers(action)


def _bad_containers(action: Nest) -> Iterator[Described]:
    yield "an object", object()
    if isinstance(action, dict):
        yield "a dict with one key too many", {**action, "no such key": 0}
        yield "an empty dict", {}
        yield "a list of a dict's values", list(action.values())
    elif isinstance(action, (list, tuple)):
        yield "an empty tuple", ()
        yield "a nest with one item too many", [*action, action[0]]
        yield "a dict of a list's items", dict(enumerate(action))
    else:
        yield "a dict of an array", {"action": action}


def _bad_leaves(spec: ArraySpec, array: NDArray[Any]) -> Iterator[Described]:
    yield "a dimension too many", array[..., np.newaxis]
    yield "a row too many", np.concatenate([array, array[:1]])
    yield "a row too few", array[:-1]
    yield "None", None
    yield "an array of None", np.full(array.shape, None)
    yield "a string", "0"
    yield "an array of strings", array.astype(str)
    yield "a ragged list", [[0], [0, 1]]
    yield "complex numbers", array.astype(complex)
    if spec.dtype != np.bool_:
        yield "booleans", array.astype(bool)
    if not is_continuous(spec):
        yield "floats", array.astype(float)
        yield "NaN", np.full(array.shape, np.nan)
    if array.size and isinstance(spec, BoundedArraySpec):
        low, high = (
            np.broadcast_to(bound, spec.shape).flat[-1] for bound in (spec.minimum, spec.maximum)
        )
        if is_discrete(spec):
            yield from _bad_integers(array, spec.dtype, int(low), int(high))
        elif is_continuous(spec):
            infinity = spec.dtype.type(np.inf)
            with np.errstate(over="ignore"):
                beyond = np.nextafter(low, -infinity), np.nextafter(high, infinity)
            for value in dict.fromkeys((np.nan, -infinity, infinity, *beyond)):
                if not low <= value <= high:
                    yield f"a {value}", _with_last(array, value, spec.dtype)


def _bad_integers(
    array: NDArray[Any], dtype: np.dtype[Any], low: int, high: int
) -> Iterator[Described]:
    wraps_to_good = 2**32 + int(array.flat[-1])
    for value in dict.fromkeys((low - 1, high + 1, -1, 2**40, wraps_to_good, -(2**63))):
        if not low <= value <= high:
            for kind in sorted({dtype, np.dtype(np.int64)}, key=str):
                if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
                    yield f"a {value} as {kind}", _with_last(array, value, kind)
    for value in (2**63, 2**64 - 1):
        if value > high:
            yield f"uint64 of {value}", np.full(array.shape, value, np.uint64)
    yield "integers of more than 64 bits", np.full(array.shape, 2**70, object).tolist()


def _with_last(array: NDArray[Any], value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    bad = array.astype(dtype)
    bad.flat[-1] = value
    return bad
