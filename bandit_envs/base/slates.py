"""Slates: actions that are items in slots [B, S], and rewards with one number for each slot."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Array, Indices


def sum_over_slots(reward: Array) -> Array:
    """Returns the rewards of slates [B]: the sums of vectors [B, S] that have one for each slot."""
    return np.asarray(reward.reshape(len(reward), -1).sum(axis=1))


def best_slate(values: Array, weights: Array) -> Indices:
    """Returns the items with the largest of `values` [B, K]: [B, S].

    The best item gets the slot with the largest of `weights` [S], or the first of these.
    """
    items = (-values).argsort(axis=1, kind="stable")[:, : len(weights)]
    slate = np.empty_like(items)
    slate[:, (-weights).argsort(kind="stable")] = items
    return slate


def check_distinct(action: Indices, num_items: int) -> Indices:
    """Returns slates [B, S] of items from 0 to `num_items` - 1; ValueError if one repeats an item.

    `check_indices` stores slates slot by slot, so that comparing two slots is fast.
    """
    num_slots = action.shape[1]
    slots = action.T.astype(np.min_scalar_type(num_items))
    # Going round in a circle, each pair of slots is at most half the circle apart.
    half = num_slots // 2
    circle = np.concatenate([slots, slots[:half]])
    for distance in range(1, half + 1):
        is_same = circle[distance : distance + num_slots] == slots
        if is_same.any():
            row = int(is_same.any(axis=0).argmax())
            found = f"action[{row}] is {action[row].tolist()}, which shows an item twice"
            raise ValueError(f"{found}; expected distinct items")
    return action
