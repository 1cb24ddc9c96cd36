"""Slates in users' tables: one row a slate, or one row a slot.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.checks import as_list, check_integer
from bandit_envs.base.extras import import_extra
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.datasets.encoding import TableEncoding, as_numbers
from bandit_envs.datasets.tables import describe_unnamed, find_unnamed, read_table
from bandit_envs.logged.files.cells import (
    check_column,
    read_features,
    read_integers,
    read_names,
    read_numbers,
    read_reals,
)
from bandit_envs.logged.files.encoding_search import TableColumns, search_cells
from bandit_envs.logged.files.frames import check_column_names
from bandit_envs.logged.files.missing import MissingValues
from bandit_envs.logged.slates import SlateLog


def slates_from_frame(
    frame: Any,
    action: str | Sequence[str] = "action",
    reward: str | Sequence[str] = "reward",
    propensity: str | None = None,
    *,
    slot_propensity: str | Sequence[str] = (),
    prefix_propensity: str | Sequence[str] = (),
    slate: str | None = None,
    slot: str | None = None,
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
) -> SlateLog:
    """Returns the slates in a pandas DataFrame, which has one row a slate, or one row a slot.

    Experimental: it may change in any minor version.

    With one row a slate, `action` lists the columns of the slots, from the first on, and so do
    `reward` and the propensities of slots. With one row a slot, `slate` and `slot` say which rows
    belong together, in which order; the rows of a slate may stand anywhere.

    Names, texts, dates and times become numbers as in `from_frame`; `log.encoding` says how.

    Args:
        frame: the table.
        action: the items: integers from 0, or names.
        reward: of each slot; with one row a slate also one column, the reward of the whole slate.
        propensity: the probability of the whole slate. With one row a slot, all rows of a slate
            repeat it.
        slot_propensity: the probability that the slot shows its item, whatever the others show.
        prefix_propensity: the probability that the slots down to this one show their items. That of
            the last slot is the probability of the slate.
        slate: the column that says to which slate a row belongs, if there is one row a slot.
        slot: the column that says which slot a row is of. They are sorted.
        features: the columns of the observation; None for all that have no other role. With one row
            a slot, all rows of a slate repeat them.
        num_actions: of items, by default the largest plus 1, or the number of names.
        drop_missing: whether to drop slates with missing values. By default, they raise a
            ValueError that counts them.

    Raises:
        ValueError: a column is missing, has two roles, or has a value that cannot be; no propensity
            is given; or a slate has not one row for each slot.
    """
    columns = SlateColumns(
        action=tuple(as_list(action)),
        reward=tuple(as_list(reward)),
        propensity=propensity,
        slot_propensity=tuple(as_list(slot_propensity)),
        prefix_propensity=tuple(as_list(prefix_propensity)),
        features=() if features is None else tuple(as_list(features)),
        slate=slate,
        slot=slot,
    )
    columns.check_roles()
    if features is None:
        unnamed = find_unnamed(list(frame))
        if unnamed:
            warnings.warn(describe_unnamed(unnamed), stacklevel=2)
        columns = columns.with_all_others(list(frame))
    check_column_names("frame", columns.names(), list(frame))
    if num_actions is not None:
        check_integer("num_actions", num_actions, minimum=1)
    if not drop_missing:
        MissingValues.from_frame(frame, columns.names()).check_none()
    complete = _drop_missing(frame, columns) if drop_missing else frame
    return _read(complete, columns, num_actions)


def read_slates(
    path: str | os.PathLike[str], *, only: str | None = None, **columns: Any
) -> SlateLog:
    """Reads slates from a CSV or Parquet file, or a folder of such files, into memory.

    Experimental: it may change in any minor version.

    Args:
        path: of the file or folder, as for `scan_log`.
        only: a pattern of the files of a folder that are read.
        columns: the arguments of `slates_from_frame`, which say what the columns are.

    Raises:
        ValueError: a file is damaged, or `slates_from_frame` refuses the table.
    """
    frame = read_table(path, "logged", only, low_memory=False)
    return dataclasses.replace(slates_from_frame(frame, **columns), name=os.path.basename(path))


@dataclasses.dataclass(frozen=True)
class SlateColumns:
    """Which columns of a user's table are those of slates, as for `slates_from_frame`."""

    action: tuple[str, ...]
    reward: tuple[str, ...]
    propensity: str | None
    slot_propensity: tuple[str, ...]
    prefix_propensity: tuple[str, ...]
    features: tuple[str, ...]
    slate: str | None
    slot: str | None

    def names(self) -> list[str]:
        """Returns the names of all columns."""
        single = [self.propensity, self.slate, self.slot]
        named = [name for name in single if name is not None]
        of_slots = [*self.slot_propensity, *self.prefix_propensity]
        return [*self.action, *self.reward, *of_slots, *named, *self.features]

    def with_all_others(self, found: Sequence[str]) -> SlateColumns:
        """Returns the columns with all features of `found` that have a name, and no other role."""
        known = [*self.names(), *find_unnamed(found)]
        rest = tuple(name for name in found if name not in known)
        return dataclasses.replace(self, features=rest)

    def check_roles(self) -> None:
        """Raises ValueError if the columns are not those of slates."""
        if (self.slate is None) != (self.slot is None):
            raise ValueError("slate and slot say which rows belong together; expected both")
        if not (self.propensity or self.slot_propensity or self.prefix_propensity):
            expected = "propensity, slot_propensity or prefix_propensity"
            raise ValueError(f"no column has propensities; expected {expected}")
        names = self.names()
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"column {name!r} has two roles; expected one")
        slots = 1 if self.slate is not None else len(self.action)
        if not self.action or len(self.action) != slots:
            raise ValueError(
                f"action has {len(self.action)} columns; expected one, as slot is given"
            )
        for role in ("reward", "slot_propensity", "prefix_propensity"):
            count = len(getattr(self, role))
            allowed = (slots, 1) if role == "reward" else (slots, 0)
            if count not in allowed:
                raise ValueError(f"{role} has {count} columns; expected {slots}, as action has")


