"""Logs in users' tables are opened: as logs of actions, or of items with features."""

from __future__ import annotations

from bandit_envs.logged.files.item_scan import ItemScan
from bandit_envs.logged.files.log_roles import LogRoles
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.table_scan import TableScan
from bandit_envs.tables.parts import Part, Parts
from bandit_envs.tables.roles import describe_role


def open_table(
    name: str,
    parts: Parts[Part],
    columns: LogRoles,
    *,
    num_actions: int | None = None,
    drop_missing: bool = False,
    batch_rows: int = BATCH_ROWS,
    gather: bool = False,
) -> TableScan | ItemScan:
    """Returns the log in a table of a user, whose actions are items if a column has items.

    Args:
        name: what messages call the table.
        parts: of the table.
        columns: what they are.
        num_actions: the number of actions; None for items.
        drop_missing: whether decisions that miss values are left out.
        batch_rows: the most rows of a batch.
        gather: whether the rows of a decision among items may stand anywhere.

    Raises:
        ValueError: `TableScan.open` or `ItemScan.open` refuses the table; or an argument is for the
            other kind of table.
    """
    if not columns.are_of_items:
        if gather:
            raise ValueError(f"gather is True; expected {describe_role('item')}")
        return TableScan.open(
            name,
            parts,
            columns,
            num_actions=num_actions,
            drop_missing=drop_missing,
            batch_rows=batch_rows,
        )
    if num_actions is not None:
        raise ValueError(f"num_actions is {num_actions}; expected None, as the table says it")
    return ItemScan.open(
        name,
        parts,
        columns,
        drop_missing=drop_missing,
        batch_rows=batch_rows,
        gather=gather,
    )
