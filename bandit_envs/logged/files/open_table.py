"""Opens tables of users as logs, of actions or of items with features."""

from __future__ import annotations

from bandit_envs.logged.files.item_scan import ItemScan
from bandit_envs.logged.files.log_roles import LogRoles
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.table_scan import TableScan
from bandit_envs.tables.parts import Part, Parts


def open_table(
    name: str, parts: Parts[Part], columns: LogRoles, batch_rows: int = BATCH_ROWS
) -> TableScan | ItemScan:
    """Returns the log in a table of a user, whose actions are items if a column has items.

    Args:
        name: what messages call the table.
        parts: of the table.
        columns: what they are, and how the table is read.
        batch_rows: the most rows of a batch.

    Raises:
        ValueError: `TableScan.open` or `ItemScan.open` refuses the table.
    """
    opened = ItemScan if columns.are_of_items else TableScan
    return opened.open(name, parts, columns, batch_rows)
