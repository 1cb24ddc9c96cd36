"""What policies have learned: nests of arrays with the rows first, and of numbers for all rows."""

from bandit_envs.policies.learned.layout import check_layout, layout
from bandit_envs.policies.learned.more_actions import (
    Spread,
    Warm,
    add_actions,
    check_warm,
    make_room,
    mean_of_known,
    spread_of_known,
)
from bandit_envs.policies.learned.pending import (
    add_pending,
    end_pending,
    none_if_zero,
    pad_pending,
    pending_of_rows,
)
from bandit_envs.policies.learned.rows import merge_rows, repeat_rows, take_rows

__all__ = [
    "Spread",
    "Warm",
    "add_actions",
    "add_pending",
    "check_layout",
    "check_warm",
    "end_pending",
    "layout",
    "make_room",
    "mean_of_known",
    "merge_rows",
    "none_if_zero",
    "pad_pending",
    "pending_of_rows",
    "repeat_rows",
    "spread_of_known",
    "take_rows",
]
