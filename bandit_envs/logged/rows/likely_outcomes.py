"""Features that say which action was taken, and so may be known only after it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.log import BanditLog

TRIED = 1000  # rows that are read before all others
FEWEST = 10  # rows for each action that was taken, from which on one value is no chance
MOST = 10**6  # values of one feature that are kept, of many actions or of a text with many levels


@dataclasses.dataclass(frozen=True, eq=False)
class ValuesOfActions:
    """The value that a feature has wherever an action was taken. Those of parts merge.

    Args:
        values: [K, d], in the d columns of the feature, NaN of actions that were not taken; None
            if some action has met two values, or there are more than `MOST`.
    """

    values: Floats | None

    @classmethod
    def from_rows(cls, action: Indices, columns: Floats, num_actions: int) -> ValuesOfActions:
        """Returns the values of actions [n] in columns [n, d]."""
        if num_actions * columns.shape[1] > MOST:
            return cls(None)
        for rows in (slice(TRIED), slice(None)):  # most features have two values in some rows
            values = np.full((num_actions, columns.shape[1]), np.nan)
            values[action[rows]] = columns[rows]
            if not np.array_equal(values[action[rows]], columns[rows]):
                return cls(None)
        return cls(values)

    def merge(self, other: ValuesOfActions) -> ValuesOfActions:
        """Returns the values in the rows of both."""
        if self.values is None or other.values is None:
            return ValuesOfActions(None)
        if self.values.shape[1] != other.values.shape[1]:  # a part has other texts
            return ValuesOfActions(None)
        size = max(len(self.values), len(other.values))
        ours = _lengthen(self.values, size)
        theirs = _lengthen(other.values, size)
        is_one = (ours == theirs) | np.isnan(ours) | np.isnan(theirs)
        return ValuesOfActions(np.where(np.isnan(ours), theirs, ours) if is_one.all() else None)

    def tell_actions(self, size: int) -> bool:
        """Whether each action has one value, and two actions differ, in enough of `size` rows."""
        if self.values is None:
            return False
        taken = self.values[~np.isnan(self.values).any(axis=1)]
        return size >= FEWEST * len(taken) and bool((taken != taken[:1]).any())


def _lengthen(values: Floats, size: int) -> Floats:
    more = np.full((size - len(values), values.shape[1]), np.nan)
    return np.concatenate([values, more])


def find_values_of_actions(batch: BanditLog) -> Mapping[str, ValuesOfActions]:
    """Returns what features of a table are where single actions were taken."""
    encoding = batch.encoding
    is_single = batch.num_actions > 0 and batch.action.ndim == 1
    if encoding is None or encoding.item_features or not is_single:
        return {}
    if not isinstance(batch.observation, np.ndarray):
        return {}
    start = 0
    found = {}
    for column in encoding.features:
        stop = start + len(column.labels())
        columns = batch.observation[:, start:stop]
        found[column.name] = ValuesOfActions.from_rows(batch.action, columns, batch.num_actions)
        start = stop
    return found


def describe_telling(name: str) -> str:
    """Returns the line on a feature that has one value for each action."""
    found = f"feature {name!r} has one value for each action"
    return f"{found}; if it is known only after the action, name the others: --features, features="
