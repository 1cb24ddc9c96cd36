"""What looks wrong in the days of a table of users: days without rows, and days that came twice."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bandit_envs.arrays import Array, Indices

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = 20
"""With fewer different rows in a day, chance may repeat each of them equally often."""

NAMED = 3
"""So many days are named in a note."""


def name_date(day: int) -> str:
    """Returns the name of a day, by its number since 1970."""
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=day))


def note_missing_days(days: Indices) -> Iterator[str]:
    """Yields a note if a day between the first and the last one has no rows.

    Args:
        days: of the rows, as numbers since 1970.
    """
    known = np.unique(days)
    missing = np.setdiff1d(np.arange(known[0], known[-1] + 1), known)
    if len(missing):
        yield f"No rows on {_name_days(missing)}."


def note_repeated_days(frame: DataFrame, days: Indices) -> Iterator[str]:
    """Yields a note if each row of a day is there twice, or n times.

    Args:
        frame: of users, with the columns that are read.
        days: of the rows, as numbers since 1970.
    """
    from pandas.util import hash_pandas_object  # noqa: PLC0415

    codes: Array = hash_pandas_object(frame, index=False).to_numpy()
    order = np.argsort(days, kind="stable")
    known, starts = np.unique(days[order], return_index=True)
    repeated = []
    for day, rows in zip(known.tolist(), np.split(order, starts[1:])):
        _, counts = np.unique(codes[rows], return_counts=True)
        if len(counts) >= KINDS and np.gcd.reduce(counts) > 1:
            repeated.append(day)
    if repeated:
        yield f"Each row of {_name_days(np.array(repeated))} is there more than once: is a file?"


def _name_days(days: Indices) -> str:
    """Returns the first days, and how many more there are."""
    names = ", ".join(name_date(day) for day in days[:NAMED].tolist())
    return names if len(days) <= NAMED else f"{names} and {len(days) - NAMED} more days"
