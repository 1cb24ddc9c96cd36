"""Hashes of numbers and of texts, which are the same on all machines."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of SplitMix64


def mix(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Returns a hash of each of n integers, all of whose 64 bits say nothing of the number: [n].

    Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators (2014).
    """
    add, first, second = np.array(MULTIPLIERS, np.uint64)
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * add
    mixed = (mixed ^ (mixed >> np.uint64(30))) * first
    mixed = (mixed ^ (mixed >> np.uint64(27))) * second
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def hash_text(text: str) -> int:
    """Returns a number from 0 to 2^64 - 1 that other texts hardly have."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
