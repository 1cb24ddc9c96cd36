"""What an action is: one integer, a slate of integers, or anything else that a spec describes."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.checks import check_action, check_indices
from bandit_envs.base.slates import check_distinct
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import BoundedArraySpec, SlateSpec


class AnyAction:
    """Actions that a nest of specs describes, such as numbers. They have no table of means.

    Args:
        spec: of one row's action.
        batch_size: B.
    """

    is_single = False
    """Whether an action is one integer from 0 to K - 1."""

    is_slate = False
    """Whether it is several distinct ones."""

    num_actions: int | None = None
    """K, if actions, or what they are made of, are integers from 0 to K - 1."""

    def __init__(self, spec: Nest, batch_size: int) -> None:
        self.spec = spec
        self._batch_size = batch_size

    def check(self, action: Nest) -> Nest:
        """Returns `action` as the hooks take it; TypeError or ValueError if it does not fit."""
        size = self._batch_size
        return map_structure(lambda spec, leaf: check_action(leaf, spec, size), self.spec, action)

    def entries(self, values: Array, action: Nest) -> Array:
        """Returns the entries of `values` [B, K] at each row's `action` [B, ...]: [B, ...]."""
        return np.asarray(values[np.arange(self._batch_size), action])


class IndexedAction(AnyAction):
    """Actions of integers from 0 to K - 1: [B], or [B, ...]."""

    def __init__(self, spec: BoundedArraySpec, batch_size: int, num_actions: int) -> None:
        super().__init__(spec, batch_size)
        self.num_actions = self._count = num_actions
        self.is_single = spec.shape == ()
        rows = np.arange(batch_size).reshape(batch_size, *(1,) * len(spec.shape))
        self.row_offsets = rows * num_actions  #: where each row begins in a flat table

    def check(self, action: Nest) -> Nest:
        if self.is_single:
            return check_indices(action, self._batch_size, self._count)
        return super().check(action)

    def entries(self, values: Array, action: Nest) -> Array:
        if self._batch_size == 1:
            return values.take(action)
        # Flat offsets are faster than an index of rows and actions. The actions have been checked,
        # and `wrap` does not check them again.
        return values.take(self.row_offsets + action, mode="wrap")


class Slates(IndexedAction):
    """Slates [B, S] of distinct items from 0 to K - 1."""

    is_slate = True

    def check(self, action: Nest) -> Nest:
        checked = check_indices(action, self._batch_size, self._count, self.spec.shape)
        return check_distinct(checked, self._count)


def kind_of_actions(spec: Nest, batch_size: int) -> AnyAction:
    """Returns what an action of a spec is."""
    count = _count(spec)
    if count is None:
        return AnyAction(spec, batch_size)
    kind = Slates if isinstance(spec, SlateSpec) else IndexedAction
    return kind(spec, batch_size, count)


def _count(spec: Nest) -> int | None:
    """Returns K if actions, or slates of actions, are integers from 0 to K - 1; else None."""
    if not isinstance(spec, BoundedArraySpec) or spec.dtype.kind not in "iu":
        return None
    last = spec.maximum.max()
    return int(last) + 1 if not spec.minimum.any() and (spec.maximum == last).all() else None
