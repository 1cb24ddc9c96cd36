"""Differences of variants within strata, and what they tell at all times."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.policies.split_tests.user_sums import UserSums
from bandit_envs.rounding import is_rounding

USERS_FIRST = 200
"""A test says nothing before it has seen so many users; their variance sets its scale."""

SCALE = 50.0
"""The variance of the mixture, in variances of a reward: about 50 users of each variant."""


class PairSums(NamedTuple):
    """Sums over strata for each pair of variants: [..., K, K] each. They are added to merge.

        w = n_a n_b / (n_a + n_b)
        difference S = sum w (mean_a - mean_b)
        variance   V = sum w s^2,    s^2 the variance of all rewards of both in the stratum
        weight     W = sum w
        users        = sum n_a + n_b

    Only strata in which both have users count.

    Source: the weights are those of Mantel & Haenszel (1959).
    """

    difference: Floats
    variance: Floats
    weight: Floats
    users: Floats

    @classmethod
    def of_strata(cls, users: UserSums) -> PairSums:
        """Returns what each stratum tells by itself.

        Args:
            users: of each variant, [..., K].
        """
        counts, means, spreads = users
        both = counts[..., :, np.newaxis] + counts[..., np.newaxis, :]
        product = counts[..., :, np.newaxis] * counts[..., np.newaxis, :]
        is_other = ~np.eye(counts.shape[-1], dtype=np.bool_)
        shared = (product > 0.0) & is_other
        weight = np.where(shared, product / np.maximum(both, 1.0), 0.0)
        gaps = means[..., :, np.newaxis] - means[..., np.newaxis, :]
        spread = spreads[..., :, np.newaxis] + spreads[..., np.newaxis, :] + weight * gaps * gaps
        return cls(
            difference=weight * gaps,
            variance=weight * spread / np.maximum(both - 1.0, 1.0),
            weight=weight,
            users=np.where(shared, both, 0.0),
        )

    def plus(self, other: PairSums) -> PairSums:
        """Returns the sums over the strata of both."""
        return PairSums._make(mine + others for mine, others in zip(self, other))

    def total(self, axis: int) -> PairSums:
        """Returns the sums over an axis of strata."""
        return PairSums._make(table.sum(axis=axis) for table in self)

    def log_evidence(self, scale: Floats, tolerance: float) -> Floats:
        """Returns ln E(a > b), the evidence that a is at most `tolerance` worse: [..., K, K].

            Z = (S + tolerance W) / sqrt(V + rho^2)
            ln E = ln 2 + ln(rho^2 / (V + rho^2)) / 2 + Z^2 / 2 + ln Phi(Z)

        It is 0 for a pair without a common stratum.

        Args:
            scale: rho^2 above 0, [...].
            tolerance: by how much a may be worse.

        Source: Robbins, Statistical Methods Related to the Law of the Iterated Logarithm (1970).
        """
        rho2 = np.asarray(scale)[..., np.newaxis, np.newaxis]
        width = self.variance + rho2
        z = (self.difference + tolerance * self.weight) / np.sqrt(width)
        found = math.log(2.0) + 0.5 * np.log(rho2 / width) + 0.5 * z * z + log_normal_cdf(z)
        return np.asarray(np.where(self.weight > 0.0, found, 0.0))

    def bounds(self, scale: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
        """Returns intervals of the differences a - b, which hold at all times: [..., K, K] each.

            S / W +- sqrt((V + rho^2) ln((V + rho^2) / (rho^2 alpha^2))) / W

        Their ends are infinite for a pair without a common stratum.

        Args:
            scale: rho^2 above 0, [...].
            alpha: the probability that an interval fails at any time, [K, K] or a number.

        Source: Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Time-uniform Central Limit Theory and
        Asymptotic Confidence Sequences (2024).
        """
        rho2 = np.asarray(scale)[..., np.newaxis, np.newaxis]
        width = self.variance + rho2
        reach = np.sqrt(width * (np.log(width / rho2) - 2.0 * np.log(alpha)))
        has_both = self.weight > 0.0
        weight = np.where(has_both, self.weight, 1.0)
        center = np.where(has_both, self.difference / weight, 0.0)
        half = np.where(has_both, reach / weight, np.inf)
        return center - half, center + half


def log_normal_cdf(z: Floats) -> Floats:
    """Returns ln Phi(z), the logarithm of the normal distribution function."""
    flat = np.asarray(z, np.float64).reshape(-1)
    return np.array([_log_phi(each) for each in flat.tolist()]).reshape(np.shape(z))


def _log_phi(z: float) -> float:
    if z > -30.0:
        return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
    return -0.5 * z * z - math.log(-z * math.sqrt(2.0 * math.pi)) - 1.0 / (z * z)


def scale_of(first: UserSums) -> Floats:
    """Returns rho^2 from the first rewards of rows: [...].

    It is `SCALE` times their variance; that of rewards from 0 to 1 if all are equal.
    """
    variance = first.spreads / np.maximum(first.counts - 1.0, 1.0)
    are_equal = is_rounding(np.sqrt(variance), first.means)
    return SCALE * np.where(are_equal, 0.25, variance)


def leaders(sums: PairSums, is_open: Mask) -> Indices:
    """Returns the open variant of each row that its differences to others favour most: [...].

    It is that whose smallest z-value against another open variant is the largest.

    Args:
        sums: of rows, [..., K, K].
        is_open: the variants among which it is, [..., K], at least one in each row.
    """
    z = sums.difference / np.sqrt(np.maximum(sums.variance, np.finfo(np.float64).tiny))
    z = np.where(sums.weight > 0.0, z, 0.0)
    is_other = is_open[..., np.newaxis, :] & ~np.eye(is_open.shape[-1], dtype=np.bool_)
    worst = np.where(is_other, z, np.inf).min(axis=-1)
    found: Indices = np.where(is_open, worst, -np.inf).argmax(axis=-1)
    return found
