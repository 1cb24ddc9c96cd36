"""Blocks of rows, and the sums of each block: by the number of a row, or by its unit."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.rows.hashes import mix

BLOCKS = 64
"""How many blocks of rows are kept, which can be joined to fewer."""

BUCKETS = 4096
"""How many blocks of units are kept, which can be joined likewise."""

ROUNDED = 1e-12  # of all weights, below which what others have is nothing but rounding


def find_row_numbers(first_row: int | Indices, size: int) -> Indices:
    """Returns the numbers of rows in the whole log: [n].

    Args:
        first_row: the number of the first row; or the numbers of all rows, if others lie between.
        size: how many rows there are.
    """
    if isinstance(first_row, np.ndarray):
        return first_row
    return np.arange(first_row, first_row + size, dtype=np.intp)


def _first_bits(numbers: Indices, blocks: int) -> Indices:
    """Returns as many of the first bits of hashes of numbers [n] as tell some blocks apart."""
    return (mix(numbers) // np.uint64(2**64 // blocks)).astype(np.intp)


class RowBlocks(NamedTuple):
    """To which block each of n rows belongs.

    Fields:
        of_rows: [n], from 0.
        number: of all blocks: 64 of rows, or 4096 of units.
    """

    of_rows: Indices
    number: int

    @classmethod
    def of(cls, first_row: int | Indices, size: int, unit: Indices | None) -> RowBlocks:
        """Returns the blocks of the units of rows, or of their numbers, where there are no units.

        Args:
            first_row: as for `find_row_numbers`.
            size: the number of rows.
            unit: [n], of the rows; None if each is a unit of its own.
        """
        if unit is None:
            return cls(_first_bits(find_row_numbers(first_row, size), BLOCKS), BLOCKS)
        return cls(_first_bits(unit, BUCKETS), BUCKETS)

    @property
    def are_units(self) -> bool:
        """Whether they are blocks of units."""
        return self.number == BUCKETS

    def take(self, rows: slice) -> RowBlocks:
        """Returns the blocks of some of the rows."""
        return RowBlocks(self.of_rows[rows], self.number)


@dataclasses.dataclass(frozen=True, eq=False)
class BlockSums:
    """The sums of d columns over the rows of each of b blocks.

    Args:
        counts: [b], how many rows are in each block: 64 of rows, or 4096 of units.
        sums: [b, d], of their columns.
    """

    counts: NDArray[np.int64]
    sums: Floats

    @classmethod
    def from_columns(cls, columns: Floats, blocks: RowBlocks) -> BlockSums:
        """Returns the sums of columns [d, n]."""
        places = blocks.of_rows
        counts = np.bincount(places, minlength=blocks.number)
        sums = np.empty((blocks.number, len(columns)))
        for number, column in enumerate(columns):
            sums[:, number] = np.bincount(places, weights=column, minlength=blocks.number)
        return cls(counts, sums)

    @property
    def are_units(self) -> bool:
        """Whether they are blocks of units."""
        return len(self.counts) == BUCKETS

    def merge(self, other: BlockSums) -> BlockSums:
        """Returns the sums of the rows of both, in blocks of the same kind."""
        return BlockSums(self.counts + other.counts, self.sums + other.sums)

    def transform(self, matrix: Floats) -> BlockSums:
        """Returns the sums of `matrix` [e, d] times the columns."""
        return BlockSums(self.counts, self.sums @ matrix.T)

    def means(self, number: int) -> Floats | None:
        """Returns the means of so many blocks, a power of 2 up to 64: [number, d].

        They are None if a block has no row.
        """
        counts = self.counts.reshape(number, -1).sum(axis=1)
        if not counts.all():
            return None
        sums = self.sums.reshape(number, len(self.sums) // number, -1).sum(axis=1)
        return np.asarray(sums / counts[:, np.newaxis])

    def squares(self) -> Floats:
        """Returns the sums over blocks of the squares of how far their sums are from usual: [d].

        As much of the sum of all rows is usual as the block has of the rows.
        """
        shares = self.counts / self.counts.sum()
        deviations = self.sums - np.outer(shares, self.sums.sum(axis=0))
        return np.asarray((deviations**2).sum(axis=0))

    def leave_out(self, slots: int) -> Floats | None:
        """Returns how an estimate changes without each block that has rows, times -(m - 1): [m].

        The mean of the squares of these influences over the m blocks, about their mean, over m - 1
        is the squared error of the estimate. They are None if one block has all rows, or all
        weights of a slot.

        Args:
            slots: S, of columns `direct`, `weighted_s - ratio_s normaliser_s` and `normaliser_s`,
                whose sum of ratios the estimate is, as `RatioSums` says.

        Source: Efron & Stein, The jackknife estimate of variance (1981).
        """
        has_rows = self.counts > 0
        counts = self.counts[has_rows]
        sums = self.sums[has_rows]
        totals = sums.sum(axis=0)
        size = counts.sum()
        normalisers = sums[:, 1 + slots :]
        others = totals[1 + slots :] - normalisers
        is_rest = np.abs(others) > ROUNDED * np.abs(totals[1 + slots :])
        if len(counts) < 2 or not is_rest[:, totals[1 + slots :] != 0.0].all():
            return None
        change = (sums[:, 0] - counts * (totals[0] / size)) / (size - counts)
        parts = np.divide(sums[:, 1 : 1 + slots], others, out=np.zeros_like(others), where=is_rest)
        return np.asarray((len(counts) - 1) * (change + parts.sum(axis=1)))
