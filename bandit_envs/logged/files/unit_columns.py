"""Columns of units, such as users, and of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandit_envs.arrays import Indices
from bandit_envs.logged.rows.units import number_cells
from bandit_envs.tables.cells import cells_of
from bandit_envs.tables.errors import check_column

if TYPE_CHECKING:
    from pandas import DataFrame


def read_units(frame: DataFrame, name: str) -> Indices:
    """Returns the numbers of the units, or of the ids, in a column, as `number_cells`: [n].

    Raises:
        ValueError: a cell is missing, or is neither a text nor a whole number.
    """
    numbers, are_units = number_cells(cells_of(frame, name))
    check_column(frame, name, are_units, "an integer or a text")
    return numbers
