"""Columns that a model of propensities lacks: whether they predict the actions beyond it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.metrics.statistics import exceed_chi_squared

FEW_LEVELS = 20
"""A column of so many different numbers has each as a level; of more, fifths are levels."""

MANY_LEVELS = 1000
"""A column with more different texts, such as ids, is not tested."""

FEWEST = 5.0
"""A cell counts if so many actions are expected in it, so that they are about normal."""

CHANCE = 1e-3
"""The largest probability of naming a column that tells nothing of the actions."""

ABSENT = "absent"
"""The level of texts that are missing."""


@dataclasses.dataclass
class LevelCounts:
    """How often each action is taken at each level of a column, and how often that is expected.

    A level of numbers begins at one of the edges, and ends at the next. In later parts of a log,
    numbers beyond all before, as of later days, get levels of their own.

    Args:
        edges: of the levels of numbers, sorted; None for texts.
        highest: of the numbers so far.
        taken: by level, how often each action was taken: [K].
        expected: by level, the sums of the probabilities of each action: [K].
    """

    edges: Floats | None
    highest: float = -math.inf
    taken: dict[Any, Floats] = dataclasses.field(default_factory=dict)
    expected: dict[Any, Floats] = dataclasses.field(default_factory=dict)

    @classmethod
    def of_cells(cls, cells: Array) -> LevelCounts:
        """Returns the counts of a column whose first cells [n] say whether it is of numbers."""
        return cls(np.zeros(0) if cells.dtype.kind in "fiubMm" else None)

    def add(self, cells: Array, action: Indices, table: Floats) -> None:
        """Counts rows.

        Args:
            cells: [n], of the column.
            action: [n].
            table: [n, K], the probabilities of all actions by the model.
        """
        if len(self.taken) > MANY_LEVELS:
            return
        levels, place = np.unique(self._levels(cells), return_inverse=True)
        place = place.reshape(len(cells))
        taken = np.zeros((len(levels), table.shape[1]))
        expected = np.zeros_like(taken)
        np.add.at(taken, (place, action), 1.0)
        np.add.at(expected, place, table)
        for index, found in enumerate(levels.tolist()):
            level = found if found == found else ABSENT  # NaN is not equal to itself
            self.taken[level] = self.taken.get(level, 0.0) + taken[index]
            self.expected[level] = self.expected.get(level, 0.0) + expected[index]

    def p_value(self) -> float:
        """Returns the p-value of Pearson's test that the model has the right sums at all levels.

        It takes as many degrees of freedom as there are cells of a level and an action, though the
        sum over the actions is fixed at each level. So p-values are a little too large.
        """
        if not 1 < len(self.taken) <= MANY_LEVELS:
            return 1.0
        taken = np.array(list(self.taken.values()))
        expected = np.array(list(self.expected.values()))
        counts = expected >= FEWEST
        errors = (taken[counts] - expected[counts]) ** 2 / expected[counts]
        return exceed_chi_squared(float(errors.sum()), int(np.count_nonzero(counts)))

    def _levels(self, cells: Array) -> Array:
        """Returns the levels of cells [n]: numbers, or texts."""
        if self.edges is None:
            texts = [ABSENT if cell is None or cell != cell else str(cell) for cell in cells]
            return np.array(texts, np.str_)
        numbers = _as_numbers(cells)
        known = numbers[np.isfinite(numbers)]
        lowest = self.edges.min(initial=math.inf)
        below = known[known < lowest]  # all, at first
        above = known[(known >= lowest) & (known > self.highest)]
        self.edges = _add_edges(_add_edges(self.edges, below), above)
        self.highest = float(known.max(initial=self.highest))
        starts = np.append(-math.inf, self.edges)
        found = starts[np.searchsorted(self.edges, numbers, side="right")]
        return np.where(np.isnan(numbers), np.nan, found)


def _add_edges(edges: Floats, numbers: Floats) -> Floats:
    """Returns the edges of levels, with those of numbers [n] on one side of all others.

    Each of a few different numbers is a level; of more, fifths are.
    """
    new = np.unique(numbers)
    if len(new) > FEW_LEVELS:
        new = np.unique(np.quantile(numbers, [0.0, 0.2, 0.4, 0.6, 0.8]))
    if len(edges) + len(new) > MANY_LEVELS - 2:  # there are numbers below, and absent ones, too
        return edges
    return np.sort(np.append(edges, new))


def find_predictive(
    parts: Iterable[tuple[Mapping[str, Array], Indices, Floats]],
) -> Sequence[str]:
    """Returns the names of columns that predict the actions beyond a model, by Pearson's test.

    Args:
        parts: of a log: columns [n] by name, the actions [n], and the probabilities [n, K] of all
            actions by the model.

    Source: Pearson, On the criterion that a given system of deviations ... can be reasonably
    supposed to have arisen from random sampling (1900).
    """
    counts: dict[str, LevelCounts] = {}
    for columns, action, table in parts:
        for name, cells in columns.items():
            if name not in counts:
                counts[name] = LevelCounts.of_cells(cells)
            counts[name].add(cells, action, table)
    limit = CHANCE / max(1, len(counts))
    return [name for name, each in counts.items() if each.p_value() < limit]


def _as_numbers(cells: Array) -> Floats:
    """Returns cells [n] as numbers, NaN for those that are none."""
    if cells.dtype.kind in "Mm":
        return np.where(np.isnat(cells), np.nan, cells.astype(np.int64).astype(np.float64))
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return np.full(len(cells), np.nan)
