"""Blocks of rows, to which a row belongs by its number alone, and the sums of each block."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices

BLOCKS = 64
"""How many blocks are kept, which can be joined to 32, 16, 8, 4 or 2."""

BITS = 6  # 2^6 blocks


def number_rows(first_row: int | Indices, size: int) -> Indices:
    """Returns the numbers of rows in the whole log: [n].

    Args:
        first_row: the number of the first row; or the numbers of all rows, if others lie between.
        size: how many rows there are.
    """
    if isinstance(first_row, np.ndarray):
        return first_row
    return np.arange(first_row, first_row + size, dtype=np.intp)


def blocks_of_rows(first_row: int | Indices, size: int) -> Indices:
    """Returns the block of each of some rows, from 0 to 63: [n].

    It is a hash of the number of the row, so that it says nothing of what is in the row.

    Args:
        first_row: the number of the first row in the whole log, or the numbers of all rows.
        size: how many rows there are.

    Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators (2014).
    """
    mixed = number_rows(first_row, size).astype(np.uint64) + np.uint64(1)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - BITS)).astype(np.intp)


@dataclasses.dataclass(frozen=True, eq=False)
class BlockSums:
    """The sums of d columns over the rows of each block.

    Args:
        counts: [64], how many rows are in each block.
        sums: [64, d], of their columns.
    """

    counts: NDArray[np.int64]
    sums: Floats

    @classmethod
    def from_columns(cls, columns: Floats, first_row: int | Indices) -> BlockSums:
        """Returns the sums of columns [d, n], whose rows have numbers as in `number_rows`."""
        blocks = blocks_of_rows(first_row, columns.shape[1])
        counts = np.bincount(blocks, minlength=BLOCKS)
        sums = [np.bincount(blocks, weights=column, minlength=BLOCKS) for column in columns]
        return cls(counts, np.stack(sums, axis=1))

    def merge(self, other: BlockSums) -> BlockSums:
        """Returns the sums of the rows of both."""
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
        sums = self.sums.reshape(number, BLOCKS // number, -1).sum(axis=1)
        return np.asarray(sums / counts[:, np.newaxis])
