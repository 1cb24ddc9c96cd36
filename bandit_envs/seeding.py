"""Seeds, and the generators that they give."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

Seed = Any
"""Whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy."""


def generator(seed: Seed) -> np.random.Generator:
    """Returns the generator of a seed; it shares its stream with a Generator or a RandomState."""
    if isinstance(seed, np.random.RandomState):
        return np.random.Generator(seed._bit_generator)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"seed is {seed!r}; expected a non-negative integer or a NumPy source of randomness"
        ) from error


def seed_of(rng: np.random.Generator) -> int:
    """Returns the integer from which `generator` makes `rng` as it is now; -1 if unknown."""
    entropy: Any = getattr(rng.bit_generator._seed_seq, "entropy", None)  # type: ignore[attr-defined]
    if not isinstance(entropy, int):
        return -1
    same = generator(entropy).bit_generator
    is_same = type(same) is type(rng.bit_generator) and same.state == rng.bit_generator.state
    return entropy if is_same else -1


def draw_the_same(one: Any, other: Any) -> bool:
    """Returns whether two generators were made from the same seed; False for a shared one.

    What tells no seed, such as a RandomState, has none in common with another.
    """
    seeds = [_find_seed(each) for each in (one, other)]
    return seeds[0] == seeds[1] != () and one.bit_generator is not other.bit_generator


def _find_seed(rng: Any) -> tuple[Any, ...]:
    """Returns the kind of a generator and what its seed becomes; () if it does not tell."""
    bits = getattr(rng, "bit_generator", None)
    sequence = getattr(bits, "_seed_seq", None)
    if not isinstance(sequence, np.random.SeedSequence):
        return ()
    return type(bits), sequence.pool.tobytes()


def split_seed(seed: Seed) -> tuple[np.random.Generator, np.random.SeedSequence]:
    """Returns a generator for the constants of a problem, and a seed for its environment.

    `seed` stays as it is, and the position of a generator counts.
    """
    rng = generator(copy.deepcopy(seed))
    sequence: Any = rng.bit_generator._seed_seq  # type: ignore[attr-defined]  # before NumPy 1.25
    if isinstance(seed, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        sequence = np.random.SeedSequence(rng.integers(2**32, size=4).tolist())
    constants, draws = sequence.spawn(2)
    return np.random.default_rng(constants), draws
