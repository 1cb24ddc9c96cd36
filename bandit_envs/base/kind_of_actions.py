"""Which kind of action a spec describes."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.actions import ActionKind, IndexedAction, NumberAction, SingleAction
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.slates import SlateAction
from bandit_envs.nests import Nest
from bandit_envs.specs import ArraySpec, BoundedArraySpec, SlateSpec, is_continuous

__all__ = [
    "kind_of_actions",
]

MAX_ACTIONS = 2**31
"""The largest K. Integers from 0 to larger numbers are quantities: they have no table [B, K]."""


def kind_of_actions(spec: Nest, batch_size: int = 1) -> ActionKind:
    """Returns what an action is.

    Args:
        spec: the nest of specs of one row's action; or an `ActionKind`.
        batch_size: the number of rows, B.
    """
    if isinstance(spec, ActionKind):
        return spec.for_rows(batch_size)
    if isinstance(spec, SlateSpec):
        if not _counts_from_0(spec) or len(spec.shape) != 1:
            expected = "expected slots (S,) of items from 0 to K - 1"
            raise ValueError(f"action_spec is {short_repr(spec)}; {expected}")
        return SlateAction(spec, batch_size)
    if isinstance(spec, BoundedArraySpec) and _counts_from_0(spec):
        return IndexedAction(spec, batch_size) if spec.shape else SingleAction(spec, batch_size)
    if isinstance(spec, ArraySpec) and is_continuous(spec) and not spec.shape:
        return NumberAction(spec, batch_size)
    return ActionKind(spec, batch_size)


def kind_of(num_actions: int | None, action_spec: Nest | None, batch_size: int = 1) -> ActionKind:
    """Returns what an action is, of two arguments of which a constructor gets one.

    Args:
        num_actions: K, if actions are integers from 0 to K - 1.
        action_spec: as for `kind_of_actions`.
        batch_size: the number of rows, B.
    """
    if (num_actions is None) == (action_spec is None):
        raise TypeError("expected num_actions or action_spec, and not both")
    if action_spec is None:
        last = check_integer("num_actions", num_actions, 1, MAX_ACTIONS) - 1
        action_spec = BoundedArraySpec((), np.int32, 0, last, "action")
    return kind_of_actions(action_spec, batch_size)


def _counts_from_0(spec: BoundedArraySpec) -> bool:
    """Returns whether all numbers of an array are integers from 0 to K - 1."""
    if spec.dtype.kind not in "iu" or spec.minimum.any():
        return False
    largest = spec.maximum.max()
    return bool((spec.maximum == largest).all() and largest < MAX_ACTIONS)
