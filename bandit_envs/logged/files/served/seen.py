"""What a decision has seen, as a file keeps it: a context, beside fixed actions or items."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import MAX_REWARD, short_repr
from bandit_envs.logged.files.served.decision_tables import unpack_masks
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.nests import Nest
from bandit_envs.tables.encoding import NumberColumn, TableColumn, TableEncoding, TextColumn

LAST_MICROSECOND = 2.0**62
"""The largest size of a time in microseconds since 1970."""


class SeenColumns(NamedTuple):
    """What n decisions have seen, as columns of a log.

    Fields:
        observation: features [n, D]; of items, `global`, `per_arm` and `mask`.
        available: [n, K], which actions were available; None for all, and for items.
        item: [n, K], the numbers of items, -1 for padding; None for actions.
    """

    observation: Nest
    available: Mask | None = None
    item: Indices | None = None

    def shown(self) -> Nest:
        """Returns the observation as policies take it, as `BanditLog.seen` does."""
        if self.available is None:
            return self.observation
        return {"observation": self.observation, "mask": self.available}


class Seen(abc.ABC):
    """Reads what decisions have seen from two columns of their table."""

    is_masked: bool = False
    """Whether it always tells which actions were available, beside the features."""

    @abc.abstractmethod
    def unpack(
        self, available: Sequence[bytes | None], features: Sequence[bytes], num_actions: int
    ) -> SeenColumns:
        """Returns what n decisions have seen.

        Args:
            available: which actions or items were offered in each.
            features: of each.
            num_actions: K, at least as many as were offered in any of them.

        Raises:
            ValueError: the file is damaged.
        """

    @abc.abstractmethod
    def number_of(self, available: bytes | None, action: int, num_actions: int) -> int:
        """Returns the number of what was chosen: of an action, or of an item.

        Args:
            available: which actions or items were offered.
            action: that was chosen; of items, the place among those offered.
            num_actions: K.

        Raises:
            ValueError: the file is damaged.
        """


@dataclasses.dataclass(frozen=True)
class SeenActions(Seen):
    """A row of features, beside actions whose names are in the file.

    Args:
        path: of the file.
        num_first: how many actions there were at first.
        is_masked: whether masks are always told.
    """

    path: Path
    num_first: int
    is_masked: bool = False

    def unpack(
        self, available: Sequence[bytes | None], features: Sequence[bytes], num_actions: int
    ) -> SeenColumns:
        is_masked = self.is_masked or any(available) or num_actions > self.num_first
        masks = None
        if is_masked:
            masks = unpack_masks(self.path, available, self.num_first, num_actions)
        return SeenColumns(self._read_features(features), masks)

    def number_of(self, available: bytes | None, action: int, num_actions: int) -> int:
        if action >= num_actions:
            raise damage(self.path, f"a decision has action {action} of {num_actions}")
        return action

    def _read_features(self, packed: Sequence[bytes]) -> Floats:
        """Returns the features of decisions: [n, D]."""
        sizes = {len(each) for each in packed}
        if len(sizes) > 1 or any(size % 8 for size in sizes):
            found = f"contexts of {sorted(size / 8 for size in sizes)} features"
            raise ValueError(f"{self.path} has {found}; expected one number of them")
        return np.frombuffer(b"".join(packed), "<f8").reshape(len(packed), -1)


class CellColumns:
    """Columns of cells that are kept as one number each, and become features later.

    A number is kept as it is, a text as the place of its level, -1 for an unknown one, and a time
    in microseconds since 1970.

    Args:
        columns: of a table.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        sizes = [len(column.labels()) for column in columns]
        starts = np.cumsum([0, *sizes])
        is_number = np.array([isinstance(column, NumberColumn) for column in columns], np.bool_)
        self.number = len(columns)  #: of columns, C
        self.width = int(starts[-1])  #: the number of features, D
        self._sources = np.flatnonzero(is_number)
        self._targets = starts[:-1][is_number]
        self._others = [
            (source, slice(starts[source], starts[source + 1]), column)
            for source, column in enumerate(columns)
            if not is_number[source]
        ]
        bounds = np.array([_bounds_of(column) for column in columns]).reshape(-1, 2)
        self._low = bounds[:, 0]
        self._high = bounds[:, 1]

    def are_good(self, cells: Floats) -> bool:
        """Returns whether cells [n, C] are of such columns."""
        is_whole = all(
            (cells[:, source] == np.rint(cells[:, source])).all() for source, _, _ in self._others
        )
        return is_whole and bool(((self._low <= cells) & (cells <= self._high)).all())

    def expand(self, cells: Floats) -> Floats:
        """Returns the features [n, D] of cells [n, C]."""
        if not self._others:
            return cells  # numbers are features as they are
        features = np.zeros((len(cells), self.width))
        features[:, self._targets] = cells[:, self._sources]
        for source, targets, column in self._others:
            kept = cells[:, source]
            if isinstance(column, TextColumn):
                features[:, targets] = kept[:, np.newaxis] == np.arange(len(column.levels))
            else:
                features[:, targets] = column.encode(kept.astype(np.int64).astype("M8[us]"))
        return features


