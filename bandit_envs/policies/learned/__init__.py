"""What policies have learned: nests of arrays with the rows first, and of numbers for all rows.

A named tuple of such arrays may say more of itself: `with_pending` returns it with choices that
wait for their rewards, `make_consistent` ends its growth by new actions, and `start_warm` starts
these from what the others are like.
"""

from bandit_envs.policies.learned.layout import check_layout, layout
from bandit_envs.policies.learned.more_actions import (
    WARM,
    Spread,
    Warm,
    add_actions,
    check_warm,
    make_room,
    mean_of_known,
    spread_of_known,
)
from bandit_envs.policies.learned.pending import (
    change_pending,
    none_if_zero,
    pad_pending,
    pending_of_rows,
)
from bandit_envs.policies.learned.rows import check_rows, merge_rows, repeat_rows, take_rows
from bandit_envs.policies.learned.servable import Servable

__all__ = [
    "WARM",
    "Servable",
    "Spread",
    "Warm",
    "add_actions",
    "change_pending",
    "check_layout",
    "check_rows",
    "check_warm",
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
