"""What environments with slates share."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.arrays import Array, Indices
from bandit_envs.specs import BoundedArraySpec, SlateSpec

NAMES = "global_sampling_fn", "item_sampling_fn"
"""The arguments that are samplers of users and of items."""


def slate_spec(num_items: int, num_slots: int) -> SlateSpec:
    """Returns the spec of a slate of `num_slots` out of `num_items` items."""
    return SlateSpec((num_slots,), np.int32, 0, num_items - 1, "action")


def clicks_spec(name: str, *shape: int) -> BoundedArraySpec:
    """Returns the spec of clicks, which are 1, or 0 if there was none."""
    return BoundedArraySpec(shape, np.float32, 0.0, 1.0, name)


def best_slate(values: Array, weights: Array) -> Indices:
    """Returns the items with the largest of `values` [B, K]: [B, S].

    The best item gets the slot with the largest of `weights` [S], or the first of these.
    """
    items = (-values).argsort(axis=1, kind="stable")[:, : len(weights)]
    slate = np.empty_like(items)
    slate[:, (-weights).argsort(kind="stable")] = items
    return slate
