"""What environments with slates share."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.arrays import Array, Indices, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.sampling import SamplingFunction, as_sampler
from bandit_envs.specs import SlateSpec, add_outer_dims_nest

Observation = dict[str, Array]

USERS, ITEMS = "global_sampling_fn", "item_sampling_fn"


def slate_spec(num_items: int, num_slots: int) -> SlateSpec:
    """Returns the spec of a slate of `num_slots` out of `num_items` items."""
    return SlateSpec((num_slots,), np.int32, 0, num_items - 1, "action")


def best_slate(values: Array, slots: int | Array) -> Indices:
    """Returns the items with the largest of `values` [B, K], best first: [B, S].

    `slots` is S, or the weights [S] of the slots: the best item gets the slot of largest weight.
    """
    num_slots = slots if isinstance(slots, int) else len(slots)
    items = (-values).argsort(axis=1, kind="stable")[:, :num_slots]
    if isinstance(slots, int):
        return items
    slate = np.empty_like(items)
    slate[:, (-slots).argsort(kind="stable")] = items
    return slate


def chosen(values: Array, action: Indices) -> Array:
    """Returns the entries of `values` [B, K, ...] at the items of slates [B, S]: [B, S, ...]."""
    size, num_items, *rest = values.shape
    places = action + np.arange(0, size * num_items, num_items)[:, np.newaxis]
    return values.reshape(size * num_items, *rest).take(places, axis=0)


class Contexts:
    """Draws users and items."""

    def __init__(self, users: SamplingFunction, items: SamplingFunction, num_items: int) -> None:
        self._num_items = check_integer("num_items", num_items, minimum=1)
        self.users = as_sampler(USERS, users, (1,))
        self.items = as_sampler(ITEMS, items, (1, num_items))
        per_arm = add_outer_dims_nest(self.items.spec, (num_items,))
        self.spec = {"global": self.users.spec, "per_arm": per_arm}

    def draw(self, rng: Rng, batch_size: int) -> Observation:
        return {
            "global": self.users.sample(rng, (batch_size,), USERS),
            "per_arm": self.items.sample(rng, (batch_size, self._num_items), ITEMS),
        }
