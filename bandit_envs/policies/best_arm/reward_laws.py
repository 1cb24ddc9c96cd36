"""Laws of rewards with one parameter, their mean: what bounds and tests of means are made of."""

from __future__ import annotations

import abc
import math

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_positive
from bandit_envs.policies.arms.kl_ucb import kl_upper_bounds

NEAR_0 = 1e-300

BISECTIONS = 50
"""Halvings of an interval within (0, 1)."""


class RewardLaw(abc.ABC):
    """A family of laws of rewards, one for each mean. All functions are of arrays of one shape."""

    reward_range: tuple[float, float]
    """The smallest and the largest reward."""

    margin: float
    """How far means are kept from the ends of the range, where divergences are infinite."""

    mean_range: tuple[float, float]
    """The smallest and the largest mean."""

    smallest_gap: float
    """By so much, the best action is taken as better than others: T* is infinite without a gap."""

    @abc.abstractmethod
    def divergence(self, p: Floats, q: Floats) -> Floats:
        """Returns the Kullback-Leibler divergence of the law of mean p from that of mean q."""

    @abc.abstractmethod
    def variance(self, mean: Floats) -> Floats:
        """Returns the variance of the rewards."""

    @abc.abstractmethod
    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        """Returns how much more likely two means are than a common one: a logarithm.

            n kl(p, r) + m kl(q, r),    r = (n p + m q) / (n + m)

        Args:
            n: the number of rewards with the mean p.
            p: their mean.
            m: the number of rewards with the mean q.
            q: their mean.
        """

    @abc.abstractmethod
    def tolerant_ratio(
        self, n: Floats, p: Floats, m: Floats, q: Floats, tolerance: float
    ) -> Floats:
        """Returns how much more likely two means are than any of which the first is worse.

            inf_y  n kl(p, y) + m kl(q, y + tolerance),    0 if q >= p + tolerance

        Args:
            n: the number of rewards with the mean p.
            p: their mean.
            m: the number of rewards with the mean q.
            q: their mean.
            tolerance: by how much the first may be worse.

        Source: Garivier & Kaufmann, Nonasymptotic Sequential Tests for Overlapping Hypotheses
        Applied to Near-optimal Arm Identification in Bandit Models (2021).
        """

    def tolerant_bound(
        self, n: Floats, p: Floats, m: Floats, q: Floats, tolerance: float
    ) -> Floats:
        """Returns a number that `tolerant_ratio` is not above, and often near: it takes less time.

        It is the ratio at the mean of all rewards, of which those of the second are moved down.
        """
        low = self.mean_range[0] + self.margin
        high = self.mean_range[1] - self.margin
        y = (n * p + m * (q - tolerance)) / np.maximum(n + m, 1.0)
        y = np.clip(y, low, high - tolerance)
        found = n * self.divergence(np.clip(p, low, high), y)
        found += m * self.divergence(np.clip(q, low, high), y + tolerance)
        return found

    @abc.abstractmethod
    def sequence_level(self, n: Floats, mean: Floats, log_term: float) -> Floats:
        """Returns a level for bounds that hold for all numbers of rewards at once.

        With probability 1 - alpha, n kl(mean, q) is never above it, where q is the true mean, and
        `mean` that of the first n rewards. So the bounds hold whenever one looks, and when a rule
        stops or chooses by what it has seen.

        Args:
            n: the number of rewards.
            mean: their mean.
            log_term: ln(1 / alpha).
        """

    def interval(self, n: Floats, mean: Floats, log_term: float) -> tuple[Floats, Floats]:
        """Returns the bounds of `sequence_level`; without rewards, the largest."""
        level = self.sequence_level(n, mean, log_term) / np.maximum(n, 1.0)
        low, high = np.broadcast_arrays(*self.mean_range)
        return (
            np.where(n > 0.0, np.minimum(self.lower_bounds(mean, level), mean), low),
            np.where(n > 0.0, np.maximum(self.upper_bounds(mean, level), mean), high),
        )

    @abc.abstractmethod
    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        """Returns the largest q whose divergence from the law of `mean` is at most `level`."""

    @abc.abstractmethod
    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        """Returns the smallest such q."""


