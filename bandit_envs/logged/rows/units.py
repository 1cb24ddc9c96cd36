"""Units, such as users: whose a row is, as one number whatever file the row comes from."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Indices, Mask
from bandit_envs.logged.columns import BadValueError
from bandit_envs.logged.rows.hashes import hash_text, mix
from bandit_envs.tables.cells import LARGEST_FLOAT

SLICES = 4096
"""In how many slices units are cut, of which some are left to learning."""

WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,19})(\.0)?")
"""Texts that are the same unit as an integer: pandas writes integers beside gaps as 17.0."""


def slices_of_units(unit: Indices) -> Indices:
    """Returns the slice of the unit of each of some rows [n], from 0 to 4095: [n].

    The first slices are those of units from which policies learn. They are by other bits of the
    hash than blocks of units, and than folds.
    """
    return ((mix(unit) >> np.uint64(24)) & np.uint64(SLICES - 1)).astype(np.intp)


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
            raise BadValueError("unit", cell, cells.index(cell), "a text, as of the other units")
        known[cell] = hash_text(cell)
    hashes = np.fromiter(map(known.__getitem__, cells), np.uint64, len(cells))
    return hashes.astype(np.int64)


def number_cells(cells: Array) -> tuple[Indices, Mask]:
    """Returns the numbers of the units, or of the ids, in cells [n], and which cells have a unit.

    A unit has the same number in all kinds of tables: the integer 17, the number 17.0, and the
    texts "17" and "17.0" are one. CSV has texts where Parquet has integers, and pandas has floats
    where some were missing. Other texts become hashes, as in `as_units`.

    >>> numbers, are_units = number_cells(np.array([17, "17", "17.0", 17.0, "ann", 1.5], object))
    >>> numbers[:4].tolist(), are_units.tolist()
    ([17, 17, 17, 17], [True, True, True, True, True, False])
    """
    kind = cells.dtype.kind
    if kind in "iu":
        return cells.astype(np.int64), np.ones(len(cells), np.bool_)
    if kind == "f":
        is_whole = (np.floor(cells) == cells) & (np.abs(cells) < LARGEST_FLOAT)
        return np.where(is_whole, cells, 0.0).astype(np.int64), is_whole
    if kind not in "OU":
        return np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    objects = cells.tolist()
    known = {cell: _number_of(cell) for cell in dict.fromkeys(objects)}
    found = [known[cell] for cell in objects]
    is_known = np.array([number is not None for number in found], np.bool_)
    numbers = np.fromiter((number or 0 for number in found), np.uint64, len(found))
    return numbers.astype(np.int64), is_known


def _number_of(cell: Any) -> int | None:
    """Returns the number of the unit in a cell, modulo 2^64; None if it is not a unit."""
    if isinstance(cell, str):
        match = WHOLE.fullmatch(cell)
        number = int(match[1]) if match else 2**64
        return number % 2**64 if -(2**63) <= number < 2**64 else hash_text(cell)
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, int | np.integer):
        return int(cell) % 2**64
    is_float = isinstance(cell, float) and abs(cell) < LARGEST_FLOAT
    return int(cell) % 2**64 if is_float and cell == int(cell) else None
