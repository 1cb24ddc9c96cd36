"""Tables [B, K] of how many choices wait for their rewards. None stands for a table of zeros."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Indices, Mask


def change_pending(pending: Indices, action: Indices, rows: Mask | None, by: int) -> Indices | None:
    """Returns a table in which the counts of one action in each of some rows have changed.

    Args:
        pending: the table, [B, K]; no count falls below 0.
        action: the actions that were chosen, or whose rewards have come or were lost, [B].
        rows: [B] bool; None for all rows.
        by: how much is added.
    """
    at = np.arange(len(pending)) if rows is None else np.flatnonzero(rows)
    chosen = action[at]
    after = pending.copy()
    after[at, chosen] = np.maximum(after[at, chosen] + by, 0)
    return none_if_zero(after)


def pending_of_rows(pending: Indices | None, rows: Indices) -> Indices | None:
    """Returns the table of some rows [n], which may be repeated."""
    return None if pending is None else none_if_zero(pending[rows])


def pad_pending(pending: Indices | None, num_actions: int) -> Indices | None:
    """Returns the table of more actions: [B, num_actions]."""
    if pending is None:
        return None
    return np.pad(pending, ((0, 0), (0, num_actions - pending.shape[1])))


def none_if_zero(pending: Indices) -> Indices | None:
    """Returns a table, or None if it has zeros alone."""
    return pending if pending.any() else None
