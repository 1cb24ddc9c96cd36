"""Which actions or items a report shows, and where decisions have them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.logged.files.served.decision_file import DecisionFile
from bandit_envs.logged.files.served.decision_tables import unpack_masks
from bandit_envs.logged.files.served.seen import SeenActions, SeenItems
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.serving.reports.periods import Periods

MOST_ITEMS = 20
"""A report shows so many items at most: those that were chosen most often."""


class Places(NamedTuple):
    """What n decisions offered and chose, in the columns of a report.

    Fields:
        chosen: the column of each choice, [n].
        available: which columns were offered, [n, C].
        offered: how many actions or items were offered, [n].
    """

    chosen: Indices
    available: Mask
    offered: Indices


class ShownActions(abc.ABC):
    """The columns of a report. Those behind the names are not shown.

    Args:
        file: of decisions.
        names: of the actions or items that are shown.
        number: C, of the columns.
    """

    remark = ""
    """What is not shown, as a sentence."""
    num_items: int | None = None
    """How many items were offered; None for fixed actions."""
    usual_number: int
    """How many actions a decision usually offers."""

    def __init__(self, file: DecisionFile, names: Sequence[str], number: int) -> None:
        self._file = file
        self.names = names
        self.number = number
        self.is_open: Sequence[bool] = [True] * len(names)
        self.new_shares: Floats | None = None
        """The shares of decisions for items that were new in a period, [P]; None for actions."""

    @abc.abstractmethod
    def find(self, actions: Indices, available: Sequence[bytes | None]) -> Places:
        """Returns what decisions offered and chose; ValueError if the file is damaged.

        Args:
            actions: [n], as the table has them.
            available: of n decisions, as the table has it.
        """


class FixedActions(ShownActions):
    """A column for each action."""

    def __init__(self, file: DecisionFile, seen: SeenActions) -> None:
        names = file.encoding.actions
        super().__init__(file, names, len(names))
        self.is_open = file.is_open
        self.usual_number = seen.num_first

    def find(self, actions: Indices, available: Sequence[bytes | None]) -> Places:
        if actions.max(initial=0) >= self.number:
            raise damage(self._file.path, f"action {actions.max()} of {self.number} was drawn")
        masks = self._unpack(available)
        return Places(actions, masks, masks.sum(axis=1))

    def _unpack(self, packed: Sequence[bytes | None]) -> Mask:
        """Returns which of K actions were available in n decisions: [n, K]."""
        if any(packed):
            return unpack_masks(self._file.path, packed, self.usual_number, self.number)
        is_first = np.arange(self.number) < self.usual_number
        return np.broadcast_to(is_first, (len(packed), self.number))


class ItemRows(NamedTuple):
    """Decisions among items: when they were made, and two columns of their table."""

    times: Floats
    actions: Indices
    available: Sequence[bytes | None]


class MostChosenItems(ShownActions):
    """A column for each of the items that were chosen most often, and one for all others.

    Args:
        file: of decisions.
        seen: reads what decisions have seen.
        periods: P periods.
        batches: of all decisions, in their order.
    """

    def __init__(
        self, file: DecisionFile, seen: SeenItems, periods: Periods, batches: Iterable[ItemRows]
    ) -> None:
        names = file.encoding.items
        self._seen = seen
        chosen = np.zeros(len(names))
        first_times = np.full(len(names), np.inf)
        decisions = np.zeros(periods.number)
        new = np.zeros(periods.number)
        super().__init__(file, (), 0)
        for rows in batches:
            mask, item = self._read(rows.available)
            np.minimum.at(first_times, item[mask], np.repeat(rows.times, mask.sum(axis=1)))
            found = self._find_chosen(item, rows.actions)
            np.add.at(chosen, found, 1.0)
            places = periods.find(rows.times)
            np.add.at(decisions, places, 1.0)
            np.add.at(new, places[periods.find(first_times[found]) == places], 1.0)
        shown = np.argsort(-chosen, kind="stable")[:MOST_ITEMS]
        shown = shown[chosen[shown] > 0]
        self.names = [names[number] for number in shown]
        self.is_open = [True] * len(shown)
        self.number = len(shown) + 1
        self.num_items = len(names)
        self.usual_number = file.num_actions
        self._columns = np.full(len(names), len(shown))
        self._columns[shown] = np.arange(len(shown))
        with np.errstate(invalid="ignore"):
            self.new_shares = new / decisions
        if len(shown) < len(names):
            self.remark = f"The {len(shown)} items of {len(names):,} that were chosen most often."

    def find(self, actions: Indices, available: Sequence[bytes | None]) -> Places:
        mask, item = self._read(available)
        chosen = self._columns[self._find_chosen(item, actions)]
        rows = np.repeat(np.arange(len(item)), mask.sum(axis=1))
        is_offered = np.zeros((len(item), self.number), np.bool_)
        is_offered[rows, self._columns[item[mask]]] = True
        return Places(chosen, is_offered, mask.sum(axis=1))

    def _read(self, available: Sequence[bytes | None]) -> tuple[Mask, Indices]:
        """Returns which places have an item, and the numbers of the items: [n, K] each."""
        mask, item = self._seen.read_numbers(available, self._file.num_actions)
        if item.max(initial=-1) >= len(self._file.encoding.items):
            raise damage(self._file.path, f"item {item.max()} has no name")
        return mask, item

    def _find_chosen(self, item: Indices, actions: Indices) -> Indices:
        """Returns the numbers of the items that were chosen: [n]."""
        inside = np.minimum(actions, item.shape[1] - 1)
        found: Indices = item[np.arange(len(item)), inside]
        is_good = (actions < item.shape[1]) & (found >= 0)
        if not is_good.all():
            place = actions[np.argmin(is_good)]
            raise damage(self._file.path, f"a decision has place {place}, where there is no item")
        return found
