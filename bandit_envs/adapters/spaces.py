"""Specs as spaces of Gymnasium, gym and rlberry, whose modules of spaces have the same names.

This module imports none of them. Their spaces have no common type: to mypy, a space is Any.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import check_action, short_repr
from bandit_envs.nests import Nest
from bandit_envs.specs import ArraySpec, BoundedArraySpec, is_discrete


class DistinctItems:
    """Base of the spaces of slates: makes a `MultiDiscrete` one of distinct items.

    The framework's `MultiDiscrete` is the second base.
    """

    nvec: Array
    dtype: np.dtype[Any]
    np_random: np.random.Generator

    def sample(self, *args: object, **kwargs: object) -> Array:
        """Draws a slate, or a slate for each row of a batched space."""
        *rows, num_slots = self.nvec.shape
        order = self.np_random.random((*rows, int(self.nvec.max()))).argsort(axis=-1)
        return np.asarray(order[..., :num_slots], self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether `x` is an element of the `MultiDiscrete`, and its items are distinct."""
        is_element = super().contains(x)  # type: ignore[misc]  # of the second base
        return is_element and bool(np.all(np.diff(np.sort(x, axis=-1))))


def space_of_actions(spaces: ModuleType, kind: ActionKind, slates: type) -> Any:
    """Returns the space of one row's actions: of slates, or as their spec says.

    Args:
        spaces: a framework's module of spaces.
        kind: what an action is.
        slates: the class of the spaces of slates.
    """
    if kind.is_slate:
        return slates(np.full(kind.spec.shape, kind.num_actions))
    return space_from_spec(spaces, kind.spec)


def space_from_spec(spaces: ModuleType, spec: Nest) -> Any:
    """Returns the space of one row's values.

    Integers from 0 become a `Discrete` or, if they have dimensions, a `MultiDiscrete`; booleans a
    `Discrete` or a `MultiBinary`; a dict a `Dict`, a list or tuple a `Tuple`; all else a `Box`.

    Args:
        spaces: a framework's module of spaces.
        spec: the nest of specs.
    """
    if isinstance(spec, dict):
        leaves = {key: space_from_spec(spaces, leaf) for key, leaf in spec.items()}
        return spaces.Dict(leaves)
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_from_spec(spaces, leaf) for leaf in spec])
    if spec.dtype == np.bool_:
        return spaces.MultiBinary(list(spec.shape)) if spec.shape else spaces.Discrete(2)
    bounded = BoundedArraySpec.from_spec(spec)
    low = np.broadcast_to(bounded.minimum, spec.shape)
    high = np.broadcast_to(bounded.maximum, spec.shape)
    if is_discrete(spec) and not low.any() and (high < np.iinfo(np.int32).max).all():
        counts = high.astype(np.int64) + 1
        if not spec.shape:
            return spaces.Discrete(counts.item())
        return spaces.MultiDiscrete(counts)
    if spec.dtype.kind == "f":  # the largest finite numbers stand for infinity
        largest = np.finfo(spec.dtype).max
        low = np.where(low > -largest, low, -np.inf)
        high = np.where(high < largest, high, np.inf)
    return spaces.Box(low.astype(spec.dtype), high.astype(spec.dtype), dtype=spec.dtype.type)


def to_arrays(spec: Nest, element: Any, batch_size: int) -> Nest:
    """Returns an action, an element of a space or of the batched one, as arrays [B, ...]."""
    if isinstance(spec, ArraySpec):
        return check_action(element, spec, batch_size).astype(spec.dtype)
    if isinstance(spec, dict):
        if isinstance(element, dict) and element.keys() == spec.keys():
            return {key: to_arrays(leaf, element[key], batch_size) for key, leaf in spec.items()}
    elif isinstance(element, (list, tuple)) and len(element) == len(spec):
        return type(spec)([to_arrays(leaf, part, batch_size) for leaf, part in zip(spec, element)])
    raise TypeError(
        f"action is {short_repr(element)}; expected the structure of {short_repr(spec)}"
    )