def _bounds_of(column: TableColumn) -> tuple[float, float]:
    """Returns the smallest and the largest number that a cell of a column is kept as."""
    if isinstance(column, NumberColumn):
        return -MAX_REWARD, MAX_REWARD
    if isinstance(column, TextColumn):
        return -1.0, len(column.levels) - 1.0
    return -LAST_MICROSECOND, LAST_MICROSECOND


class SeenItems(Seen):
    """The cells of a context, and of the items that were offered beside it.

    The column `available` has the numbers of the items, int32, and `features` the cells, float64:
    those of the context, and then those of each item.

    Args:
        path: of the file.
        encoding: has the columns of contexts and of items.
    """

    def __init__(self, path: Path, encoding: TableEncoding) -> None:
        self.path = path
        self.context = CellColumns(encoding.features)
        self.items = CellColumns(encoding.item_features)

    def pack(self, numbers: Sequence[int], context: Floats, cells: Floats) -> tuple[bytes, bytes]:
        """Returns the two columns of a decision.

        Args:
            numbers: of k items.
            context: its cells, [1, C].
            cells: of the items, [k, C'].
        """
        features = np.concatenate((context.ravel(), cells.ravel()))
        return np.array(numbers, "<i4").tobytes(), features.astype("<f8").tobytes()

    def unpack(
        self, available: Sequence[bytes | None], features: Sequence[bytes], num_actions: int
    ) -> SeenColumns:
        mask, item = self.read_numbers(available, num_actions)
        counts = mask.sum(axis=1)
        sizes = self.context.number + counts * self.items.number
        if [len(each) for each in features] != (8 * sizes).tolist():
            raise damage(self.path, "a decision has too few cells, or too many")
        joined = np.frombuffer(b"".join(features), "<f8")
        starts = np.cumsum(sizes) - sizes
        of_contexts = starts[:, np.newaxis] + np.arange(self.context.number)
        is_of_item = np.ones(len(joined), np.bool_)
        is_of_item[of_contexts.ravel()] = False
        contexts = joined[of_contexts]
        cells = joined[is_of_item].reshape(-1, self.items.number)
        if not self.context.are_good(contexts) or not self.items.are_good(cells):
            raise damage(self.path, "a cell of a decision is not one of its column")
        return SeenColumns(self.observe(contexts, mask, cells), item=item)

    def read_numbers(
        self, available: Sequence[bytes | None], num_actions: int
    ) -> tuple[Mask, Indices]:
        """Returns which places of K have an item, and the numbers of the items: [n, K] each."""
        packed = [b"" if each is None else each for each in available]
        counts = np.array([len(each) // 4 for each in packed], np.intp)
        if (
            any(len(each) % 4 for each in packed)
            or not ((counts >= 1) & (counts <= num_actions)).all()
        ):
            found = short_repr(sorted({len(each) / 4 for each in packed}))
            raise damage(self.path, f"decisions have {found} items; expected 1 to {num_actions}")
        mask = np.arange(num_actions) < counts[:, np.newaxis]
        item = np.full(mask.shape, -1, np.int64)
        item[mask] = np.frombuffer(b"".join(packed), "<i4")
        if (item[mask] < 0).any():
            raise damage(self.path, "an item of a decision has a number below 0")
        return mask, item

    def number_of(self, available: bytes | None, action: int, num_actions: int) -> int:
        chosen = (available or b"")[4 * action : 4 * action + 4]
        if len(chosen) < 4 or action >= num_actions:
            raise damage(self.path, f"a decision has place {action}, where there is no item")
        return int.from_bytes(chosen, "little", signed=True)

    def observe(self, contexts: Floats, mask: Mask, cells: Floats) -> dict[str, Nest]:
        """Returns the observation of n decisions.

        Args:
            contexts: their cells, [n, C].
            mask: [n, K], which places have an item.
            cells: of all items, one decision after another, [N, C'].
        """
        per_arm = np.zeros((*mask.shape, self.items.width))
        per_arm[mask] = self.items.expand(cells)
        return {"global": self.context.expand(contexts), "per_arm": per_arm, "mask": mask}
