"""Tables [B, K] of how many choices wait for their rewards. None stands for a table of zeros."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Indices, Mask


def add_pending(pending: Indices, action: Indices, rows: Mask | None) -> Indices | None:
    """Returns a table with one more choice in each of some rows.

    Args:
        pending: the table, [B, K].
        action: the actions that were chosen, [B].
        rows: [B] bool; None for all rows.
    """
    return _changed(pending, action, rows, 1)


def end_pending(pending: Indices | None, action: Indices, rows: Mask | None) -> Indices | None:
    """Returns a table with one choice less in each of some rows, where there is one.

    Args:
        pending: the table, [B, K].
        action: the actions whose rewards have come or were lost, [B].
        rows: [B] bool; None for all rows.
    """
    return None if pending is None else _changed(pending, action, rows, -1)


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


def _changed(pending: Indices, action: Indices, rows: Mask | None, change: int) -> Indices | None:
    """Returns a table in which the counts of one action in each of some rows have changed."""
    at = np.arange(len(pending)) if rows is None else np.flatnonzero(rows)
    chosen = action[at]
    after = pending.copy()
    after[at, chosen] = np.maximum(after[at, chosen] + change, 0)
    return none_if_zero(after)
