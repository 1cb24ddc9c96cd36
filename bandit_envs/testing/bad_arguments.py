"""Actions and saved states that an environment must refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import BanditState
from bandit_envs.base.py_environment import EnvironmentState
from bandit_envs.base.state import SavedState
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure
from bandit_envs.trajectories import TimeStep

Described = tuple[str, Any]
"""A description of a bad argument, and the argument."""


def bad_actions(spec: Nest, action: Nest) -> Iterator[Described]:
    """Yields actions that do not conform to `spec`, made from an `action` [B, ...] that does."""
    yield "an object", object()
    yield "a dict around it", {"action": action}
    found: dict[str, Any] = {}
    map_structure(lambda leaf, array: found.update(_bad_leaves(leaf, array)), spec, action)
    for what in found:

        def spoiled(leaf: ArraySpec, array: NDArray[Any], what: str = what) -> Any:
            return _bad_leaves(leaf, array).get(what, array)

        yield what, map_structure(spoiled, spec, action)


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
            if not low <= value <= high and not value < -(2**63):
                dtype = spec.dtype if kind == "f" else np.uint64 if value >= 2**63 else np.int64
                bad[str(value)] = array.astype(dtype)
                bad[str(value)].flat[-1] = value
    return bad


def bad_states(state: Any, unchecked: Collection[str]) -> Iterator[Described]:
    """Yields what is not a saved state, and copies of `state` with one bad field each.

    Args:
        state: a saved state.
        unchecked: the fields that nobody can check.
    """
    for wrong in (None, 0, "state", (), {}, object()):
        yield repr(wrong), wrong
    yield from _edited(state, unchecked)


def _edited(value: Any, unchecked: Collection[str]) -> Iterator[Described]:
    if type(value) is tuple:  # the content of a wrapper's state: its own, and the wrapped one's
        own, wrapped = value
        for what, bad in _edited(wrapped, unchecked):
            yield f"wrapped {what}", (own, bad)
    elif isinstance(value, (SavedState, EnvironmentState, TimeStep, BanditState)):
        for field in set(value._fields) - set(unchecked):
            yield field, value._replace(**{field: object()})
            for what, bad in _edited(getattr(value, field), unchecked):
                yield f"{field}.{what}", value._replace(**{field: bad})
