"""The number and the sizes of the rewards of variants that are not 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.names.visible import name_alike, visible

PAYERS = 20
"""The fewest rewards other than 0 with which a variant may win, if rewards are amounts."""


class Payments(NamedTuple):
    """How many rewards of variants are not 0, and their sizes, in arrays of one shape."""

    payers: Floats  # rewards other than 0
    sizes: Floats  # sums of their absolute values
    largest: Floats  # the largest absolute values

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> Payments:
        """Returns the payments of no user."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def plus(self, other: Payments) -> Payments:
        """Returns the payments of the users of both."""
        return Payments(
            self.payers + other.payers,
            self.sizes + other.sizes,
            np.maximum(self.largest, other.largest),
        )

    def add(self, places: Any, rewards: Floats) -> None:
        """Adds the rewards of n users to the arrays.

        Args:
            places: the indices of the variants that they saw.
            rewards: [n].
        """
        sizes = np.abs(rewards)
        np.add.at(self.payers, places, rewards != 0.0)
        np.add.at(self.sizes, places, sizes)
        np.maximum.at(self.largest, places, sizes)

    def at(self, place: Any) -> Payments:
        """Returns the payments at some indices."""
        return Payments._make(table[place] for table in self)

    def are_enough(self, has_amounts: Mask | bool) -> Mask:
        """Returns which variants have enough payers to win: all, if rewards are 0 or 1.

        Args:
            has_amounts: whether there were rewards other than 0 and 1, for each row.
        """
        return np.asarray((self.payers >= PAYERS) | ~np.asarray(has_amounts)[..., np.newaxis])


def note_alike(names: Sequence[str]) -> Iterator[str]:
    """Yields a note if names of variants are alike."""
    alike = name_alike(names)
    if alike is not None:
        yield f"{alike}, and count as two variants."


def note_largest(names: Sequence[str], payments: Payments, metric: str = "") -> Iterator[str]:
    """Yields a note for each variant whose mean one reward decides.

    Args:
        names: of K variants.
        payments: of each, [K].
        metric: names the reward, where a test has several.
    """
    which = f", {visible(metric)}" if metric else ""
    is_most = (payments.payers >= PAYERS) & (2.0 * payments.largest > payments.sizes)
    for place in np.flatnonzero(is_most).tolist():
        problem = f"one reward, of size {payments.largest[place]:.6g}, is larger than all others"
        whose = f"{visible(names[place])}{which}"
        yield f"{whose}: {problem} of this variant together: look at its row."
