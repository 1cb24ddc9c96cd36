"""Slates in users' tables: one row a slate, or one row a slot.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.base.extras import import_extra
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.logged.files.unit_columns import read_units
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.tables.cells import (
    as_numbers,
    cells_of,
    read_integers,
    read_names,
    read_numbers,
    read_reals,
)
from bandit_envs.tables.decisions.candidate_rows import check_same
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.encoding_search import EncodingSearch
from bandit_envs.tables.errors import check_column
from bandit_envs.tables.missing import MissingValues
from bandit_envs.tables.parts import FramePart, Parts
from bandit_envs.tables.roles import Names, Roles, check_column_names, describe_unnamed
from bandit_envs.tables.whole_table import AnyTable, table_in_memory

if TYPE_CHECKING:
    from pandas import DataFrame

PROPENSITIES = ("propensity", "slot_propensity", "prefix_propensity")


def read_slates(
    table: AnyTable,
    action: Names = "action",
    reward: Names = "reward",
    propensity: str | None = None,
    *,
    slot_propensity: Names = (),
    prefix_propensity: Names = (),
    decision: str | None = None,
    slot: str | None = None,
    unit: str | None = None,
    features: Names | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
    only: str | None = None,
) -> SlateLog:
    """Reads slates from a table, which has one row a slate, or one row a slot, into memory.

    Experimental: it may change in any minor version.

    With one row a slate, `action` lists the columns of the slots, from the first on, and so do
    `reward` and the propensities of slots. With one row a slot, `decision` and `slot` say which
    rows belong together, in which order; the rows of a slate may stand anywhere.

    Names, texts, dates and times become numbers as in `from_frame`; `log.encoding` says how.

    Args:
        table: a pandas DataFrame; or the path of a CSV or Parquet file, or of a folder of such
            files, as for `scan_log`.
        action: the items: integers from 0, or names.
        reward: of each slot; with one row a slate also one column, the reward of the whole slate.
        propensity: the probability of the whole slate. With one row a slot, all rows of a slate
            repeat it.
        slot_propensity: the probability that the slot shows its item, whatever the others show.
        prefix_propensity: the probability that the slots down to this one show their items. That of
            the last slot is the probability of the slate.
        decision: the column that says to which slate a row belongs, if there is one row a slot.
        slot: the column that says which slot a row is of. They are sorted.
        unit: the column that says whose a slate is, as for `from_frame`. With one row a slot, all
            rows of a slate repeat it.
        features: the columns of the observation; None for all that have no other role. With one row
            a slot, all rows of a slate repeat them.
        num_actions: of items, by default the largest plus 1, or the number of names.
        drop_missing: whether to drop slates with missing values. By default, they raise a
            ValueError that counts them.
        only: a pattern of the files of a folder that are read.

    Raises:
        ValueError: a file is damaged; a column is missing, has two roles, or has a value that
            cannot be; no propensity is given; or a slate has not one row for each slot.
    """
    roles = Roles.of(
        features,
        action=action,
        reward=reward,
        propensity=propensity,
        slot_propensity=slot_propensity,
        prefix_propensity=prefix_propensity,
        decision=decision,
        slot=slot,
        unit=unit,
    )
    _check_slots(roles)
    if num_actions is not None:
        check_integer("num_actions", num_actions, minimum=1)
    with table_in_memory(table, "logged", only, low_memory=False) as frame:
        complete = roles.complete(list(frame))
        if complete.unnamed:
            warnings.warn(describe_unnamed(complete.unnamed), stacklevel=2)
        check_column_names("table", complete.names(), list(frame))
        if not drop_missing:
            MissingValues.from_frame(frame, complete.names()).check_none()
        used = _drop_missing(frame, complete) if drop_missing else frame
        found = _read(used, complete, num_actions)
    if isinstance(table, (str, os.PathLike)):
        return dataclasses.replace(found, name=os.path.basename(table))
    return found


def _check_slots(roles: Roles) -> None:
    """Raises ValueError if columns are not those of slates."""
    by_slot = roles.one_of("slot") is not None
    if (roles.one_of("decision") is not None) != by_slot:
        raise ValueError("decision and slot say which rows belong together; expected both")
    if not any(roles.all_of(role) for role in PROPENSITIES):
        expected = "propensity, slot_propensity or prefix_propensity"
        raise ValueError(f"no column has propensities; expected {expected}")
    found = len(roles.all_of("action"))
    slots = 1 if by_slot else found
    if found != max(slots, 1):
        raise ValueError(f"action has {found} columns; expected one, as slot is given")
    for role in ("reward", *PROPENSITIES[1:]):
        count = len(roles.all_of(role))
        allowed = (slots, 1) if role == "reward" else (slots, 0)
        if count not in allowed:
            raise ValueError(f"{role} has {count} columns; expected {slots}, as action has")


def _drop_missing(frame: DataFrame, roles: Roles) -> DataFrame:
    """Returns the rows of slates that miss no value."""
    is_missing = frame[roles.names()].isna().any(axis=1)
    decision = roles.one_of("decision")
    if decision is not None:
        is_missing |= frame[decision].isin(frame.loc[is_missing, decision])
    return frame[~is_missing]


def _read(frame: DataFrame, roles: Roles, num_actions: int | None) -> SlateLog:
    """Returns the slates of a table that misses no value."""
    num_slots = len(roles.all_of("action"))
    step = 1  # rows of a slate
    decision = roles.one_of("decision")
    if decision is not None:
        frame, num_slots = _sort_slots(frame, roles, decision)
        step = num_slots
    encoding, items, count = _read_items(frame, roles, num_actions)
    rewards = [read_reals(frame, name) for name in roles.all_of("reward")]
    is_whole = len(rewards) < len(roles.all_of("action"))
    prefix = _read_slots(frame, roles.all_of("prefix_propensity"), num_slots)
    whole = None
    unit = roles.one_of("unit")
    propensity = roles.one_of("propensity")
    if propensity is not None:
        whole = _read_probabilities(frame, propensity)[::step]
    elif prefix is not None:
        whole = prefix[:, -1]
    return SlateLog(
        observation=encoding.read(frame.iloc[::step]),
        action=items.reshape(-1, num_slots),
        reward=np.stack(rewards, axis=1).reshape(-1, 1 if is_whole else num_slots),
        unit=None if unit is None else read_units(frame, unit)[::step],
        propensity=SlateProbabilities(
            slate=whole,
            slot=_read_slots(frame, roles.all_of("slot_propensity"), num_slots),
            prefix=prefix,
        ),
        num_actions=count,
        encoding=encoding,
    )


def _sort_slots(frame: DataFrame, roles: Roles, decision: str) -> tuple[DataFrame, int]:
    """Returns the rows of a table by slates, and each slate's by slots; and the number of slots.

    Raises:
        ValueError: a slate has not one row for each slot; or a column of whole slates varies in it.
    """
    pandas = import_extra("pandas", "logged")
    slates, names = pandas.factorize(frame[decision])
    (slot,) = roles.all_of("slot")
    cells = cells_of(frame, slot)
    numbers = as_numbers(cells)
    is_numbered = not np.isnan(numbers).any()
    slots, known = pandas.factorize(numbers if is_numbered else cells.astype(str), sort=True)
    table = np.zeros((len(names), len(known)), np.int64)
    np.add.at(table, (slates, slots), 1)
    if (table != 1).any():
        row, column = np.argwhere(table != 1)[0]
        written = cells[slots == column].tolist()[0]
        found = f"slate {names[row]!r} has {table[row, column]} rows of slot {written!r}"
        raise ValueError(f"{found}; expected one, as of each of the {len(known)} slots")
    ordered = frame.iloc[np.lexsort((slots, slates))]
    is_first = np.arange(len(ordered)) % len(known) == 0
    whole = (*roles.features, *roles.all_of("propensity"), *roles.all_of("unit"))
    check_same(ordered, whole, is_first, decision, "slate")
    return ordered, len(known)


def _read_items(
    frame: DataFrame, roles: Roles, num_actions: int | None
) -> tuple[TableEncoding, Array, int]:
    """Returns how the table becomes numbers, the items of its rows, and how many items there are.

    Items are of the shape [rows, columns].
    """
    actions = roles.all_of("action")
    parts = Parts([FramePart(frame)])
    encoding, count = EncodingSearch(parts, actions, roles.features, len(frame)).find(num_actions)
    if encoding.actions:
        items = [read_names(frame, name, encoding.actions) for name in actions]
        return encoding, np.stack(items, axis=1), count
    numbers = [read_integers(frame, name) for name in actions]
    limit = "an integer from 0" if num_actions is None else f"0 to {num_actions - 1}"
    for name, values in zip(actions, numbers):
        check_column(frame, name, (values >= 0) & (values < count), limit)
    return encoding, np.stack(numbers, axis=1), count


def _read_slots(frame: DataFrame, names: Sequence[str], num_slots: int) -> Floats | None:
    """Returns probabilities in some columns, [n, S]; None without columns."""
    if not names:
        return None
    columns = [_read_probabilities(frame, name) for name in names]
    return np.stack(columns, axis=1).reshape(-1, num_slots)


def _read_probabilities(frame: DataFrame, name: str) -> Floats:
    """Returns the propensities in a column."""
    values = read_numbers(frame, name)
    check_column(frame, name, (values > 0.0) & (values <= 1.0), "above 0 and at most 1")
    return values
