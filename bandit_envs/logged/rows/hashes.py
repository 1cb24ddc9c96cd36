"""Hashes of numbers and of texts, which are the same on all machines."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Indices
from bandit_envs.logged.columns import BadValueError

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of SplitMix64

SLICES = 4096
"""In how many slices units are cut, of which some are left to learning."""


def mix(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Returns a hash of each of n integers, all of whose 64 bits say nothing of the number: [n].

    Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators (2014).
    """
    add, first, second = np.array(MULTIPLIERS, np.uint64)
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * add
    mixed = (mixed ^ (mixed >> np.uint64(30))) * first
    mixed = (mixed ^ (mixed >> np.uint64(27))) * second
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def slices_of_units(unit: Indices) -> Indices:
    """Returns the slice of the unit of each of some rows [n], from 0 to 4095: [n].

    The first slices are those of units from which policies learn. They are by other bits of the
    hash than blocks of units, and than folds.
    """
    return ((mix(unit) >> np.uint64(24)) & np.uint64(SLICES - 1)).astype(np.intp)


def hash_text(text: str) -> int:
    """Returns a number from 0 to 2^64 - 1 that other texts hardly have."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def as_units(values: ArrayLike) -> Indices:
    """Returns the numbers of units [n]: integers as they are, and of texts a hash of 64 bits.

    Raises:
        TypeError: they are neither integers nor texts.
        ValueError: they are not [n], or a text among others is missing.

    >>> as_units([7, 7, 2]).tolist(), len(set(as_units(["ann", "bob", "ann"]).tolist()))
    ([7, 7, 2], 2)
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"unit has shape {array.shape}; expected one dimension")
    if array.dtype.kind in "iu" or not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "OU":
        raise TypeError(f"unit is {array.dtype}; expected integers or texts")
    known: dict[Any, int] = {}
    cells = array.tolist()
    for cell in dict.fromkeys(cells):
        if not isinstance(cell, str):
            raise BadValueError("unit", cell, cells.index(cell), "a text, as others are")
        known[cell] = hash_text(cell)
    hashes = np.fromiter(map(known.__getitem__, cells), np.uint64, len(cells))
    return hashes.astype(np.int64)