class BernoulliLaw(RewardLaw):
    """Rewards of 1 or 0."""

    reward_range = 0.0, 1.0
    mean_range = 0.0, 1.0
    margin = 1e-9
    smallest_gap = 1e-6

    def divergence(self, p: Floats, q: Floats) -> Floats:
        difference = p - q
        found: Floats = difference / q
        np.log1p(found, out=found)
        found *= p
        difference /= q - 1.0
        np.log1p(difference, out=difference)
        difference *= 1.0 - p
        found += difference
        return found

    def variance(self, mean: Floats) -> Floats:
        return mean * (1.0 - mean)

    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        total = n + m
        between = (n * p + m * q) / np.maximum(total, 1.0)
        found: Floats = n * _negative_entropy(p) + m * _negative_entropy(q)
        found -= total * _negative_entropy(between)
        return found

    def tolerant_ratio(
        self, n: Floats, p: Floats, m: Floats, q: Floats, tolerance: float
    ) -> Floats:
        left = np.full(np.broadcast(n, p, m, q).shape, self.margin)
        right = np.full(left.shape, 1.0 - tolerance - self.margin)
        for _ in range(BISECTIONS):
            y = 0.5 * (left + right)
            moved = y + tolerance
            slope = n * (y - p) / (y * (1.0 - y)) + m * (moved - q) / (moved * (1.0 - moved))
            left = np.where(slope < 0.0, y, left)
            right = np.where(slope < 0.0, right, y)
        y = 0.5 * (left + right)
        moved = y + tolerance
        found = n * (_negative_entropy(p) - p * np.log(y) - (1.0 - p) * np.log(1.0 - y))
        found += m * (_negative_entropy(q) - q * np.log(moved) - (1.0 - q) * np.log(1.0 - moved))
        return np.where(q >= p + tolerance, 0.0, np.maximum(found, 0.0))

    def sequence_level(self, n: Floats, mean: Floats, log_term: float) -> Floats:
        """Returns it from the likelihood ratio of a mixture of laws, by Beta(1/2, 1/2).

        Source: Robbins, Statistical methods related to the law of the iterated logarithm (1970).
        The ratio is convex in each reward, so this holds for all rewards from 0 to 1.
        """
        sums = n * mean
        mixed = _log_gamma(sums + 0.5) + _log_gamma(n - sums + 0.5) - _log_gamma(n + 1.0)
        return np.asarray(log_term + math.log(math.pi) - mixed + n * _negative_entropy(mean))

    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        return kl_upper_bounds(mean, level)

    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        return 1.0 - kl_upper_bounds(1.0 - mean, level)


class NormalLaw(RewardLaw):
    """Rewards with a normal distribution of known variance.

    Args:
        std: their standard deviation, above 0.
    """

    reward_range = -MAX_REWARD, MAX_REWARD
    mean_range = -np.inf, np.inf
    margin = 0.0

    def __init__(self, std: float) -> None:
        checked = check_positive("reward_std", std, MIN_STD, MAX_PARAMETER)
        self._variance = checked**2
        self.smallest_gap = 1e-6 * checked

    def divergence(self, p: Floats, q: Floats) -> Floats:
        return (p - q) ** 2 / (2.0 * self._variance)

    def variance(self, mean: Floats) -> Floats:
        return np.full_like(mean, self._variance)

    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        pairs = n * m / np.maximum(n + m, 1.0)
        return pairs * self.divergence(p, q)

    def tolerant_ratio(
        self, n: Floats, p: Floats, m: Floats, q: Floats, tolerance: float
    ) -> Floats:
        return self.likelihood_ratio(n, np.maximum(p + tolerance, q), m, q)

    def sequence_level(self, n: Floats, mean: Floats, log_term: float) -> Floats:
        """Returns it from the likelihood ratio of a mixture of laws, with normal means.

        Source: Robbins, Statistical methods related to the law of the iterated logarithm (1970). It
        holds for all laws that are sub-Gaussian with this standard deviation.
        """
        share = 1.0 + 1.0 / np.maximum(n, 1.0)
        return np.asarray(share * (log_term + 0.5 * np.log1p(n)))

    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean + np.sqrt(2.0 * self._variance * level)

    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean - np.sqrt(2.0 * self._variance * level)


def _log_gamma(x: Floats) -> Floats:
    """Returns the logarithm of the gamma function."""
    return np.asarray(np.frompyfunc(math.lgamma, 1, 1)(x)).astype(np.float64)


def _negative_entropy(mean: Floats) -> Floats:
    """Returns the expected logarithm of the likelihood of rewards of 1 or 0."""
    rest = 1.0 - mean
    found: Floats = mean * np.log(np.maximum(mean, NEAR_0))
    found += rest * np.log(np.maximum(rest, NEAR_0))
    return found


def check_std(reward_std: float | None) -> float | None:
    """Returns the standard deviation of normal rewards, above 0; None for rewards of 1 or 0."""
    if reward_std is None:
        return None
    return check_positive("reward_std", reward_std, MIN_STD, MAX_PARAMETER)


def law_of(reward_std: float | None) -> RewardLaw:
    """Returns the law of rewards of 1 or 0, or of normal ones with a standard deviation."""
    return BernoulliLaw() if reward_std is None else NormalLaw(reward_std)
