"""Actions that an environment must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure


def bad_actions(spec: Nest, action: Nest) -> Iterator[tuple[str, Any]]:
    """Yields a description of each mistake, and an action [B, ...] that makes it.

    Args:
        spec: the nest of specs of one row's action.
        action: a nest of arrays [B, ...] that conforms to it.
    """
    yield "an object", object()
    yield "a dict around it", {"action": action}
    found: dict[str, Any] = {}
    map_structure(lambda leaf, array: found.update(_bad_leaves(leaf, array)), spec, action)
    for what in found:
        yield what, map_structure(lambda s, a, w=what: _bad_leaves(s, a).get(w, a), spec, action)


def _bad_leaves(spec: ArraySpec, array: NDArray[Any]) -> dict[str, Any]:
    bad: dict[str, Any] = {
        "a dimension too many": array[..., np.newaxis],
        "a row too many": np.concatenate([array, array[:1]]),
        "a row too few": array[:-1],
        "None": None,
        "a string": "0",
        "a ragged list": [[0], [0, 1]],
        "complex numbers": array.astype(complex),
    }
    kind = spec.dtype.kind
    if kind != "b":
        bad["booleans"] = array.astype(bool)
    if kind != "f":
        bad["floats"] = array.astype(float)
    if kind in "iu":
        bad["2**70"] = np.full(array.shape, 2**70, object).tolist()
    if kind in "iuf" and array.size and isinstance(spec, BoundedArraySpec):
        low, high = (np.ravel(bound)[-1].item() for bound in (spec.minimum, spec.maximum))
        wraps = 2**32 + int(array.flat[-1])  # is a good action if it is cut to 32 bits
        floats = np.nan, np.inf, -np.inf
        for value in floats if kind == "f" else (low - 1, high + 1, -1, wraps, 2**64 - 1):
            if not low <= value <= high and (kind == "f" or -(2**63) <= value < 2**64):
                dtype = spec.dtype if kind == "f" else np.uint64 if value >= 2**63 else np.int64
                bad[str(value)] = array.astype(dtype)
                bad[str(value)].flat[-1] = value
    return bad
