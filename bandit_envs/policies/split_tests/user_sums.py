"""Counts, means and spreads of the rewards of variants, which keep the digits of large rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices


class UserSums(NamedTuple):
    """What users of some variants have earned: [...] each; those of disjoint users merge.

    Sums of squares would lose digits where rewards are large, and differ little. The mean of a
    variant without users is 0.

    Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance (1983).

    >>> first = UserSums.of_users(np.array([0, 1, 1]), np.array([3.0, 5.0, 7.0]), 2)
    >>> again = first.plus(UserSums.of_users(np.array([0]), np.array([5.0]), 2))
    >>> again.means.tolist(), again.spreads.tolist()
    ([4.0, 6.0], [2.0, 2.0])
    """

    counts: Floats  # of the users
    means: Floats  # of their rewards
    spreads: Floats  # sums of the squared deviations from the mean

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> UserSums:
        """Returns the sums of no user."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    @classmethod
    def of_users(cls, actions: Indices, rewards: Floats, number: int) -> UserSums:
        """Returns the sums of n users: [number] each.

        Args:
            actions: the variants that they saw, [n].
            rewards: [n].
            number: of all variants.
        """
        counts = np.bincount(actions, minlength=number).astype(np.float64)
        many = np.maximum(counts, 1.0)
        means = np.bincount(actions, rewards, number) / many
        means += np.bincount(actions, rewards - means[actions], number) / many  # for large rewards
        deviations = rewards - means[actions]
        spreads = np.bincount(actions, deviations * deviations, number)
        return cls(counts, means, np.asarray(spreads, np.float64))

    def plus(self, other: UserSums) -> UserSums:
        """Returns the sums over the users of both."""
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1.0)
        gaps = other.means - self.means
        between = gaps * gaps * (self.counts * share)
        spreads = self.spreads + other.spreads + between
        return UserSums(counts, self.means + gaps * share, spreads)

    def add(self, places: Any, rewards: Floats) -> None:
        """Takes in a user at each of some places, in place.

        Args:
            places: of the variants that they saw, each once.
            rewards: [n].
        """
        self.counts[places] += 1.0
        gaps = rewards - self.means[places]
        self.means[places] += gaps / self.counts[places]
        self.spreads[places] += gaps * (rewards - self.means[places])

    def at(self, places: Any) -> UserSums:
        """Returns the sums at some places."""
        return UserSums._make(table[places] for table in self)

    def forget(self, places: Any) -> None:
        """Sets the sums at some places to those of no user."""
        for table in self:
            table[places] = 0.0