def _drop_missing(frame: Any, columns: SlateColumns) -> Any:
    """Returns the rows of slates that miss no value."""
    is_missing = frame[columns.names()].isna().any(axis=1)
    if columns.slate is not None:
        is_missing |= frame[columns.slate].isin(frame.loc[is_missing, columns.slate])
    return frame[~is_missing]


def _read(frame: Any, columns: SlateColumns, num_actions: int | None) -> SlateLog:
    """Returns the slates of a table that misses no value."""
    num_slots = len(columns.action)
    step = 1  # rows of a slate
    if columns.slate is not None:
        frame, num_slots = _sort_slots(frame, columns)
        step = num_slots
    encoding, items = _read_items(frame, columns, num_actions)
    count = len(encoding.actions) or num_actions or int(items.max(initial=0)) + 1
    rewards = [read_reals(frame, name) for name in columns.reward]
    is_whole = len(columns.reward) < len(columns.action)
    prefix = _read_slots(frame, columns.prefix_propensity, num_slots)
    whole = None
    if columns.propensity is not None:
        whole = _read_probabilities(frame, columns.propensity)[::step]
    elif prefix is not None:
        whole = prefix[:, -1]
    return SlateLog(
        observation=read_features(frame.iloc[::step], encoding),
        action=items.reshape(-1, num_slots),
        reward=np.stack(rewards, axis=1).reshape(-1, 1 if is_whole else num_slots),
        propensity=SlateProbabilities(
            slate=whole,
            slot=_read_slots(frame, columns.slot_propensity, num_slots),
            prefix=prefix,
        ),
        num_actions=count,
        encoding=encoding,
    )


def _sort_slots(frame: Any, columns: SlateColumns) -> tuple[Any, int]:
    """Returns the rows of a table by slates, and each slate's by slots; and the number of slots.

    Raises:
        ValueError: a slate has not one row for each slot; or a column of whole slates varies in it.
    """
    pandas = import_extra("pandas", "logged")
    slates, names = pandas.factorize(frame[columns.slate])
    cells = frame[columns.slot].to_numpy()
    numbers = as_numbers(cells)
    is_numbered = not np.isnan(numbers).any()
    slots, known = pandas.factorize(numbers if is_numbered else cells.astype(str), sort=True)
    table = np.zeros((len(names), len(known)), np.int64)
    np.add.at(table, (slates, slots), 1)
    if (table != 1).any():
        slate, slot = np.argwhere(table != 1)[0]
        written = cells[slots == slot].tolist()[0]
        found = f"slate {names[slate]!r} has {table[slate, slot]} rows of slot {written!r}"
        raise ValueError(f"{found}; expected one, as of each of the {len(known)} slots")
    ordered = frame.iloc[np.lexsort((slots, slates))]
    whole = [] if columns.propensity is None else [columns.propensity]
    for name in [*columns.features, *whole]:
        values = ordered[name].to_numpy().reshape(table.shape)
        is_same = np.equal(values, values[:, :1]).astype(bool).reshape(-1)
        expected = "the same value in all rows of a slate, as features have and its propensity"
        check_column(ordered, name, is_same, expected)
    return ordered, len(known)


def _read_items(
    frame: Any, columns: SlateColumns, num_actions: int | None
) -> tuple[TableEncoding, Array]:
    """Returns how the table becomes numbers, and the items of its rows: [rows, columns]."""
    pandas = import_extra("pandas", "logged")
    roles = TableColumns(
        action=columns.action[0],
        reward=columns.reward[0],
        propensity=None,
        features=columns.features,
    )
    stacked = pandas.concat([frame[name] for name in columns.action]).to_frame(roles.action)
    texts: list[str] = []
    for _ in range(2):  # the second time, columns of texts are read as such
        of_items = search_cells(stacked, roles, [roles.action], texts)
        found = of_items.merge(search_cells(frame, roles, roles.features, texts))
        texts = found.find_half_read(roles)
        if not texts:
            break
    encoding = found.encoding(roles)
    if encoding.actions:
        if num_actions not in (None, len(encoding.actions)):
            names = f"the table names {len(encoding.actions)}"
            raise ValueError(f"num_actions is {num_actions}, and {names}; leave it out")
        items = [read_names(frame, name, encoding.actions) for name in columns.action]
        return encoding, np.stack(items, axis=1)
    numbers = [read_integers(frame, name) for name in columns.action]
    for name, values in zip(columns.action, numbers):
        is_item = (values >= 0) & (values < (num_actions or np.inf))
        limit = "an integer from 0" if num_actions is None else f"0 to {num_actions - 1}"
        check_column(frame, name, is_item, limit)
    if num_actions is None and len(frame):
        found.count_actions(roles.action)  # refuses items that count from 1
    return encoding, np.stack(numbers, axis=1)


def _read_slots(frame: Any, names: Sequence[str], num_slots: int) -> Floats | None:
    """Returns probabilities in some columns, [n, S]; None without columns."""
    if not names:
        return None
    columns = [_read_probabilities(frame, name) for name in names]
    return np.stack(columns, axis=1).reshape(-1, num_slots)


def _read_probabilities(frame: Any, name: str) -> Floats:
    """Returns the propensities in a column."""
    values = read_numbers(frame, name)
    check_column(frame, name, (values > 0.0) & (values <= 1.0), "above 0 and at most 1")
    return values
